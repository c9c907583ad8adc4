#ifndef ROTOR_TESTS_DATA_SAMPLES_H
#define ROTOR_TESTS_DATA_SAMPLES_H

/* Shared by the tests of the data layer: batches, options, a folder for files. */

#include "core/memory.h"
#include "data/data.h"
#include "data/tokenizers/vocabulary.h"
#include "key_words.h"
#include "suite.h"
#include "util/scratch.h"

#include <hdf5.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

/* Returns an array for a batch, freed after the test. It has the exact size, so that the address
 * sanitizer sees every access beside it, and values that no source draws. */
static inline void *batch_array(size_t bytes)
{
    void *array = rt_alloc(bytes, 1);
    ck_assert_ptr_nonnull(array);
    return owned(memset(array, 0x55, bytes), rt_free);
}

static inline rt_batch batch_of(int rows, int length)
{
    const size_t tokens = (size_t)rows * (size_t)length;
    return (rt_batch){.rows = rows,
                      .length = length,
                      .ids = batch_array(tokens * sizeof(int32_t)),
                      .labels = batch_array(tokens * sizeof(int32_t)),
                      .mask = batch_array(tokens),
                      .types = batch_array(tokens * sizeof(int32_t))};
}

/* Returns whether `count` rows of a, from row i, equal those of b from row j. */
static inline bool same_rows(const rt_batch *a, int i, const rt_batch *b, int j, int count)
{
    size_t length = (size_t)a->length;
    size_t tokens = (size_t)count * length, at = (size_t)i * length, bt = (size_t)j * length;
    return a->length == b->length && !memcmp(a->ids + at, b->ids + bt, tokens * sizeof *a->ids) &&
           !memcmp(a->labels + at, b->labels + bt, tokens * sizeof *a->labels) &&
           !memcmp(a->types + at, b->types + bt, tokens * sizeof *a->types) &&
           !memcmp(a->mask + at, b->mask + bt, tokens);
}

static inline int task_named(const char *name)
{
    int task = 0;
    while (rt_data_task_name(task) && strcmp(rt_data_task_name(task), name))
        task++;
    ck_assert_msg(rt_data_task_name(task) != NULL, "there is no task '%s'", name);
    return task;
}

/* Sets some keys of data, whether these accept the values or not: "length=3 level=char". */
static inline void set_data(rt_data_options *o, const char *settings)
{
    char name[64] = "data.", value[64];
    for (int used; sscanf(settings, " %50[a-z0-9_]=%60s%n", name + 5, value, &used) == 2;
         settings += used)
        set_key(&rt_data_keys, name, value, o);
}

static inline rt_data_options options_for(const char *task)
{
    rt_data_options o = {.task = task_named(task), .batch_size = 4};
    set_data(&o, "length=32 vocab=32 distance=3 pairs=1 period=7 theta=1.1 theta2=0.6 patch=4 "
                 "size=28 level=byte objective=mlm mask_probability=0.15 eval_fraction=0.1 "
                 "eval_seed=2021");
    return o;
}

static inline rt_data_options options_with(const char *task, const char *settings)
{
    rt_data_options o = options_for(task);
    set_data(&o, settings);
    return o;
}

RELEASER(close_source, rt_data_close)

/* Opens a source with the meaning of a model. It is closed after the test. */
static inline rt_data *source_as(const rt_data_options *o, rt_data_of_model meaning)
{
    rt_data *data;
    expect_ok(rt_data_open(&data, o, meaning));
    return owned(data, close_source);
}

/* Returns the vocabulary and the labels of a source. */
static inline rt_data_of_model meaning_of(const rt_data *data)
{
    return (rt_data_of_model){.vocabulary = data->vocabulary, .labels = data->labels};
}

static inline rt_data *source(const rt_data_options *o)
{
    return source_as(o, (rt_data_of_model){0});
}

