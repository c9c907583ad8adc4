#include "io/huggingface/safetensors_header.h"

#include "core/memory.h"
#include "io/huggingface/json.h"
#include "text/quote.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WORD(value, word, bits) word,
#define BITS(value, word, bits) bits,
const char *const rt_dtype_words[] = {RT_DTYPES(WORD) NULL};
const int rt_dtype_bits[] = {RT_DTYPES(BITS) 0};

static const char metadata_key[] = "__metadata__";

typedef struct parsing {
    const char *name;   /* of the file */
    const char *tensor; /* in question */
    uint64_t room;
} parsing;

/* ---- one tensor ---- */

static rt_status refuse(const parsing *p, const char *what)
{
    char quoted[RT_QUOTE_SIZE];
    return rt_error(RT_CHECKPOINT, "%s: tensor %s: %s", p->name, rt_quote(quoted, p->tensor), what);
}

/* A whole number from 0 on; Jansson tells 20 from 20.0. */
static bool read_whole(const json_t *json, uint64_t *value)
{
    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return false;
    *value = (uint64_t)json_integer_value(json);
    return true;
}

static rt_status read_dtype(const parsing *p, const json_t *json, rt_dtype *dtype)
{
    const char *word = json_string_value(json);
    for (int i = 0; word && rt_dtype_words[i]; i++)
        if (!strcmp(word, rt_dtype_words[i])) {
            *dtype = (rt_dtype)i;
            return rt_ok();
        }
    return refuse(p, word ? "its dtype is none of the format's" : "it has no dtype");
}

/* The number of elements and their bytes. As in the format's own library, an axis of 0 excuses
 * those behind it, however long, but not those before it. */
static rt_status measure(const parsing *p, rt_safetensor *t)
{
    uint64_t bits;
    t->count = 1;
    for (int i = 0; i < t->axes; i++)
        if (__builtin_mul_overflow(t->count, t->shape[i], &t->count))
            return refuse(p, "its shape overflows");
    if (__builtin_mul_overflow(t->count, (uint64_t)rt_dtype_bits[t->dtype], &bits))
        return refuse(p, "its shape overflows");
    if (bits % 8)
        return refuse(p, "it does not end with a byte");
    t->bytes = bits / 8;
    return rt_ok();
}

static rt_status read_shape(const parsing *p, const json_t *json, rt_safetensor *t, uint64_t *shape)
{
    if (!json_is_array(json))
        return refuse(p, "its shape is no list");
    t->axes = (int)json_array_size(json);
    t->shape = shape;
    for (int i = 0; i < t->axes; i++)
        if (!read_whole(json_array_get(json, (size_t)i), shape + i))
            return refuse(p, "its shape must have whole numbers from 0 on");
    return measure(p, t);
}

static rt_status read_offsets(const parsing *p, const json_t *json, rt_safetensor *t)
{
    uint64_t end;
    if (json_array_size(json) != 2 || !read_whole(json_array_get(json, 0), &t->begin) ||
        !read_whole(json_array_get(json, 1), &end))
        return refuse(p, "its data_offsets must be two whole numbers from 0 on");
    if (end < t->begin || end > p->room)
        return refuse(p, "its data_offsets are not in the file");
    if (end - t->begin != t->bytes)
        return refuse(p, "its data_offsets do not fit its shape");
    return rt_ok();
}

static rt_status read_tensor(const parsing *p, const json_t *json, rt_safetensor *t,
                             uint64_t *shape)
{
    if (!json_is_object(json))
        return refuse(p, "it must be an object, in braces");
    rt_status status = read_dtype(p, json_object_get(json, "dtype"), &t->dtype);
    if (!status.code)
        status = read_shape(p, json_object_get(json, "shape"), t, shape);
    if (!status.code)
        status = read_offsets(p, json_object_get(json, "data_offsets"), t);
    return status;
}

/* ---- all of them ---- */

