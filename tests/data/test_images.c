/* Files of images in the IDX format: reading, refusals, and sequences of patches. */

#include "samples.h"

#include "core/tensor.h"
#include "data/files.h"
#include "data/images.h"

#include <zlib.h>

enum { COUNT = 60, SIDE = 8, CLASSES = 3, MOST_BYTES = 1 << 16 };

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Appends the header of an IDX file of bytes; returns its size. */
static size_t put_header(unsigned char *to, int ndim, const unsigned *axis)
{
    memcpy(to, "\0\0\10", 3);
    to[3] = (unsigned char)ndim;
    for (int i = 0; i < 4 * ndim; i++)
        to[4 + i] = (unsigned char)(axis[i / 4] >> 8 * (3 - i % 4));
    return 4 + 4 * (size_t)ndim;
}

static const char *write_zipped(const char *name, const unsigned char *bytes, size_t size)
{
    gzFile file = gzopen(in_folder(name), "wb");
    ck_assert(file && gzwrite(file, bytes, (unsigned)size) == (int)size && !gzclose(file));
    return in_folder(name);
}

/* The first number of an image is the number of the image. */
static unsigned char byte_of(int image, int row, int column, int channel)
{
    const bool first = !row && !column && !channel;
    return (unsigned char)(first ? image : 37 * image + 11 * row + 5 * column + 101 * channel);
}

/* Writes `count` images from number `first` on, and their labels, which are those numbers modulo
 * CLASSES. Returns the path of the images. */
static const char *write_images(const char *part, int first, int count, int side, int channels,
                                bool zipped)
{
    static unsigned char bytes[MOST_BYTES], labels[8 + 256];
    const unsigned axis[] = {(unsigned)count, (unsigned)side, (unsigned)side, 3};
    const int each = side * side * channels;
    size_t size = put_header(bytes, channels == 1 ? 3 : 4, axis);
    ck_assert(size + (size_t)(count * each) <= sizeof bytes && count <= 256);
    for (int i = 0; i < count * each; i++) {
        const int pixel = i % each / channels;
        bytes[size++] = byte_of(first + i / each, pixel / side, pixel % side, i % channels);
    }
    const size_t behind = put_header(labels, 1, axis);
    for (int i = 0; i < count; i++)
        labels[behind + (size_t)i] = (unsigned char)((first + i) % CLASSES);
    const char *ending = zipped ? ".gz" : "";
    const char *names[] = {lasting("%s-images-idx%d-ubyte%s", part, channels == 1 ? 3 : 4, ending),
                           lasting("%s-labels-idx1-ubyte%s", part, ending)};
    if (zipped) {
        write_zipped(names[1], labels, behind + (size_t)count);
        return write_zipped(names[0], bytes, size);
    }
    write_bytes(in_folder(names[1]), labels, behind + (size_t)count);
    return write_bytes(in_folder(names[0]), bytes, size);
}

static rt_data_options images_in(const char *file, int size, int patch)
{
    rt_data_options o = options_with("images", "eval_fraction=0");
    o.file = file;
    o.size = size;
    o.patch = patch;
    o.length = 1 + size / patch * (size / patch);
    return o;
}

static rt_batch patches_of(const rt_data *data, int rows, int length)
{
    rt_batch b = batch_of(rows, length);
    const size_t numbers = (size_t)(rows * length * data->patch);
    b.patches = batch_array(numbers * sizeof *b.patches);
    return b;
}

/* Returns the number of the image of a row, whose size is that of the file. */
static int image_of(const rt_data *data, const rt_batch *b, int row)
{
    const size_t at = ((size_t)row * (size_t)b->length + 1) * (size_t)data->patch;
    return (int)lround((double)(b->patches[at] + 1) * 127.5);
}

static const struct {
    int channels, patch;
    bool zipped;
} kinds[] = {{1, 4, false}, {1, 2, true}, {3, 4, true}, {3, 1, false}, {1, 8, false}};

