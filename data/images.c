#include "data/images.h"

#include "core/memory.h"
#include "core/tensor.h"
#include "data/task.h"
#include "data/tokenizers/tokens.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- rules ---- */

void rt_images_check(const rt_data_options *o, rt_rule_sink to)
{
    const char *const keys[RT_PARTS] = {"data.file", "data.eval_file"};
    const char *const paths[RT_PARTS] = {o->file ? o->file : "", o->eval_file};
    char labels[RT_PATH_SIZE];
    for (int i = 0; i < RT_PARTS; i++)
        if (paths[i] && !rt_image_labels_path(labels, paths[i]))
            rt_rule_broken(to, RT_OPTIONS("data.task", keys[i]),
                           "%s must name a file of images with images-idx3 or images-idx4 in its "
                           "name, which becomes labels-idx1 in that of its labels; got '%.600s'",
                           keys[i], paths[i]);
    if (!rt_grid_side(o->length))
        rt_rule_broken(to, RT_OPTIONS("data.task", "data.length"),
                       "data.length must be 1 and the number of patches of a square image for "
                       "images; got %d",
                       o->length);
    if (o->batch_size < 1)
        rt_rule_broken(to, RT_OPTIONS("data.task", "train.batch_size"),
                       "train.batch_size must be at least 1; got %d", o->batch_size);
}

/* ---- files ---- */

bool rt_image_labels_path(char path[RT_PATH_SIZE], const char *images)
{
    static const char before[] = "images-idx", after[] = "labels-idx1";
    const char *name = strrchr(images, '/'), *found = NULL;
    for (const char *at = name ? name : images; (at = strstr(at, before)); at++)
        found = at;
    if (!found || (found[strlen(before)] != '3' && found[strlen(before)] != '4'))
        return false;
    const int size = snprintf(path, RT_PATH_SIZE, "%.*s%s%s", (int)(found - images), images, after,
                              found + strlen(before) + 1);
    return size < RT_PATH_SIZE;
}

/* Checks the axes of a file of images, and sets or compares their size. */
static rt_status check_images(rt_images *x, const rt_idx *file, const char *path)
{
    enum { LIMIT = 4096 };
    const bool gray = file->ndim == 3, rgb = file->ndim == 4 && file->axis[3] == 3;
    if (!gray && !rgb)
        return rt_error(RT_DATA,
                        "%.600s: must have 3 axes, of gray images, or 4, of which the last is 3, "
                        "of RGB; got %d axes at offset 3",
                        path, file->ndim);
    if (file->axis[1] != file->axis[2] || file->axis[1] > LIMIT)
        return rt_error(RT_DATA,
                        "%.600s: must have square images of at most %d pixels a side; got %zu "
                        "images of %zu x %zu at offset 4",
                        path, LIMIT, file->axis[0], file->axis[1], file->axis[2]);
    const int side = (int)file->axis[1], channels = gray ? 1 : 3;
    if (x->side && (x->side != side || x->channels != channels))
        return rt_error(RT_DATA,
                        "%.600s: has images of %d x %d with %d channels, data.file of %d x %d "
                        "with %d",
                        path, side, side, channels, x->side, x->side, x->channels);
    x->side = side;
    x->channels = channels;
    return rt_ok();
}

/* Checks that patches have as many numbers as those of the model, if there is one. */
static rt_status check_patches(const rt_data *data, const char *path)
{
    const int patch = data->options.patch, channels = data->images->channels;
    const int wanted = data->meaning.patch, pixels = patch * patch;
    if (!wanted || wanted == pixels * channels)
        return rt_ok();
    if (wanted == pixels || wanted == 3 * pixels)
        return rt_error(RT_DATA,
                        "%.600s: has images with %d channel%s; the model was trained on %d", path,
                        channels, channels == 1 ? "" : "s", wanted / pixels);
    return rt_error(RT_CONFIG,
                    "data.patch = %d gives patches of %d numbers; those of the model have %d: set "
                    "the data.patch of its training",
                    patch, pixels * channels, wanted);
}