/* Returns the first rows of step 0 of a training with seed 1. */
static inline rt_batch training_of(const rt_data *data, int rows, int length)
{
    rt_batch batch = batch_of(rows, length);
    rt_data_training(data, 1, 0, 0, &batch);
    return batch;
}

/* Returns the first rows of an evaluation. */
static inline rt_batch evaluation_of(const rt_data *data, int rows, int length)
{
    rt_batch batch = batch_of(rows, length);
    rt_data_evaluation(data, 0, &batch);
    return batch;
}

/* Opens a source, closes it and returns the status. */
static inline rt_status status_of(const rt_data_options *o)
{
    rt_data *data = (rt_data *)&data;
    const rt_status status = rt_data_open(&data, o, (rt_data_of_model){.vocabulary = NULL});
    ck_assert((status.code == RT_OK) == (data != NULL));
    rt_data_close(data);
    return status;
}

/* Expects the same sequences of two sources in some steps and evaluations. */
static inline void draw_the_same(const rt_data_options *one, const rt_data_options *other)
{
    enum { STEPS = 8, ROWS_DRAWN = 64 };
    rt_data *a = source(one), *b = source(other);
    const int length = one->length;
    rt_batch x = batch_of(ROWS_DRAWN, length), y = batch_of(ROWS_DRAWN, length);
    ck_assert_int_eq(rt_data_evaluation_rows(a, length), rt_data_evaluation_rows(b, length));
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(a, 1, step, 0, &x);
        rt_data_training(b, 1, step, 0, &y);
        ck_assert(same_rows(&x, 0, &y, 0, ROWS_DRAWN));
        rt_data_evaluation(a, step * ROWS_DRAWN, &x);
        rt_data_evaluation(b, step * ROWS_DRAWN, &y);
        ck_assert(same_rows(&x, 0, &y, 0, ROWS_DRAWN));
    }
    ck_assert_int_eq(rt_data_status(b).code, RT_OK);
}

/* Opens a source, writes its vocabulary and decodes an id, with each request for memory refused
 * once, of which there are at least `least`. */
static inline void open_with_refusals(const rt_data_options *o, size_t least)
{
    rt_code code = RT_MEMORY;
    const size_t live = rt_memory_live();
    FOR_EACH_REFUSAL(code, least)
    {
        rt_data *data = NULL;
        char *file = NULL;
        code = rt_data_open(&data, o, (rt_data_of_model){.vocabulary = NULL}).code;
        ck_assert_int_eq(code == RT_OK, data != NULL);
        const rt_vocabulary *v = data ? data->vocabulary : NULL;
        if (v)
            code = rt_vocabulary_write(v, &file).code;
        rt_free(file);
        rt_data_close(data);
        ck_assert_uint_eq(rt_memory_live(), live);
    }
    ck_assert_int_eq(code, RT_OK);
}

/* Expects a message with these words in it. */
static inline void is_error(rt_status status, rt_code code, const char *words)
{
    ck_assert_msg(status.code == code && strstr(status.message, words),
                  "expected code %d with '%s'; got %d: %s", (int)code, words, (int)status.code,
                  status.message);
}

/* Expects that a source with a given vocabulary, or NULL, is refused with these words. */
static inline void is_refused(const rt_data_options *o, const rt_vocabulary *given, rt_code code,
                              const char *words)
{
    rt_data *data = (rt_data *)&data;
    is_error(rt_data_open(&data, o, (rt_data_of_model){.vocabulary = given}), code, words);
    ck_assert_ptr_null(data);
}

/* Expects an error that names the file, followed by `message`. */
static inline void is_data_error(rt_status status, const char *file, const char *message)
{
    size_t length = strlen(file);
    ck_assert_int_eq(status.code, RT_DATA);
    ck_assert_msg(!strncmp(status.message, file, length), "expected %s; got: %s", file,
                  status.message);
    ck_assert_str_eq(status.message + length, message);
}