TEST_ROWS(an_image_is_a_token_and_its_patches_row_by_row, 0, ROWS(kinds))
{
    const int C = kinds[_i].channels, patch = kinds[_i].patch, n = SIDE / patch;
    rt_data_options o =
        images_in(write_images("train", 0, 12, SIDE, C, kinds[_i].zipped), SIDE, patch);
    rt_data *data = source(&o);
    ck_assert_int_eq(data->patch, patch * patch * C);
    ck_assert_int_eq(data->vocab, RT_IMAGE_VOCAB);
    ck_assert_int_eq(data->classes, CLASSES);
    ck_assert_int_eq(data->task->target, RT_TARGET_SEQUENCE);
    ck_assert(!data->varies && !data->vocabulary && !data->types);
    ck_assert_int_eq(data->longest, INT_MAX);
    rt_batch b = patches_of(data, 12, o.length);
    rt_data_evaluation(data, 0, &b);
    const real *at = b.patches;
    for (int r = 0; r < 12; r++) {
        const int image = image_of(data, &b, r);
        ck_assert_int_eq(rt_data_evaluation_line(data, (uint32_t)r), image + 1);
        for (int t = 0; t < o.length; t++) {
            const int i = r * o.length + t, left = (t - 1) % n * patch, top = (t - 1) / n * patch;
            ck_assert_int_eq(b.ids[i], t ? RT_ID_PATCH : 1);
            ck_assert_int_eq(b.labels[i], t ? RT_NO_LABEL : image % CLASSES);
            ck_assert(b.mask[i] == 1 && b.types[i] == 0);
            for (int row = top; row < top + patch; row++)
                for (int column = left; column < left + patch; column++)
                    for (int c = 0; c < C; c++, at++)
                        ck_assert_double_eq(
                            (double)*at,
                            t ? (double)(real)(byte_of(image, row, column, c) / 127.5 - 1) : 0);
        }
    }
}

/* Classes that follow each other in a file are mixed in an evaluation that is cut short. */
TEST(an_epoch_trains_on_every_image_and_an_evaluation_mixes_them)
{
    enum { BATCH = 7, STEPS = (COUNT + BATCH - 1) / BATCH };
    rt_data_options o = images_in(write_images("train", 0, COUNT, SIDE, 1, false), SIDE, 4);
    o.eval_file = write_images("t10k", 200, 20, SIDE, 1, true);
    o.batch_size = BATCH;
    rt_data *data = source(&o);
    rt_batch b = patches_of(data, BATCH, o.length), part = patches_of(data, 2, o.length);
    int seen[COUNT] = {0};
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(data, 1, step, 0, &b);
        for (int r = 0; r < BATCH; r++) {
            ck_assert_int_lt(image_of(data, &b, r), COUNT);
            seen[image_of(data, &b, r)]++;
        }
        rt_data_training(data, 1, step, 3, &part); /* rows 3 and 4 alone */
        const size_t numbers = (size_t)(o.length * data->patch);
        ck_assert(same_rows(&b, 3, &part, 0, 2) && !memcmp(b.patches + 3 * numbers, part.patches,
                                                           2 * numbers * sizeof *part.patches));
    }
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(seen[i] >= 1 && seen[i] <= 2, "image %d: %d times", i, seen[i]);
    ck_assert_int_eq(rt_data_evaluation_rows(data, o.length), 20);
    bool evaluated[20] = {false}, ascends = true;
    rt_batch all = patches_of(data, 20, o.length);
    rt_data_evaluation(data, 0, &all);
    for (int r = 0; r < 20; r++) {
        ck_assert_int_ge(image_of(data, &all, r), 200);
        evaluated[image_of(data, &all, r) - 200] = true;
        ascends &= !r || image_of(data, &all, r) > image_of(data, &all, r - 1);
    }
    ck_assert(!ascends);
    for (int i = 0; i < 20; i++)
        ck_assert(evaluated[i]);
}

