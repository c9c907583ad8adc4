/* Files of token ids, read by one thread and by several, and refusals of unusable ones. */

#include "samples.h"

#include <pthread.h>

/* More than two blocks of the first look at a file, and no round number. */
enum { MANY = 150001, VOCAB = 5000, LENGTH = 64 };

static int64_t id_at(size_t i)
{
    return (int64_t)((i * 2654435761u >> 7) % VOCAB);
}

static rt_data_options long_options(storage s)
{
    static int64_t ids[MANY];
    rt_data_options o = options_with("tokens", "vocab=5000 length=64");
    for (size_t i = 0; i < MANY; i++)
        ids[i] = id_at(i);
    write_ids(&o, s, ids, MANY);
    return o;
}

/* Contiguous and in chunks, with both widths and both byte orders. */
enum { STORAGES = 12, IN_ONE_PIECE = 6 };
static storage storage_number(int i)
{
    storage all[STORAGES] = {{H5T_STD_I32LE, 0, 0},     {H5T_STD_I64LE, 0, 0},
                             {H5T_STD_I32BE, 0, 0},     {H5T_STD_U16LE, 0, 0},
                             {H5T_STD_U16BE, 0, 0},     {H5T_STD_U32LE, 0, 0},
                             {H5T_STD_I32LE, 1000, 0},  {H5T_STD_I64LE, 4096, 1},
                             {H5T_STD_I64BE, 77777, 2}, {H5T_STD_U16LE, 100, 0},
                             {H5T_STD_U16BE, 100, 0},   {H5T_STD_U32LE, 100, 0}};
    return all[i];
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(windows_are_read_from_every_kind_of_storage, 0, STORAGES)
{
    enum { ROWS = 40 };
    rt_data_options o = long_options(storage_number(_i));
    o.objective = RT_OBJECTIVE_LM;
    rt_data *data = source(&o);
    ck_assert_int_eq(data->vocab, VOCAB);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), 15000 / (LENGTH - 1));
    rt_batch batch = evaluation_of(data, ROWS, LENGTH);
    for (int i = 0; i < ROWS * LENGTH; i++) {
        size_t place = 135001 + (size_t)(i / LENGTH * (LENGTH - 1) + i % LENGTH - 1);
        ck_assert_int_eq(batch.ids[i], i % LENGTH ? id_at(place) : RT_ID_CLS);
        ck_assert_int_eq(batch.mask[i], 1);
    }
    ck_assert_int_eq(rt_data_status(data).code, RT_OK);
}