/* Reads the images and the labels of a part. */
static rt_status read_part(rt_images *x, int part, const char *path, rt_idx *labels)
{
    const char *key = part ? "data.eval_file" : "data.file";
    char labels_path[RT_PATH_SIZE];
    rt_idx *images = &x->files[part];
    const bool named = rt_image_labels_path(labels_path, path);
    assert(named);
    (void)named;
    rt_status status = rt_idx_read(images, key, path);
    if (!status.code)
        status = check_images(x, images, path);
    if (!status.code)
        status = rt_idx_read(labels, key, labels_path);
    if (!status.code && (labels->ndim != 1 || labels->axis[0] != images->axis[0]))
        status = rt_error(RT_DATA,
                          "%.600s: has %d axes, of which the first is %zu at offset 4; "
                          "%.600s has %zu images",
                          labels_path, labels->ndim, labels->axis[0], path, images->axis[0]);
    return status;
}

/* ---- labels and rows ---- */

/* Sets the labels: the given ones, or the numbers that occur. */
static rt_status find_labels(rt_data *data, const rt_idx *labels, const char *path)
{
    enum { CLASSES = 256, DIGITS = 4 };
    char digits[CLASSES][DIGITS];
    rt_text_span names[CLASSES];
    bool seen[CLASSES] = {false};
    size_t count = 0;
    data->labels = data->meaning.labels;
    if (data->labels)
        return rt_ok();
    for (size_t i = 0; i < labels->size; i++)
        seen[labels->bytes[i]] = true;
    for (int n = 0; n < CLASSES; n++)
        if (seen[n])
            names[count++] =
                (rt_text_span){digits[n], (size_t)snprintf(digits[n], DIGITS, "%d", n)};
    const rt_status status = rt_labels_of(&data->own_labels, path, names, count);
    data->labels = data->own_labels;
    return status;
}

/* Appends the images of a part as rows, in random order: neighbours in a file may be of one class.
 */
static rt_status add_rows(rt_data *data, int part, const rt_idx *labels, const char *path)
{
    rt_examples *x = data->examples;
    const rt_random random = {data->options.eval_seed, 0, RT_STREAM_SHARE};
    const size_t first = x->count;
    for (size_t i = 0; i < labels->size; i++) {
        const uint32_t image =
            rt_permuted(random, (uint32_t)part, (uint32_t)labels->size, (uint32_t)i);
        char digits[4];
        const int size = snprintf(digits, sizeof digits, "%d", labels->bytes[image]);
        const int label = rt_labels_find(data->labels, (rt_text_span){digits, (size_t)size});
        if (label < 0)
            return rt_error(RT_DATA, "%.600s: label %s at offset %zu is not a label of the %s",
                            path, digits, (size_t)image + 8,
                            data->meaning.labels ? "model" : "training file");
        x->rows[x->count++] = (rt_example){.first = first + image,
                                           .label = label,
                                           .line = (int)image + 1,
                                           .evaluation = part == RT_PART_EVALUATION};
    }
    return rt_ok();
}

static rt_status make_rows(rt_data *data, const rt_idx labels[RT_PARTS])
{
    const char *const paths[RT_PARTS] = {data->options.file, data->options.eval_file};
    rt_examples *x = data->examples;
    rt_status status = rt_ok();
    x->rows =
        rt_alloc(labels[RT_PART_TRAINING].size + labels[RT_PART_EVALUATION].size, sizeof *x->rows);
    if (!x->rows)
        return rt_out_of_memory("the rows of data.file");
    for (int part = 0; part < RT_PARTS && !status.code; part++) {
        char path[RT_PATH_SIZE];
        if (labels[part].size && rt_image_labels_path(path, paths[part]))
            status = add_rows(data, part, &labels[part], path);
    }
    return status.code ? status : rt_examples_order(data);
}