/* tests/fixtures/images/make.py */
TEST(resized_images_are_those_of_pytorch)
{
    enum { SIZE = 28 };
    unsigned char image[SIZE * SIZE * 3];
    int size, lines = 0;
    for (int i = 0; i < ROWS(image); i++)
        image[i] = (unsigned char)((UINT32_C(2654435761) * (uint32_t)(i + 1)) >> 24);
    FILE *file = fopen(TEST_SOURCES "/fixtures/images/values.txt", "r");
    ck_assert(file != NULL);
    for (; fscanf(file, "%d", &size) == 1; lines++)
        for (int n = 0; n < size * size; n += 11) {
            double expected;
            ck_assert_int_eq(fscanf(file, "%lf", &expected), 1);
            ck_assert_double_eq_tol(rt_image_resized(image, SIZE, 3, n % 3, size, n % size,
                                                     n / size),
                                    expected, 1e-11);
        }
    fclose(file);
    ck_assert_int_eq(lines, 4);
    for (int i = 0; i < ROWS(image); i++) /* of the same size */
        ck_assert_double_eq(rt_image_resized(image, SIZE, 3, i % 3, SIZE, i / 3 % SIZE,
                                             i / 3 / SIZE),
                            image[i]);
}

TEST(the_length_of_a_batch_decides_the_size_of_its_images)
{
    static const int sizes[] = {4, 8, 12, 20};
    rt_data_options o = images_in(write_images("train", 0, 9, SIDE, 3, false), SIDE, 4);
    rt_data *data = source(&o);
    unsigned char image[SIDE * SIDE * 3];
    for (int i = 0; i < ROWS(sizes); i++) {
        const int n = sizes[i] / 4, length = 1 + n * n, numbers = data->patch;
        rt_batch b = patches_of(data, 1, length);
        rt_data_evaluation(data, 0, &b);
        const int number = rt_data_evaluation_line(data, 0) - 1;
        for (int p = 0; p < ROWS(image); p++)
            image[p] = byte_of(number, p / 3 / SIDE, p / 3 % SIDE, p % 3);
        for (int j = numbers; j < length * numbers; j++) {
            const int t = j / numbers - 1, p = j % numbers / 3;
            const double value = rt_image_resized(image, SIDE, 3, j % 3, sizes[i],
                                                  t % n * 4 + p % 4, t / n * 4 + p / 4);
            ck_assert_double_eq((double)b.patches[j], (double)(real)(value / 127.5 - 1));
        }
    }
}

#define GRAY        "\0\0\10\3\0\0\0\2\0\0\0\2\0\0\0\2"
#define BYTES(text) text, sizeof text - 1

/* Files that replace two images of 2 x 2, or their labels. */
static const struct {
    bool of_labels;
    const char *bytes;
    size_t size;
    const char *message;
} damaged[] = {
    {false, BYTES(""), ": ends at offset 0, within the header of an IDX file"},
    {false, BYTES("\0\0\10"), ": ends at offset 3, within the header of an IDX file"},
    {false, BYTES("\1\0\10\3"),
     ": is no IDX file of bytes with 1 to 4 axes: it begins with 01 00 08 03 at offset 0"},
    {false, BYTES("\0\0\15\3"), "it begins with 00 00 0d 03 at offset 0"},
    {false, BYTES("\0\0\10\0"), "it begins with 00 00 08 00 at offset 0"},
    {false, BYTES("\0\0\10\5"), "it begins with 00 00 08 05 at offset 0"},
    {false, BYTES("\0\0\10\3\0\0\0\2\0\0"), ": ends at offset 10, within the header of an IDX"},
    {false, BYTES(GRAY), ": ends at offset 16; its header says 8 bytes more"},
    {false, BYTES(GRAY "1234567"), ": ends at offset 23; its header says 1 bytes more"},
    {false, BYTES(GRAY "123456789"), ": goes on at offset 24, where its header says it ends"},
    {false, BYTES("\0\0\10\3\0\0\0\2\0\0\0\0\0\0\0\2"),
     ": axis 2 at offset 8 is 0: there is nothing"},
    {false, BYTES("\0\0\10\3\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\1"),
     ": axis 1 at offset 4 is 4294967295: more than can be read"},
    {false, BYTES("\0\0\10\3\0\0\0\177\0\0\20\0\0\0\20\00012345678"),
     ": ends at offset 24; its header says 2130706424 bytes more"},
    {false, BYTES("\0\0\10\3\0\0\0\200\0\0\20\0\0\0\20\00012345678"),
     ": axis 3 at offset 12 is 4096: more than can be read"},
    {false, BYTES("\0\0\10\1\0\0\0\00212"),
     ": must have 3 axes, of gray images, or 4, of which the last is 3, of RGB; got 1 axes at "
     "offset 3"},
    {false, BYTES("\0\0\10\4\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\00212"), "got 4 axes at offset 3"},
    {false, BYTES("\0\0\10\3\0\0\0\2\0\0\0\2\0\0\0\0011234"),
     ": must have square images of at most 4096 pixels a side; got 2 images of 2 x 1 at offset 4"},
    {true, BYTES(""), ": ends at offset 0, within the header of an IDX file"},
    {true, BYTES("\0\0\10\1\0\0\0\003123"), ": has 1 axes, of which the first is 3 at offset 4; "},
    {true, BYTES("\0\0\10\2\0\0\0\2\0\0\0\00112"), ": has 2 axes, of which the first is 2"},
    {true, BYTES("\0\0\10\1\0\0\0\0021"), ": ends at offset 9; its header says 1 bytes more"},
    {true, BYTES("\0\0\10\1\0\0\0\2\7\7"), ": every label is '7'; a task needs at least two"},
};

