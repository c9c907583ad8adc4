#ifndef ROTOR_TESTS_TRAINING_HF_EXPORT_H
#define ROTOR_TESTS_TRAINING_HF_EXPORT_H

/* The folder "out" in the scratch folder, to which a test exports a model. */

#include "option_words.h"
#include "tokenizer_fixtures.h"
#include "training/hf_folder.h"

#include "io/huggingface/json.h"

#include <math.h>

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
