/* The tokens of a folder that end a text. */

#include "io/huggingface/private.h"

#include "io/huggingface/folder_file.h"
#include "io/huggingface/json.h"

#define KEY "eos_token_id"

/* Adds the id; false if it is none of the model's, or there are too many. */
static bool add_end(rt_huggingface *there, const json_t *id)
{
    rt_end_ids *ends = &there->ends;
    const json_int_t number = json_integer_value(id);
    if (!json_is_integer(id) || number < 0 || number >= there->options.vocab ||
        ends->count == RT_MOST_ENDS)
        return false;
    ends->ids[ends->count++] = (int32_t)number;
    return true;
}

/* Takes all of what the key of a file says, or nothing. */
static void take_ends(rt_huggingface *there, const char *name, const json_t *value)
{
    bool good = true;
    if (!json_is_array(value))
        good = add_end(there, value);
    for (size_t i = 0; i < json_array_size(value) && good; i++)
        good = add_end(there, json_array_get(value, i));
    if (good)
        return;
    there->ends.count = 0;
    rt_writer_add(&there->files->warnings,
                  "%s: " KEY " must be a whole number from 0 to %d, or a list of at most %d of "
                  "them; it is ignored: no token ends a text\n",
                  name, there->options.vocab - 1, RT_MOST_ENDS);
}

rt_status rt_huggingface_read_ends(rt_huggingface *there, const char *folder, const json_t *config)
{
    json_t *own = NULL;
    if (rt_folder_has(folder, RT_HF_GENERATE)) {
        rt_status status = rt_json_read_file(&own, folder, RT_HF_GENERATE);
        if (status.code)
            return status;
    }
    const json_t *first = json_object_get(own, KEY), *second = json_object_get(config, KEY);
    if (first && !json_is_null(first))
        take_ends(there, RT_HF_GENERATE, first);
    else if (second && !json_is_null(second))
        take_ends(there, RT_HF_CONFIG, second);
    json_decref(own);
    return rt_ok();
}
