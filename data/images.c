#include "data/images.h"

#include "core/memory.h"
#include "core/tensor.h"
#include "data/examples.h"
#include "util/files.h"
#include "util/writer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* A file of bytes in the IDX format of MNIST, compressed by gzip or not: two zero bytes, the type 8
 * (unsigned byte), the number of axes, the length of each axis as a big-endian number of 32 bits,
 * and the bytes, the last axis fastest (LeCun et al. 1998). */
enum { AXES = 4 };
typedef struct idx {
    int ndim;
    size_t axis[AXES];
    unsigned char *bytes; /* of all axes */
    size_t size;
} idx;

typedef struct image_files {
    idx images, labels;
    char labels_path[RT_PATH_SIZE];
} image_files;

typedef struct image_rows {
    rt_examples examples;
    int side, channels;
    image_files parts[RT_PARTS]; /* rt_example.first counts through both, training first */
} image_rows;

static bool check_file(const rt_data_options *o, const rt_data_file *file, rt_rule_sink to)
{
    char labels[RT_PATH_SIZE];
    (void)o;
    if (rt_image_labels_path(labels, file->path))
        return true;
    rt_rule_broken(to, RT_OPTIONS("data.task", file->key),
                   "%s must name a file of images with images-idx3 or images-idx4 in its "
                   "name, which becomes labels-idx1 in that of its labels; got '%.600s'",
                   file->key, file->path);
    return false;
}

enum { UNSIGNED_BYTE = 8 };

/* Reads up to `wanted` bytes. */
static rt_status read_bytes(gzFile file, const char *path, unsigned char *to, size_t wanted,
                            size_t *got)
{
    int code = Z_OK;
    *got = gzfread(to, 1, wanted, file);
    if (*got == wanted)
        return rt_ok();
    const char *message = gzerror(file, &code); /* "PATH: WHY" */
    const size_t before = strlen(path) + strlen(": ");
    if (code == Z_ERRNO)
        return rt_error(RT_DATA, "%.600s: cannot be read at offset %ld: %s", path, gztell(file),
                        strerror(errno));
    if (code != Z_OK && code != Z_STREAM_END)
        return rt_error(RT_DATA, "%.600s: is damaged at offset %ld: %.200s", path, gztell(file),
                        strncmp(message, path, strlen(path)) ? message : message + before);
    return rt_ok();
}

static rt_status read_header(idx *x, gzFile file, const char *path)
{
    unsigned char bytes[4 * (1 + AXES)];
    size_t got;
    RT_TRY(read_bytes(file, path, bytes, 4, &got));
    if (got == 4) {
        if (bytes[0] || bytes[1] || bytes[2] != UNSIGNED_BYTE || !bytes[3] || bytes[3] > AXES)
            return rt_error(RT_DATA,
                            "%.600s: is no IDX file of bytes with 1 to %d axes: it begins with "
                            "%02x %02x %02x %02x at offset 0",
                            path, AXES, bytes[0], bytes[1], bytes[2], bytes[3]);
        x->ndim = bytes[3];
        RT_TRY(read_bytes(file, path, bytes, 4 * (size_t)x->ndim, &got));
    }
    if (!x->ndim || got < 4 * (size_t)x->ndim)
        return rt_error(RT_DATA, "%.600s: ends at offset %ld, within the header of an IDX file",
                        path, gztell(file));
    x->size = 1;
    for (int i = 0; i < x->ndim; i++) {
        const unsigned char *b = bytes + 4 * i;
        const size_t axis = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
        if (!axis || x->size > RT_FILES_LIMIT / axis)
            return rt_error(RT_DATA, "%.600s: axis %d at offset %d is %zu: %s", path, i + 1,
                            4 + 4 * i, axis, axis ? "more than can be read" : "there is nothing");
        x->axis[i] = axis;
        x->size *= axis;
    }
    return rt_ok();
}

/* Reads the bytes behind the header into memory of their size, unless a file of `bytes` cannot have
 * so many, since the header may lie. */