static rt_data_options two_images(void)
{
    rt_data_options o = images_in(in_folder("a-images-idx3-ubyte"), 2, 1);
    write_bytes(in_folder("a-labels-idx1-ubyte"), BYTES("\0\0\10\1\0\0\0\2\1\2"));
    write_bytes(o.file, BYTES(GRAY "12345678"));
    return o;
}

/* Expects RT_DATA with the path and these words. */
static void is_damaged(rt_status status, const char *path, const char *words)
{
    is_error(status, RT_DATA, words);
    ck_assert_msg(!strncmp(status.message, path, strlen(path)), "%s", status.message);
}

TEST_ROWS(a_damaged_file_is_refused_with_the_offset, 0, ROWS(damaged))
{
    rt_data_options o = two_images();
    expect_ok(status_of(&o));
    const char *path = damaged[_i].of_labels ? in_folder("a-labels-idx1-ubyte") : o.file;
    write_bytes(path, damaged[_i].bytes, damaged[_i].size);
    is_damaged(status_of(&o), path, damaged[_i].message);
    write_zipped(strrchr(path, '/') + 1, (const unsigned char *)damaged[_i].bytes,
                 damaged[_i].size);
    is_damaged(status_of(&o), path, damaged[_i].message);
}

TEST(missing_labels_are_named)
{
    const rt_data_options o = two_images();
    const char *labels = in_folder("a-labels-idx1-ubyte");
    ck_assert_int_eq(remove(labels), 0);
    is_damaged(status_of(&o), labels, ": No such file or directory");
}

TEST(a_damaged_compressed_file_is_refused)
{
    rt_data_options o = images_in(write_images("train", 0, 40, SIDE, 1, true), SIDE, 4);
    size_t size;
    unsigned char *bytes = file_bytes(o.file, &size);
    expect_ok(status_of(&o));
    write_bytes(o.file, bytes, size - 1); /* the check of the whole is cut */
    is_damaged(status_of(&o), o.file, ": is damaged at offset 2576: unexpected end of file");
    write_bytes(o.file, bytes, size / 2);
    is_damaged(status_of(&o), o.file, ": is damaged at offset ");
    bytes[size - 5] ^= 1; /* a number of the check */
    write_bytes(o.file, bytes, size);
    is_damaged(status_of(&o), o.file, ": is damaged at offset ");
}