static int by_place(const void *one, const void *other)
{
    const rt_safetensor *a = one, *b = other;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* what is empty comes first */
}

static int by_name(const void *one, const void *other)
{
    const rt_safetensor *a = one, *b = other;
    return strcmp(a->name, b->name);
}

/* In the order of their places each must begin where the one before it ends. */
static rt_status check_cover(const parsing *p, rt_safetensors_list *list)
{
    uint64_t end = 0;
    qsort(list->tensors, list->count, sizeof *list->tensors, by_place);
    for (size_t i = 0; i < list->count; i++) {
        const rt_safetensor *t = list->tensors + i;
        const parsing here = {.name = p->name, .tensor = t->name};
        if (t->begin != end)
            return refuse(&here, t->begin < end ? "it overlaps another one"
                                                : "there is a hole before its numbers");
        end += t->bytes;
    }
    if (end != p->room)
        return rt_error(RT_CHECKPOINT,
                        "%s: its tensors take %" PRIu64 " bytes, behind its header are %" PRIu64,
                        p->name, end, p->room);
    qsort(list->tensors, list->count, sizeof *list->tensors, by_name);
    return rt_ok();
}

static rt_status check_metadata(const parsing *p, json_t *json)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json) && !json_is_null(json))
        return rt_error(RT_CHECKPOINT, "%s: %s must be an object", p->name, metadata_key);
    json_object_foreach(json, key, value)
    {
        char quoted[RT_QUOTE_SIZE];
        if (!json_is_string(value))
            return rt_error(RT_CHECKPOINT, "%s: %s: %s must be a string", p->name, metadata_key,
                            rt_quote(quoted, key));
    }
    return rt_ok();
}

/* What the list will hold: tensors, numbers of shapes, bytes of names. */
static void count_all(json_t *header, size_t *tensors, size_t *axes, size_t *letters)
{
    const char *key;
    json_t *value;
    *tensors = *axes = *letters = 0;
    json_object_foreach(header, key, value)
    {
        ++*tensors;
        *axes += json_array_size(json_object_get(value, "shape"));
        *letters += strlen(key) + 1;
    }
}

static rt_status read_all(parsing *p, json_t *header, rt_safetensors_list *list)
{
    const char *key;
    json_t *value;
    uint64_t *shape = list->shapes;
    char *name = list->names;
    json_object_foreach(header, key, value)
    {
        rt_status status;
        if (!strcmp(key, metadata_key)) {
            status = check_metadata(p, value);
        } else {
            rt_safetensor *t = list->tensors + list->count++;
            t->name = strcpy(name, key);
            p->tensor = t->name;
            status = read_tensor(p, value, t, shape);
            name += strlen(key) + 1;
            shape += t->axes;
        }
        if (status.code)
            return status;
    }
    return check_cover(p, list);
}

rt_status rt_safetensors_parse(rt_safetensors_list *list, const char *name, char *header,
                               size_t size, uint64_t room)
{
    parsing p = {.name = name, .room = room};
    size_t tensors, axes, letters;
    json_t *json;
    *list = (rt_safetensors_list){0};
    rt_status status = rt_json_read(&json, name, header, size);
    if (status.code)
        return status;
    count_all(json, &tensors, &axes, &letters);
    list->tensors = rt_alloc(tensors, sizeof *list->tensors);
    list->shapes = rt_alloc(axes, sizeof *list->shapes);
    list->names = rt_alloc(letters, 1);
    if (list->tensors && list->shapes && list->names)
        status = read_all(&p, json, list);
    else
        status = rt_out_of_memory("the header of a safetensors file");
    json_decref(json);
    if (status.code)
        rt_safetensors_list_free(list);
    return status;
}

void rt_safetensors_list_free(rt_safetensors_list *list)
{
    rt_free(list->tensors);
    rt_free(list->shapes);
    rt_free(list->names);
    *list = (rt_safetensors_list){0};
}
