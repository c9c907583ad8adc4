/* Parses the header of a GGUF file. */

#include "core/memory.h"
#include "core/path.h"
#include "io/gguf/gguf.h"
#include "io/gguf/private.h"
#include "io/huggingface/json.h"
#include "util/files.h"
#include "util/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST_COUNT = 65536,   /* of keys, and of tensors */
    MOST_ITEMS = 1 << 21, /* of a list that is kept */
    MOST_TEXT = 1 << 20,
    MOST_AXES = 4,
    LEAST_BYTES = 13, /* of a key: its length, type and a value of a byte; a tensor has more */
    ALIGNMENT = 32    /* by default */
};

/* Bytes of a value by kind; those of a text are its length. */
static const unsigned char sizes[RT_GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};

/* A file that is read from its beginning. The first error is kept; what is read after it is 0. */
typedef struct parsing {
    rt_safetensors *file;
    json_t *keys;
    uint64_t at, size; /* of the next byte, and of the file */
    char name[256];    /* of the key or tensor that is read */
    char text[MOST_TEXT + 1];
    rt_status status;
} parsing;

static void refuse_as(parsing *p, const char *message)
{
    const char *name = *p->name ? RT_QUOTED(p->name) : "the file";
    if (!p->status.code)
        p->status = rt_error(RT_CHECKPOINT, "%s: %s: %s", p->file->name, name, message);
}
#define refuse(p, ...) refuse_as(p, RT_PRINTED(RT_MESSAGE_SIZE, __VA_ARGS__))

static void take(parsing *p, void *bytes, size_t size)
{
    memset(bytes, 0, size);
    if (size > p->size - p->at)
        refuse(p, "the file ends at byte %" PRIu64 ", within its header", p->size);
    if (!p->status.code && fread(bytes, 1, size, p->file->stream) != size)
        refuse(p, "the file cannot be read at byte %" PRIu64, p->at);
    p->at += p->status.code ? 0 : size;
}

static uint64_t take_whole(parsing *p, size_t size)
{
    unsigned char bytes[8];
    take(p, bytes, size);
    return rt_little_endian(bytes, size);
}

/* Reads the number of things that take at least `least` bytes each. */
static uint64_t take_count(parsing *p, const char *things, uint64_t least, uint64_t most)
{
    const uint64_t count = take_whole(p, 8), left = (p->size - p->at) / least;
    if (count > left || count > most)
        refuse(p, "%" PRIu64 " %s are more than the %" PRIu64 " that there can be", count, things,
               left < most ? left : most);
    return p->status.code ? 0 : count;
}

/* Reads a text of less than `size` bytes: UTF-8 without a zero. */
static void take_text(parsing *p, char *text, size_t size)
{
    const size_t length = (size_t)take_count(p, "bytes of a text", 1, size - 1);
    take(p, text, length);
    text[length] = '\0';
    if (strlen(text) < length || rt_utf8_valid((unsigned char *)text, length) < length)
        refuse(p, "a text is not UTF-8, or has a zero");
}

/* Reads a value that is not a list. NULL after an error, or if the heap is exhausted. */
static json_t *take_value(parsing *p, uint64_t kind)
{
    double number = 0;
    unsigned char bytes[8];
    if (kind == RT_GGUF_TEXT) {
        take_text(p, p->text, sizeof p->text);
        return json_string(p->text);
    }
    const size_t size = sizes[kind];
    const uint64_t bits = take_whole(p, size), sign = (uint64_t)1 << (8 * size - 1);
    rt_put_little_endian(bytes, bits, sizeof bytes);
    switch (kind) {
    case RT_GGUF_FLAG:
        if (bits > 1)
            refuse(p, "its value is no 0 or 1");
        return json_boolean(bits);
    case RT_GGUF_FLOAT:
    case RT_GGUF_DOUBLE:
        rt_number_types[size == 4 ? RT_DTYPE_F32 : RT_DTYPE_F64].read(bytes, &number);
        if (!isfinite(number))
            refuse(p, "its value is no finite number");
        return json_real(number);
    case RT_GGUF_I8:
    case RT_GGUF_I16:
    case RT_GGUF_I32:
    case RT_GGUF_I64:
        return json_integer((json_int_t)((bits ^ sign) - sign));
    default:
        return json_integer(bits > INT64_MAX ? INT64_MAX : (json_int_t)bits);
    }
}