static rt_status read_rest(idx *x, gzFile file, const char *path, size_t bytes)
{
    enum { MOST_DEFLATED = 1032 }; /* bytes of text in a byte of gzip */
    const size_t most = gzdirect(file) ? bytes : MOST_DEFLATED * bytes;
    const size_t wanted = x->size < most ? x->size + 1 : most + 1; /* one more, to find the end */
    size_t count = 0;
    x->bytes = rt_alloc_unset(wanted, 1);
    RT_TRY(rt_allocated(x->bytes, "a file of images"));
    RT_TRY(read_bytes(file, path, x->bytes, wanted, &count));
    if (count == x->size)
        return rt_ok();
    return count < x->size
               ? rt_error(RT_DATA, "%.600s: ends at offset %ld; its header says %zu bytes more",
                          path, gztell(file), x->size - count)
               : rt_error(RT_DATA, "%.600s: goes on at offset %ld, where its header says it ends",
                          path, gztell(file) - 1);
}

/* Reads a file into a zeroed struct. RT_DATA, with the path, if it is missing (then with `key`, its
 * key) or no regular file, and, with an offset in the uncompressed bytes, if it is no IDX file of
 * bytes, has an empty axis or more than RT_FILES_LIMIT bytes, or fewer or more bytes than its axes
 * say. */
static rt_status read_idx(idx *x, const char *key, const char *path)
{
    off_t size;
    RT_TRY(rt_file_measure(key, path, &size));
    errno = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return errno ? rt_error(RT_DATA, "%.600s: %s", path, strerror(errno))
                     : rt_out_of_memory("a compressed file");
    rt_status status = read_header(x, file, path);
    if (!status.code)
        status = read_rest(x, file, path, (size_t)size);
    gzclose_r(file);
    return status;
}

/* Reads the images of a part, which must agree with those of the part before, and their labels. */
static rt_status read_part(image_rows *x, const rt_data_file *file)
{
    enum { LIMIT = 4096 };
    const char *key = file->key, *path = file->path;
    image_files *files = &x->parts[file->part];
    idx *images = &files->images, *labels = &files->labels;
    const bool named = rt_image_labels_path(files->labels_path, path);
    assert(named);
    (void)named;
    RT_TRY(read_idx(images, key, path));
    const bool gray = images->ndim == 3, rgb = images->ndim == 4 && images->axis[3] == 3;
    if (!gray && !rgb)
        return rt_error(RT_DATA,
                        "%.600s: must have 3 axes, of gray images, or 4, of which the last is 3, "
                        "of RGB; got %d axes at offset 3",
                        path, images->ndim);
    if (images->axis[1] != images->axis[2] || images->axis[1] > LIMIT)
        return rt_error(RT_DATA,
                        "%.600s: must have square images of at most %d pixels a side; got %zu "
                        "images of %zu x %zu at offset 4",
                        path, LIMIT, images->axis[0], images->axis[1], images->axis[2]);
    const int side = (int)images->axis[1], channels = gray ? 1 : 3;
    if (x->side && (x->side != side || x->channels != channels))
        return rt_error(RT_DATA,
                        "%.600s: has images of %d x %d with %d channels, data.file of %d x %d "
                        "with %d",
                        path, side, side, channels, x->side, x->side, x->channels);
    x->side = side;
    x->channels = channels;
    RT_TRY(read_idx(labels, key, files->labels_path));
    if (labels->ndim != 1 || labels->axis[0] != images->axis[0])
        return rt_error(RT_DATA,
                        "%.600s: has %d axes, of which the first is %zu at offset 4; "
                        "%.600s has %zu images",
                        files->labels_path, labels->ndim, labels->axis[0], path, images->axis[0]);
    return rt_ok();
}

/* Sets the labels: the given ones, or the numbers that occur. */
static rt_status find_labels(rt_data *data, const image_files *files)
{
    enum { CLASSES = 256, DIGITS = 4 };
    char digits[CLASSES][DIGITS];
    rt_text_span names[CLASSES];
    bool seen[CLASSES] = {false};
    size_t count = 0;
    for (size_t i = 0; i < files->labels.size; i++)
        seen[files->labels.bytes[i]] = true;
    for (int n = 0; n < CLASSES; n++)
        if (seen[n])
            names[count++] =
                (rt_text_span){digits[n], (size_t)snprintf(digits[n], DIGITS, "%d", n)};
    return rt_examples_label(data, files->labels_path, names, count);
}