/* Returns the id at a place before masking. */
static inline int32_t original(const rt_batch *batch, int at)
{
    return batch->labels[at] == RT_NO_LABEL ? batch->ids[at] : batch->labels[at];
}

/* Returns the path of a name in the folder of the test; it lasts, as a member of options. */
static inline const char *in_folder(const char *name)
{
    return lasting("%s/%s", scratch, name);
}

/* Writes a text into the folder and returns the path. */
static inline const char *write_text(const char *name, const char *text)
{
    return write_bytes(in_folder(name), text, strlen(text));
}

/* Opens a file without the permission to read it. Root becomes another user for that. */
static inline rt_status status_without_permission(const rt_data_options *o, const char *path)
{
    const uid_t user = geteuid(), somebody = 65534;
    ck_assert_int_eq(chmod(path, 0), 0);
    ck_assert_int_eq(chmod(scratch, 0755), 0);
    ck_assert_int_eq(seteuid(user ? user : somebody), 0);
    const rt_status status = status_of(o);
    ck_assert_int_eq(seteuid(user), 0);
    return status;
}

/* Opens a source while no file may have more than that many bytes. */
static inline rt_status status_on_full_disk(const rt_data_options *o, rlim_t bytes)
{
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){bytes, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    const rt_status status = status_of(o);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    return status;
}

/* An HDF5 file "a" under construction, and the creation properties of its data set "/ids". */
typedef struct writing {
    hid_t file;
    hid_t creation;
} writing;

static inline writing begin(void)
{
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    writing w = {H5Fcreate(in_folder("a"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                 H5Pcreate(H5P_DATASET_CREATE)};
    ck_assert(w.file >= 0 && w.creation >= 0);
    return w;
}

/* Creates the data set, with `rank` dimensions of `extent`; some values, unless it has none. */
static inline void put(writing w, hid_t type, int rank, hsize_t extent, hid_t of_values,
                       const void *values)
{
    hsize_t extents[2] = {extent, extent};
    hid_t space = H5Screate_simple(rank, extents, NULL);
    hid_t set = H5Dcreate2(w.file, "ids", type, space, H5P_DEFAULT, w.creation, H5P_DEFAULT);
    ck_assert(set >= 0);
    if (values)
        ck_assert(H5Dwrite(set, of_values, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    ck_assert(H5Dclose(set) >= 0 && H5Sclose(space) >= 0);
}

static inline void end(writing w)
{
    ck_assert(H5Pclose(w.creation) >= 0 && H5Fclose(w.file) >= 0);
}

/* Storage of a data set. Zeroed: contiguous, as int32. */
typedef struct storage {
    hid_t type;
    hsize_t chunk;
    int deflated; /* 1; 2: shuffled before it, and with checksums */
} storage;

/* Writes "a", with the ids in the data set "/ids", and makes it the file of the options. */
static inline void write_ids(rt_data_options *o, storage s, const int64_t *ids, size_t count)
{
    writing w = begin();
    ck_assert(!s.chunk || H5Pset_chunk(w.creation, 1, &s.chunk) >= 0);
    ck_assert(s.deflated < 2 || H5Pset_shuffle(w.creation) >= 0);
    ck_assert(!s.deflated || H5Pset_deflate(w.creation, 6) >= 0);
    ck_assert(s.deflated < 2 || H5Pset_fletcher32(w.creation) >= 0);
    put(w, s.type ? s.type : H5T_STD_I32LE, 1, count, H5T_NATIVE_INT64, ids);
    end(w);
    o->file = lasting("%s:/ids", in_folder("a"));
}

/* Expects that `cells` outcomes are equally likely, by Pearson's statistic. Its mean is cells - 1
 * and its deviation about sqrt(2 cells), of which the bound is five. */
static inline void are_uniform(const int *counts, int cells, int draws)
{
    double expected = (double)draws / cells, sum = 0;
    for (int i = 0; i < cells; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    ck_assert_double_lt(sum, cells - 1 + 5 * sqrt(2.0 * cells));
}

#endif