TEST(a_small_data_set_may_lie_in_its_header_and_in_a_group)
{
    rt_data_options o = options_for("tokens");
    const int ids[8] = {4, 5, 6, 7, 8, 9, 10, 11};
    writing w = begin();
    ck_assert(H5Pset_layout(w.creation, H5D_COMPACT) >= 0);
    put(w, H5T_STD_I32LE, 1, 8, H5T_NATIVE_INT, ids);
    hid_t group = H5Gcreate2(w.file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(H5Lmove(w.file, "ids", group, "ids", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    ck_assert(H5Lcreate_soft("/group/ids", w.file, "link", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    ck_assert(H5Gclose(group) >= 0);
    end(w);
    static const char *const names[] = {"/group/ids", "/link"};
    for (int i = 0; i < 2; i++) {
        o.file = lasting("%s:%s", in_folder("a"), names[i]);
        o.length = 9;
        o.eval_fraction = 0;
        rt_data *data = source(&o);
        rt_batch batch = batch_of(1, 9);
        rt_data_training(data, 1, 0, 0, &batch);
        for (int t = 1; t < 9; t++)
            ck_assert_int_eq(original(&batch, t), 3 + t);
    }
}

/* The rows that one of several threads draws. */
typedef struct drawing {
    const rt_data *data;
    rt_batch batch;
    uint32_t first;
} drawing;

enum { THREADS = 4, STEPS = 30, ROWS = 8 };

static void *draw_steps(void *argument)
{
    drawing *d = argument;
    rt_batch part = d->batch;
    part.rows = ROWS;
    for (uint32_t step = 0; step < STEPS; step++) {
        rt_data_training(d->data, 1, step, d->first, &part);
        part.ids += ROWS * LENGTH;
        part.labels += ROWS * LENGTH;
        part.mask += ROWS * LENGTH;
    }
    return NULL;
}

TEST_ROWS(several_threads_draw_the_sequences_of_one, 0, STORAGES)
{
    rt_data_options o = long_options(storage_number(_i));
    rt_data *data = source(&o);
    drawing together[THREADS], alone;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        together[i] = (drawing){data, batch_of(STEPS * ROWS, LENGTH), (uint32_t)(i * ROWS)};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, draw_steps, &together[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        alone = (drawing){data, batch_of(STEPS * ROWS, LENGTH), together[i].first};
        draw_steps(&alone);
        ck_assert(same_rows(&alone.batch, 0, &together[i].batch, 0, STEPS * ROWS));
    }
    ck_assert_int_eq(rt_data_status(data).code, RT_OK);
}

TEST(two_sources_read_one_file)
{
    rt_data_options o = long_options(storage_number(7));
    rt_data *first, *second = source(&o);
    rt_batch one = batch_of(8, LENGTH), other = batch_of(8, LENGTH);
    expect_ok(rt_data_open(&first, &o, (rt_data_of_model){.vocabulary = NULL}));
    rt_data_training(first, 1, 0, 0, &one);
    rt_data_close(first);
    rt_data_training(second, 1, 0, 0, &other);
    ck_assert(same_rows(&one, 0, &other, 0, 8));
    ck_assert_int_eq(rt_data_status(second).code, RT_OK);
}

/* The cut file holds only the first ids: some rows cannot be read, and all are refused. */
TEST_ROWS(a_file_that_is_cut_short_is_found_while_drawing, 0, IN_ONE_PIECE)
{
    rt_data_options o = long_options(storage_number(_i));
    rt_data *data = source(&o);
    rt_batch batch = training_of(data, 4, LENGTH);
    ck_assert_int_eq(rt_data_status(data).code, RT_OK);
    struct stat facts;
    ck_assert_int_eq(stat(in_folder("a"), &facts), 0);
    ck_assert_int_eq(truncate(in_folder("a"), facts.st_size / 2), 0);
    rt_data_training(data, 1, 0, 0, &batch);
    for (int i = 0; i < 4 * LENGTH; i++) {
        ck_assert_int_eq(batch.ids[i], RT_ID_PAD);
        ck_assert_int_eq(batch.labels[i], RT_NO_LABEL);
        ck_assert_int_eq(batch.mask[i], 0);
    }
    is_data_error(rt_data_status(data), o.file, ": data.file became shorter while it was in use");
}

/* Chunks are decoded when the file is opened. Later changes of the file do not matter. */
TEST_ROWS(ids_in_chunks_do_not_change_with_the_file, IN_ONE_PIECE, STORAGES)
{
    rt_data_options o = long_options(storage_number(_i));
    rt_data *data = source(&o);
    rt_batch before = training_of(data, 4, LENGTH), after = batch_of(4, LENGTH);
    ck_assert_int_eq(truncate(in_folder("a"), 0), 0);
    rt_data_training(data, 1, 0, 0, &after);
    ck_assert(same_rows(&before, 0, &after, 0, 4));
    ck_assert_int_eq(rt_data_status(data).code, RT_OK);
}

/* Another program writes into the file, which keeps its size and time. The ids are stored raw, so
 * that the first of them can be found. The first failure is reported. */
TEST(an_id_that_is_overwritten_is_found_while_drawing)
{
    rt_data_options o = long_options((storage){0});
    o.eval_fraction = 0;
    rt_data *data = source(&o);
    rt_batch batch = batch_of(1, LENGTH);
    struct stat facts;
    FILE *file = fopen(in_folder("a"), "r+b");
    ck_assert_int_eq(stat(in_folder("a"), &facts), 0);
    ck_assert(file != NULL);
    int32_t first[3], wanted[3] = {(int32_t)id_at(0), (int32_t)id_at(1), (int32_t)id_at(2)};
    long at = -4;
    do {
        at += 4;
        ck_assert(fseek(file, at, SEEK_SET) == 0 && fread(first, sizeof first, 1, file) == 1);
    } while (memcmp(first, wanted, sizeof first));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t row = 1 + i * 1000;
        int32_t wrong = i ? -7 : VOCAB;
        ck_assert(fseek(file, at + 4 * (LENGTH - 1) * (long)row, SEEK_SET) == 0);
        ck_assert(fwrite(&wrong, sizeof wrong, 1, file) == 1 && fflush(file) == 0);
        const struct timespec times[2] = {facts.st_atim, facts.st_mtim};
        ck_assert_int_eq(futimens(fileno(file), times), 0);
        rt_data_evaluation(data, row, &batch);
        for (int t = 0; t < LENGTH; t++)
            ck_assert(batch.ids[t] == RT_ID_PAD && batch.labels[t] == RT_NO_LABEL);
        rt_data_evaluation(data, 500, &batch);
        ck_assert_int_eq(batch.ids[0], RT_ID_CLS);
    }
    ck_assert_int_eq(fclose(file), 0);
    is_data_error(
        rt_data_status(data), o.file,
        ": data.file must hold ids from 0 to 4999 (data.vocab 5000); got 5000 at index 63");
}
