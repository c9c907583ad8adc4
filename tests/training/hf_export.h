#ifndef ROTOR_TESTS_TRAINING_HF_EXPORT_H
#define ROTOR_TESTS_TRAINING_HF_EXPORT_H

/* The folder "out" in the scratch folder, to which a test exports a model. */

#include "option_words.h"
#include "training/hf_folder.h"

#include "io/huggingface/json.h"

#include <math.h>

static inline rt_transformer *new_model(const rt_transformer_options *o)
{
    rt_transformer *model;
    assert_status(rt_transformer_new(&model, o, 3, NULL), RT_OK, "");
    return owned(model, free_model);
}

/* A model of the words of option_words.h, no two of whose parameters are alike. Their numbers are
 * floats, as in a file; factors of heads are powers of 2, by which a float is multiplied exactly.
 */
static inline rt_transformer *shaken_model(const rt_transformer_options *o)
{
    rt_transformer *model = new_model(o);
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

static inline rt_status write_model(const rt_transformer *model)
{
    return rt_huggingface_write(in_scratch("out"), model,
                                &(rt_huggingface_export){.length = 8, .overwrite = true});
}

static inline rt_transformer *written_model(const char *words)
{
    rt_transformer *model = model_of_words(words);
    assert_status(write_model(model), RT_OK, "");
    return model;
}

static inline json_t *read_config(void)
{
    json_t *json;
    assert_status(rt_json_read_file(&json, in_scratch("out"), "config.json"), RT_OK, "");
    return json;
}

static inline void change_file(const char *name, const char *from, const char *to)
{
    char text[8192];
    read_into(text, sizeof text, name);
    char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s has no %s", name, from);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
    write_bytes(in_scratch(name), text, strlen(text));
}

#endif