/* Reads a list. Texts and numbers of 4 bytes of a tokenizer are kept. */
static json_t *take_list(parsing *p)
{
    const uint64_t kind = take_whole(p, 4);
    const bool whole = kind == RT_GGUF_I32 || kind == RT_GGUF_U32;
    const bool kept = (whole || kind == RT_GGUF_TEXT) &&
                      !strncmp(p->name, RT_GGUF_TOKENIZER, strlen(RT_GGUF_TOKENIZER));
    if (kind >= RT_GGUF_KINDS || kind == RT_GGUF_LIST)
        refuse(p, "a list of values of type %" PRIu64 " is not read", kind);
    const uint64_t least = p->status.code ? 1 : sizes[kind];
    const uint64_t count = take_count(p, "items", least, kept ? MOST_ITEMS : INT64_MAX);
    json_t *list = json_array();
    if (!kept && kind != RT_GGUF_TEXT &&
        !fseeko(p->file->stream, (off_t)(count * least), SEEK_CUR)) {
        p->at += count * least;
        return list;
    }
    for (uint64_t i = 0; i < count && list && !p->status.code; i++) {
        json_t *item = take_value(p, kind);
        if (kept)
            rt_json_append(&list, item);
        else
            json_decref(item);
    }
    return list;
}

static void take_key(parsing *p)
{
    *p->name = '\0';
    take_text(p, p->name, sizeof p->name);
    const uint64_t kind = take_whole(p, 4);
    if (kind >= RT_GGUF_KINDS)
        refuse(p, "a value of type %" PRIu64 " is none of the format", kind);
    if (p->status.code)
        return;
    json_t *value = kind == RT_GGUF_LIST ? take_list(p) : take_value(p, kind);
    if (json_object_get(p->keys, p->name))
        refuse(p, "the key occurs twice");
    if (json_object_set_new(p->keys, p->name, value) && !p->status.code)
        p->status = rt_out_of_memory("keys of a file");
}

/* Reads name, shape, type and place of a tensor. The format has the last axis first. */
static void take_tensor(parsing *p, rt_safetensor *t, uint64_t *shape, char *name)
{
    *p->name = '\0';
    take_text(p, p->name, RT_NAME_SIZE);
    const uint64_t axes = take_whole(p, 4);
    if (axes < 1 || axes > MOST_AXES)
        refuse(p, "it has %" PRIu64 " axes, from 1 to %d are read", axes, MOST_AXES);
    *t = (rt_safetensor){.file = p->file,
                         .name = strcpy(name, p->name),
                         .dtype = RT_DTYPE_F32,
                         .axes = (int)axes,
                         .shape = shape,
                         .count = 1};
    for (uint64_t i = axes; i-- && !p->status.code;) {
        shape[i] = take_whole(p, 8);
        if (!shape[i] || __builtin_mul_overflow(t->count, shape[i], &t->count) ||
            t->count > INT64_MAX / sizeof(double))
            refuse(p, "its shape is empty, or overflows");
    }
    const uint64_t type = take_whole(p, 4);
    t->type = rt_gguf_type((uint32_t)type);
    t->begin = take_whole(p, 8);
    if (!t->type)
        refuse(p, "its type has the number %" PRIu64 "; rotor reads " RT_GGUF_TYPES, type);
    if (p->status.code)
        return;
    const uint64_t numbers = (uint64_t)t->type->numbers;
    if (shape[axes - 1] % numbers)
        refuse(p, "its rows of %" PRIu64 " numbers are no blocks of %" PRIu64 ", as %s has",
               shape[axes - 1], numbers, t->type->name);
    t->bytes = t->count / numbers * (uint64_t)t->type->bytes;
}