rt_status rt_images_open(rt_data *data)
{
    const rt_data_options *o = &data->options;
    rt_idx labels[RT_PARTS] = {{.ndim = 0}, {.ndim = 0}};
    rt_images *x = data->images = rt_alloc(1, sizeof *x);
    data->examples = rt_alloc(1, sizeof *data->examples);
    if (!x || !data->examples)
        return rt_out_of_memory("the images of data.file");
    rt_status status = rt_ok();
    if (rt_data_reads_training(data))
        status = read_part(x, RT_PART_TRAINING, o->file, &labels[RT_PART_TRAINING]);
    if (!status.code && o->eval_file)
        status = read_part(x, RT_PART_EVALUATION, o->eval_file, &labels[RT_PART_EVALUATION]);
    const int first = labels[RT_PART_TRAINING].size ? RT_PART_TRAINING : RT_PART_EVALUATION;
    char path[RT_PATH_SIZE];
    if (!status.code)
        status = check_patches(data, first ? o->eval_file : o->file);
    if (!status.code && rt_image_labels_path(path, first ? o->eval_file : o->file))
        status = find_labels(data, &labels[first], path);
    if (!status.code)
        status = make_rows(data, labels);
    for (int part = 0; part < RT_PARTS; part++)
        rt_idx_free(&labels[part]);
    data->vocab = RT_IMAGE_VOCAB;
    return status;
}

void rt_images_free(rt_images *x)
{
    for (int part = 0; x && part < RT_PARTS; part++)
        rt_idx_free(&x->files[part]);
    rt_free(x);
}

/* ---- drawing ---- */

/* Weights of the pixels of one axis that contribute to a new pixel: a triangle around its centre,
 * whose half width is a pixel of the smaller image. */
typedef struct triangle {
    int first, end;
    double centre, narrowing; /* in pixels of the old image, and 1 / half width */
} triangle;

static triangle triangle_of(int side, int size, int at)
{
    const double step = (double)side / size, half = step > 1 ? step : 1;
    const double centre = step * (at + 0.5);
    const int first = (int)(centre - half + 0.5), end = (int)(centre + half + 0.5);
    return (triangle){first > 0 ? first : 0, end < side ? end : side, centre, 1 / half};
}

static double weight_at(const triangle *t, int pixel)
{
    const double distance = (pixel + 0.5 - t->centre) * t->narrowing;
    const double weight = 1 - (distance < 0 ? -distance : distance);
    return weight > 0 ? weight : 0;
}

double rt_image_resized(const unsigned char *from, int side, int channels, int channel, int size,
                        int x, int y)
{
    const triangle columns = triangle_of(side, size, x), rows = triangle_of(side, size, y);
    double sum = 0, weights = 0;
    for (int row = rows.first; row < rows.end; row++)
        for (int column = columns.first; column < columns.end; column++) {
            const double weight = weight_at(&rows, row) * weight_at(&columns, column);
            sum += weight * from[((size_t)row * (size_t)side + (size_t)column) * (size_t)channels +
                                 (size_t)channel];
            weights += weight;
        }
    return sum / weights;
}

static const unsigned char *pixels_of(const rt_images *x, size_t image)
{
    const size_t before = x->files[RT_PART_TRAINING].axis[0];
    const size_t size = (size_t)x->side * (size_t)x->side * (size_t)x->channels;
    return image < before ? x->files[RT_PART_TRAINING].bytes + image * size
                          : x->files[RT_PART_EVALUATION].bytes + (image - before) * size;
}

void rt_images_draw(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const rt_images *x = data->images;
    const rt_example *example = rt_examples_row(data, draw);
    const unsigned char *pixels = pixels_of(x, example->first);
    const int side = rt_grid_side(row.length), patch = data->options.patch, C = x->channels;
    const int size = side * patch, numbers = patch * patch * C;
    row.ids[0] = RT_ID_CLS;
    row.labels[0] = example->label;
    row.mask[0] = 1;
    for (int t = 1; t < row.length; t++) {
        const int left = (t - 1) % side * patch, top = (t - 1) / side * patch;
        real *to = row.patches ? row.patches + (size_t)t * (size_t)numbers : NULL;
        row.ids[t] = RT_ID_PATCH;
        row.mask[t] = 1;
        for (int n = 0; row.patches && n < numbers; n++) {
            const int channel = n % C, column = left + n / C % patch, line = top + n / C / patch;
            to[n] =
                (real)(rt_image_resized(pixels, x->side, C, channel, size, column, line) / 127.5 -
                       1);
        }
    }
}
