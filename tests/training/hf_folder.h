#ifndef ROTOR_TESTS_TRAINING_HF_FOLDER_H
#define ROTOR_TESTS_TRAINING_HF_FOLDER_H

/* A folder of Hugging Face in the scratch folder, made of a fixture with a few bytes changed;
 * the models and folders of a test are released after it. */

#include "folder_ini.h"
#include "suite.h"
#include "training/scratch.h"

#include "io/huggingface/huggingface.h"
#include "io/huggingface/safetensors.h"

#define HF_FIXTURES  TEST_SOURCES "/fixtures/huggingface"
#define LLAMA(name)  "../llama/" name /* from there */
#define FAMILY(name) "../families/" name

/* ---- what a test has opened and made ---- */

static inline void close_folder(void *there)
{
    rt_huggingface_close(there);
}

static inline void free_model(void *model)
{
    rt_transformer_free(model);
}

/* Removes the folder "out" in the scratch folder, to which a test exports a model. */
static inline void remove_out(void)
{
    char path[800];
    DIR *folder = opendir(in_scratch("out"));
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%.200s", in_scratch("out"), entry->d_name);
        remove(path);
    }
    if (folder)
        closedir(folder);
    rmdir(in_scratch("out"));
}

/* After a test. */
static inline void remove_all(void)
{
    remove_out();
    remove_scratch();
}

/* ---- folders ---- */

#define CHANGES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Copies NAME's file, with each of the first texts by the one behind it; texts of a safetensors
 * header must have the same length. NULL ends the list. */
static inline void copy_changed(const char *name, const char *file, const char *const *changes)
{
    static char bytes[1 << 18];
    char path[512];
    size_t size;
    snprintf(path, sizeof path, HF_FIXTURES "/%s/hf/%s", name, file);
    unsigned char *read = file_bytes(path, &size);
    ck_assert_uint_lt(size, sizeof bytes);
    memcpy(bytes, read, size);
    free(read);
    for (; changes && changes[0]; changes += 2) {
        const size_t before = strlen(changes[0]), after = strlen(changes[1]);
        char *at = bytes;
        while (at + before <= bytes + size && memcmp(at, changes[0], before))
            at++;
        ck_assert_msg(at + before <= bytes + size, "%s has no %s", path, changes[0]);
        ck_assert_uint_lt(size + after, sizeof bytes);
        memmove(at + after, at + before, (size_t)(bytes + size - at) - before);
        memcpy(at, changes[1], after);
        size += after - before;
    }
    write_bytes(in_scratch(file), bytes, size);
}

static inline void copy_fixture(const char *name, const char *const *config_changes,
                                const char *const *tensor_changes)
{
    copy_changed(name, "config.json", config_changes);
    copy_changed(name, "model.safetensors", tensor_changes);
}

/* Writes numbers of a float tensor in the scratch folder's weights, from number `first` on. */
static inline void set_numbers(const char *tensor, uint64_t first, size_t count,
                               const float *numbers)
{
    rt_safetensors *weights;
    assert_status(rt_safetensors_open(&weights, in_scratch("model.safetensors")), RT_OK, "");
    const rt_safetensor *t = rt_safetensors_find(weights, tensor);
    ck_assert_msg(t && t->dtype == RT_DTYPE_F32 && first + count <= t->count, "%s", tensor);
    FILE *file = fopen(in_scratch("model.safetensors"), "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)(t->begin + first * sizeof *numbers), SEEK_SET);
    ck_assert_uint_eq(fwrite(numbers, sizeof *numbers, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
    rt_safetensors_close(weights);
}

static inline void fill_from(const void *context, size_t first, size_t count, float *values)
{
    const double *from = context;
    for (size_t i = 0; i < count; i++)
        values[i] = (float)from[first + i];
}

static inline void close_weights(void *file)
{
    rt_safetensors_close(file);
}

/* Lists the tensors of a fixture, to be written again, and returns how many there are. */
enum { MOST_TENSORS = 64 };
static inline int tensors_of(const char *fixture, rt_safetensors_entry list[MOST_TENSORS])
{
    enum { MOST_NUMBERS = 2048 };
    static double numbers[MOST_TENSORS][MOST_NUMBERS];
    char path[512];
    rt_safetensors *file;
    const rt_safetensor *t;
    int count = 0;
    snprintf(path, sizeof path, HF_FIXTURES "/%s/hf/model.safetensors", fixture);
    assert_status(rt_safetensors_open(&file, path), RT_OK, "");
    owned(file, close_weights); /* which has the names */
    for (; (t = rt_safetensors_at(file, (size_t)count)); count++) {
        ck_assert(t->count <= MOST_NUMBERS && count < MOST_TENSORS && t->axes <= 4);
        assert_status(rt_safetensors_doubles(t, 0, (size_t)t->count, numbers[count]), RT_OK, "");
        list[count] = (rt_safetensors_entry){.name = t->name,
                                             .axes = t->axes,
                                             .fill = fill_from,
                                             .context = numbers[count]};
        for (int k = 0; k < t->axes; k++)
            list[count].shape[k] = (int)t->shape[k];
    }
    return count;
}

static inline rt_huggingface *opened_folder(const char *folder)
{
    rt_huggingface *there;
    assert_status(rt_huggingface_open(&there, folder), RT_OK, "");
    return owned(there, close_folder);
}

static inline rt_transformer *model_of_folder(const rt_huggingface *there)
{
    rt_transformer *model;
    assert_status(rt_huggingface_model(there, &model), RT_OK, "");
    return owned(model, free_model);
}

/* Opens the folder of a fixture. */
static inline rt_huggingface *opened_fixture(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, HF_FIXTURES "/%s/hf", name);
    return opened_folder(path);
}

/* Opens a folder, and makes its model and its configuration; an act of expect_faults. */
static inline rt_status try_folder(void *folder)
{
    rt_huggingface *there;
    rt_transformer *model = NULL;
    rt_status status = rt_huggingface_open(&there, folder);
    ck_assert((status.code == RT_OK) == (there != NULL));
    if (!status.code)
        status = rt_huggingface_model(there, &model);
    ck_assert((status.code == RT_OK) == (model != NULL));
    char *ini = status.code ? NULL : ini_of(there);
    if (!status.code && !ini)
        status = rt_out_of_memory("a configuration");
    rt_free(ini);
    rt_transformer_free(model);
    rt_huggingface_close(there);
    return status;
}

/* Opens the scratch folder and makes its model, either of which must be refused. */
static inline void expect_refused(const char *message)
{
    rt_huggingface *there;
    rt_transformer *model = NULL;
    rt_status status = rt_huggingface_open(&there, scratch);
    ck_assert((status.code == RT_OK) == (there != NULL));
    if (there)
        status = rt_huggingface_model(there, &model);
    ck_assert_ptr_null(model);
    rt_huggingface_close(there);
    assert_status(status, RT_CHECKPOINT, message);
}

#endif