static int by_place(const void *one, const void *other)
{
    const rt_safetensor *a = one, *b = other;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Checks the places of the tensors, behind the header, and that no name occurs twice. */
static void check_tensors(parsing *p)
{
    rt_safetensors *file = p->file;
    const json_t *key = json_object_get(p->keys, "general.alignment");
    const json_int_t step = key ? json_integer_value(key) : ALIGNMENT;
    strcpy(p->name, key ? "general.alignment" : "");
    if (step < 1 || step > UINT32_MAX || step & (step - 1))
        refuse(p, "it must be a power of 2");
    const uint64_t mask = (uint64_t)step - 1, start = (p->at + mask) & ~mask;
    uint64_t end = 0;
    qsort(file->tensors, file->count, sizeof *file->tensors, by_place);
    for (size_t i = 0; i < file->count && !p->status.code; i++) {
        rt_safetensor *t = file->tensors + i;
        strcpy(p->name, t->name);
        if (t->begin & mask)
            refuse(p, "its place %" PRIu64 " is no multiple of %" PRIu64, t->begin, mask + 1);
        if (t->begin < end)
            refuse(p, "it overlaps another one");
        if (start > p->size || t->begin > p->size - start || t->bytes > p->size - start - t->begin)
            refuse(p, "it does not end in the file");
        end = t->begin + t->bytes;
        t->begin += start;
    }
    rt_safetensors_sort(file);
    for (size_t i = 1; i < file->count; i++)
        if (!strcmp(file->tensors[i].name, file->tensors[i - 1].name)) {
            strcpy(p->name, file->tensors[i].name);
            refuse(p, "the tensor occurs twice");
        }
}

static void parse(parsing *p)
{
    rt_safetensors *file = p->file;
    const uint64_t magic = take_whole(p, 4), version = take_whole(p, 4);
    if (magic != RT_GGUF_MAGIC || version < 2 || version > 3)
        refuse(p, "not of GGUF version 2 or 3, little-endian");
    const uint64_t tensors = take_count(p, "tensors", LEAST_BYTES, MOST_COUNT);
    const uint64_t keys = take_count(p, "keys", LEAST_BYTES, MOST_COUNT);
    for (uint64_t i = 0; i < keys && !p->status.code; i++)
        take_key(p);
    file->tensors = rt_alloc(tensors, sizeof *file->tensors);
    file->shapes = rt_alloc(tensors * MOST_AXES, sizeof *file->shapes);
    file->names = rt_alloc(tensors, RT_NAME_SIZE);
    if (!p->status.code && !(file->tensors && file->shapes && file->names))
        p->status = rt_out_of_memory("a list of tensors");
    for (size_t *n = &file->count; *n < tensors && !p->status.code; ++*n)
        take_tensor(p, file->tensors + *n, file->shapes + *n * MOST_AXES,
                    file->names + *n * RT_NAME_SIZE);
    if (!p->status.code)
        check_tensors(p);
}

bool rt_is_gguf(const char *path)
{
    unsigned char begin[4] = {0};
    FILE *stream = rt_open_regular(path);
    const size_t size = stream ? fread(begin, 1, sizeof begin, stream) : 0;
    if (stream)
        fclose(stream);
    return size == sizeof begin && rt_little_endian(begin, sizeof begin) == RT_GGUF_MAGIC;
}

rt_status rt_gguf_open(rt_gguf *g, const char *path)
{
    struct stat facts;
    RT_OWNED parsing *p = rt_alloc(1, sizeof *p);
    *g = (rt_gguf){rt_alloc(1, sizeof *g->tensors), json_object()};
    if (g->tensors)
        g->tensors->name = rt_copy_text(rt_path_name(path));
    RT_TRY(rt_allocated(p && g->tensors && g->tensors->name && g->keys, "a GGUF file"));
    p->file = g->tensors;
    p->keys = g->keys;
    p->file->stream = rt_open_regular(path);
    if (p->file->stream && !fstat(fileno(p->file->stream), &facts))
        p->size = (uint64_t)facts.st_size;
    else
        refuse(p, "cannot be opened: %s", errno == EINVAL ? "not a regular file" : strerror(errno));
    parse(p);
    return p->status;
}

void rt_gguf_close(rt_gguf *g)
{
    rt_safetensors_close(g->tensors);
    json_decref(g->keys);
    *g = (rt_gguf){0};
}