TEST(evaluation_images_are_those_of_the_training_in_size_and_channels)
{
    static const int other[][2] = {{SIDE, 3}, {4, 1}};
    rt_data_options o = images_in(write_images("train", 0, 9, SIDE, 1, false), SIDE, 4);
    for (int i = 0; i < ROWS(other); i++) {
        o.eval_file = write_images("t10k", 0, 9, other[i][0], other[i][1], false);
        is_data_error(status_of(&o), o.eval_file,
                      lasting(": has images of %d x %d with %d channels, data.file of 8 x 8 with 1",
                              other[i][0], other[i][0], other[i][1]));
    }
}

TEST(an_unknown_label_is_named_with_its_offset)
{
    static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 0, 9, 1};
    rt_data_options o = images_in(write_images("train", 0, 9, SIDE, 1, false), SIDE, 4);
    rt_data *data;
    const rt_data_of_model meaning = meaning_of(source(&o));
    o.eval_file = write_images("t10k", 0, 3, SIDE, 1, false);
    const char *path = write_bytes(in_folder("t10k-labels-idx1-ubyte"), labels, sizeof labels);
    is_data_error(status_of(&o), path, ": label 9 at offset 9 is not a label of the training file");
    o.file = o.eval_file;
    is_data_error(rt_data_open(&data, &o, meaning), path,
                  ": label 9 at offset 9 is not a label of the model");
}

TEST(other_patches_than_those_of_the_model_are_refused)
{
    rt_data_options o = images_in(write_images("train", 0, 9, SIDE, 3, false), SIDE, 4);
    rt_data *data;
    expect_ok(rt_data_open(&data, &o, (rt_data_of_model){.patch = 48}));
    rt_data_close(data);
    is_data_error(rt_data_open(&data, &o, (rt_data_of_model){.patch = 16}), o.file,
                  ": has images with 3 channels; the model was trained on 1");
    is_error(rt_data_open(&data, &o, (rt_data_of_model){.patch = 12}), RT_CONFIG,
             "data.patch = 4 gives patches of 48 numbers; those of the model have 12");
}

static const struct {
    const char *file, *eval_file;
    int length, batch_size;
    const char *message;
} rules[] = {
    {"a.idx", NULL, 5, 4, "data.file must name a file of images with images-idx3 or images-idx4"},
    {"a-images-idx1", NULL, 5, 4, "data.file must name a file of images"},
    {"a-images-idx3/b", NULL, 5, 4, "data.file must name a file of images"},
    {"a-images-idx3", "b", 5, 4, "data.eval_file must name a file of images"},
    {"a-images-idx3", NULL, 6, 4, "data.length must be 1 and the number of patches"},
    {"a-images-idx3", NULL, 5, 0, "train.batch_size must be at least 1; got 0"},
};

TEST_ROWS(a_setting_that_images_cannot_have_is_refused, 0, ROWS(rules))
{
    rt_data_options o = images_in(rules[_i].file, 8, 4);
    o.eval_file = rules[_i].eval_file;
    o.length = rules[_i].length;
    o.batch_size = rules[_i].batch_size;
    is_error(rt_data_check(&o), RT_CONFIG, rules[_i].message);
}

static const char *const names[][2] = {{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
                                       {"images-idx4", "labels-idx1"},
                                       {"train-images.idx3-ubyte", "train-labels.idx1-ubyte"},
                                       {"a/images.idx4.gz", "a/labels.idx1.gz"},
                                       {"images_idx3", NULL},
                                       {"images-idx3/train-images-idx3-ubyte.gz",
                                        "images-idx3/train-labels-idx1-ubyte.gz"},
                                       {"/a/images-idx3-images-idx4", "/a/images-idx3-labels-idx1"},
                                       {"images-idx2", NULL},
                                       {"images-idx", NULL},
                                       {"images", NULL}};

TEST_ROWS(the_name_of_the_labels_follows_from_that_of_the_images, 0, ROWS(names))
{
    char path[RT_PATH_SIZE];
    ck_assert_int_eq(rt_image_labels_path(path, names[_i][0]), names[_i][1] != NULL);
    if (names[_i][1])
        ck_assert_str_eq(path, names[_i][1]);
}
