#ifndef ROTOR_TESTS_HF_FOLDER_H
#define ROTOR_TESTS_HF_FOLDER_H

/* A folder of Hugging Face in the scratch folder, made of a fixture with a few bytes changed, or
 * the folder "out" in it, to which a test exports a model; the models and folders of a test are
 * released after it. */

#include "folder_ini.h"
#include "models/new_model.h"
#include "option_words.h"
#include "util/scratch.h"

#include "io/huggingface/folder.h"
#include "io/huggingface/huggingface.h"
#include "io/huggingface/safetensors.h"

RELEASER(close_folder, rt_huggingface_close)
RELEASER(close_weights, rt_safetensors_close)

#define CHANGES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Returns the path of a folder of tests/fixtures/huggingface, llama or families, or of a file of
 * it.
 */
static inline const char *path_in_fixture(const char *name, const char *file)
{
    static const char *const groups[] = {"huggingface", "llama", "families"};
    const char *path = "";
    for (int i = 0; i < ROWS(groups) && !exists(path); i++)
        path = lasting(TEST_SOURCES "/fixtures/%s/%s/hf/%s", groups[i], name, file);
    return path;
}

/* Copies NAME's file and replaces the first text of each pair by the second; texts of a safetensors
 * header must have the same length. NULL ends the list. */