/* Appends the images of a part as rows, in random order: neighbours may be of one class. */
static rt_status add_rows(rt_data *data, int part)
{
    image_rows *rows = data->state->rows;
    const image_files *files = &rows->parts[part];
    const idx *labels = &files->labels;
    rt_examples *x = &rows->examples;
    const rt_random random = {data->options.eval_seed, 0, RT_STREAM_SHARE};
    const size_t first = x->count;
    for (size_t i = 0; i < labels->size; i++) {
        const uint32_t image =
            rt_permuted(random, (uint32_t)part, (uint32_t)labels->size, (uint32_t)i);
        const char *digits = RT_PRINTED(4, "%d", labels->bytes[image]);
        const int label = rt_labels_find(data->labels, (rt_text_span){digits, strlen(digits)});
        if (label < 0)
            return rt_error(RT_DATA, "%.600s: label %s at offset %zu is not a label of the %s",
                            files->labels_path, digits, (size_t)image + 8,
                            data->state->meaning.labels ? "model" : "training file");
        x->rows[x->count++] = (rt_example){.first = first + image,
                                           .label = label,
                                           .line = (int)image + 1,
                                           .length = data->options.length,
                                           .evaluation = part == RT_PART_EVALUATION};
    }
    return rt_ok();
}

/* Reads the files. RT_DATA if a file is missing or no IDX file, if the images are not square, have
 * another size or other channels than those of data.file or of the model, or are not as many as
 * their labels, or if a label is unknown. RT_CONFIG for another data.patch than the model's. */
static rt_status open_images(rt_data *data, const rt_data_files *files)
{
    const rt_data_options *o = &data->options;
    image_rows *x = data->state->rows = rt_alloc(1, sizeof *x);
    size_t rows = 0;
    RT_TRY(rt_allocated(x, "the images of data.file"));
    for (size_t i = 0; i < files->count; i++) {
        const image_files *part = &x->parts[files->list[i].part];
        RT_TRY(read_part(x, &files->list[i]));
        data->memory += part->images.size + part->labels.size;
        rows += part->labels.size;
    }
    const int pixels = o->patch * o->patch, wanted = data->state->meaning.patch;
    data->patch = pixels * x->channels;
    data->vocab = RT_IMAGE_VOCAB;
    if (wanted && (wanted == pixels || wanted == 3 * pixels) && wanted != data->patch)
        return rt_error(RT_DATA,
                        "%.600s: has images with %d channel%s; the model was trained on %d",
                        files->list->path, x->channels, x->channels == 1 ? "" : "s",
                        wanted / pixels);
    if (wanted && wanted != data->patch)
        return rt_error(
            RT_CONFIG,
            "data.patch = %d gives patches of %d numbers; those of the model have %d: set "
            "the data.patch of its training",
            o->patch, data->patch, wanted);
    RT_TRY(find_labels(data, &x->parts[files->list->part]));
    x->examples.rows = rt_alloc(rows, sizeof *x->examples.rows);
    RT_TRY(rt_allocated(x->examples.rows, "the rows of data.file"));
    for (int part = 0; part < RT_PARTS; part++)
        RT_TRY(add_rows(data, part));
    return rt_examples_order(data, &x->examples);
}

static void close_images(void *rows)
{
    image_rows *x = rows;
    for (int part = 0; part < RT_PARTS; part++) {
        rt_free(x->parts[part].images.bytes);
        rt_free(x->parts[part].labels.bytes);
    }
    rt_examples_free(rows);
}

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

static void draw_image(const rt_data *data, rt_draw draw, rt_sequence row)
{
    const image_rows *x = data->state->rows;
    const rt_example *example = rt_examples_row(&x->examples, draw);
    const int side = rt_grid_side(row.length), patch = data->options.patch, C = x->channels;
    const int size = side * patch, numbers = data->patch;
    const size_t image = example->first, before = x->parts[RT_PART_TRAINING].images.axis[0];
    const size_t bytes = (size_t)x->side * (size_t)x->side * (size_t)C;
    const unsigned char *pixels =
        image < before ? x->parts[RT_PART_TRAINING].images.bytes + image * bytes
                       : x->parts[RT_PART_EVALUATION].images.bytes + (image - before) * bytes;
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

const rt_source rt_images = {.check = rt_examples_check,
                             .check_file = check_file,
                             .open = open_images,
                             .rows = rt_examples_rows,
                             .line = rt_examples_line,
                             .draw = draw_image,
                             .close = close_images};