static inline void copy_changed(const char *name, const char *file, const char *const *changes)
{
    static char bytes[1 << 18];
    size_t size;
    const char *path = path_in_fixture(name, file);
    const unsigned char *before_all = file_bytes(path, &size);
    ck_assert_uint_lt(size, sizeof bytes);
    memcpy(bytes, before_all, size);
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

/* Opens a file of the scratch folder, which is closed after the test. */
static inline rt_safetensors *opened_weights(const char *name)
{
    rt_safetensors *weights;
    expect_ok(rt_safetensors_open(&weights, in_scratch(name)));
    return owned(weights, close_weights);
}

/* Writes numbers of a float tensor in weights of the scratch folder, from number `first` on. */
static inline void set_numbers(const char *weights, const char *tensor, uint64_t first,
                               size_t count, const float *numbers)
{
    const rt_safetensor *t = rt_safetensors_find(opened_weights(weights), tensor);
    ck_assert_msg(t && t->dtype == RT_DTYPE_F32 && first + count <= t->count, "%s", tensor);
    FILE *file = fopen(in_scratch(weights), "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)(t->begin + first * sizeof *numbers), SEEK_SET);
    ck_assert_uint_eq(fwrite(numbers, sizeof *numbers, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void fill_from(const void *context, size_t first, size_t count, float *values)
{
    const double *from = context;
    for (size_t i = 0; i < count; i++)
        values[i] = (float)from[first + i];
}

/* Lists the tensors of a fixture, to be written again, and returns how many there are. */
enum { MOST_TENSORS = 64 };
static inline int tensors_of(const char *fixture, rt_safetensors_entry list[MOST_TENSORS])
{
    enum { MOST_NUMBERS = 2048 };
    static double numbers[MOST_TENSORS][MOST_NUMBERS];
    rt_safetensors *file;
    int count = 0;
    expect_ok(rt_safetensors_open(&file, path_in_fixture(fixture, "model.safetensors")));
    owned(file, close_weights); /* which has the names */
    for (; (size_t)count < file->count; count++) {
        const rt_safetensor *t = file->tensors + count;
        ck_assert(t->count <= MOST_NUMBERS && count < MOST_TENSORS && t->axes <= 4);
        expect_ok(rt_safetensors_doubles(t, 0, (size_t)t->count, numbers[count]));
        list[count] = (rt_safetensors_entry){.name = t->name,
                                             .shape.ndim = t->axes,
                                             .fill = fill_from,
                                             .context = numbers[count]};
        for (int k = 0; k < t->axes; k++)
            list[count].shape.axis[k] = (int)t->shape[k];
    }
    return count;
}

static inline rt_huggingface *opened_folder(const char *folder)
{
    rt_huggingface *there;
    expect_ok(rt_huggingface_open(&there, folder));
    return owned(there, close_folder);
}

static inline rt_transformer *model_of_folder(const rt_huggingface *there)
{
    rt_transformer *model;
    expect_ok(rt_huggingface_model(there, NULL, &model, NULL));
    return owned(model, free_new_model);
}

/* Takes the folder's values for a model. */
static inline rt_huggingface_taken take_values(const rt_huggingface *there, rt_transformer *model)
{
    rt_huggingface_taken taken;
    expect_ok(rt_huggingface_load(there, model, true, &taken));
    return taken;
}

static inline void expect_same_block(const rt_transformer *a, const rt_transformer *b)
{
    ck_assert_uint_eq(a->parameters.block_size, b->parameters.block_size);
    ck_assert(!memcmp(a->parameters.values, b->parameters.values,
                      a->parameters.block_size * sizeof(real)));
}

/* Expects a parameter in another model, with the same values. */
static inline void expect_same_parameter(const rt_parameter *p, const rt_transformer *model)
{
    const rt_parameter *q = rt_parameters_find(&model->parameters, p->name);
    ck_assert_msg(q && !memcmp(p->tensor.data, q->tensor.data, rt_size(&p->tensor) * sizeof(real)),
                  "%s has other values", p->name);
}

/* Opens the folder of a fixture. */
static inline rt_huggingface *opened_fixture(const char *name)
{
    return opened_folder(path_in_fixture(name, ""));
}

/* Opens a folder, and makes its model and its configuration. */
static inline rt_status try_folder(const char *folder)
{
    rt_huggingface *there;
    rt_transformer *model = NULL;
    rt_status status = rt_huggingface_open(&there, folder);
    ck_assert((status.code == RT_OK) == (there != NULL));
    if (!status.code)
        status = rt_huggingface_model(there, NULL, &model, NULL);
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
    is_status(try_folder(scratch), RT_CHECKPOINT, message);
}

/* ---- the folder "out" ---- */

/* A model of the words of option_words.h, no two of whose parameters are alike. Their numbers are
 * floats, as in a file; factors of heads are powers of 2, by which a float is multiplied exactly.
 */
static inline rt_transformer *shaken_model(const rt_transformer_options *o)
{
    rt_transformer *model = new_model(o, 3);
    for (int i = 0; i < model->parameters.count; i++) {
        const rt_parameter *p = model->parameters.list[i];
        for (size_t k = 0; k < rt_size(&p->tensor) && p->role != RT_ROLE_THETA; k++)
            p->tensor.data[k] =
                p->role == RT_ROLE_FACTOR
                    ? (real)ldexp(1, (i + (int)k) % 4 - 1)
                    : (real)(float)(p->tensor.data[k] + 0.1 * sin((double)k + 3 * i));
    }
    return model;
}

static inline rt_transformer *model_of_words(const char *words)
{
    const rt_transformer_options o = options_of(words);
    return shaken_model(&o);
}

static inline rt_status write_with(const rt_transformer *model, const rt_huggingface_export *export)
{
    return rt_huggingface_write(in_scratch("out"), model, export);
}

static inline rt_status write_model(const rt_transformer *model)
{
    return write_with(model, &(rt_huggingface_export){.length = 8, .overwrite = true});
}

static inline rt_transformer *written_model(const char *words)
{
    rt_transformer *model = model_of_words(words);
    expect_ok(write_model(model));
    return model;
}

RELEASER(free_json, json_decref)

/* Returns a JSON file of the folder, which is freed after the test. */
static inline json_t *read_json(const char *name)
{
    json_t *json;
    expect_ok(rt_json_read_file(&json, in_scratch("out"), name));
    return owned(json, free_json);
}

static inline void change_file(const char *name, const char *from, const char *to)
{
    put_text(name, replaced(text_in(name), from, to));
}

#endif
