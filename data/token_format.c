#include "data/token_format.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/files.h"
#include "text/number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IS_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

size_t rt_id_width(int vocab)
{
    return vocab <= UINT16_MAX + 1 ? sizeof(uint16_t) : sizeof(int32_t);
}

void rt_id_list_reserve(rt_id_list *list, size_t capacity)
{
    list->failed |= !rt_grow(&list->ids, &list->capacity, capacity, list->width);
}

void rt_id_list_add(void *context, int32_t id)
{
    rt_id_list *list = context;
    if (list->count == list->capacity)
        rt_id_list_reserve(list, list->capacity + 1);
    if (list->failed)
        return;
    if (list->width == sizeof(uint16_t))
        ((uint16_t *)list->ids)[list->count++] = (uint16_t)id;
    else
        ((int32_t *)list->ids)[list->count++] = id;
}

void rt_id_list_free(rt_id_list *list)
{
    rt_free(list->ids);
    *list = (rt_id_list){.width = list->width};
}

rt_status rt_token_refuse(const rt_token_input *in, const char *format, ...)
{
    char fact[RT_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fact, sizeof fact, format, arguments);
    va_end(arguments);
    return rt_error(RT_DATA, "%s: %s (%s)", in->name, fact, in->key);
}

/* Reads up to `size` bytes from the start of a file. */
static rt_status read_start(const rt_token_input *in, unsigned char *to, size_t size, size_t *got)
{
    const ssize_t n = rt_read_at(in->file, to, size, 0);
    *got = n < 0 ? 0 : (size_t)n;
    return n < 0 ? rt_token_refuse(in, "%s", strerror(errno)) : rt_ok();
}

enum { BIN_HEADER = 1024 };

static uint32_t little_at(const unsigned char *bytes, int i)
{
    return (uint32_t)rt_little_endian(bytes + 4 * i, 4);
}

/* Header of a file of llm.c. */
typedef struct llmc_header {
    uint32_t magic, version; /* version 0: not a file of tokens */
    uint64_t width;          /* bytes per id */
    const char *what;
} llmc_header;

/* Returns the llm.c header with the magic number of a file, NULL if there is none. */
static const llmc_header *llmc_header_of(const unsigned char *start, size_t got)
{
    static const llmc_header headers[] = {{20240520, 1, 2, "tokens"},
                                          {20240801, 7, 4, "tokens"},
                                          {20240326, 0, 0, "a model"},
                                          {20240803, 0, 0, "a model"},
                                          {20240327, 0, 0, "a state"},
                                          {20240328, 0, 0, "a tokenizer"},
                                          {20240522, 0, 0, "an evaluation"}};
    for (size_t i = 0; got >= 8 && i < sizeof headers / sizeof *headers; i++)
        if (headers[i].magic == little_at(start, 0))
            return &headers[i];
    return NULL;
}

static rt_status find_in_bin(const rt_token_input *in, rt_token_place *place)
{
    unsigned char start[BIN_HEADER];
    const uint64_t size = (uint64_t)in->size;
    size_t got;
    rt_status status = read_start(in, start, sizeof start, &got);
    if (status.code)
        return status;
    const llmc_header *header = llmc_header_of(start, got);
    *place = (rt_token_place){.width = header ? header->width : 2,
                              .is_unsigned = 1,
                              .in_place = 1,
                              .swapped = !IS_LITTLE_ENDIAN,
                              .offset = header ? BIN_HEADER : 0};
    if (!header) {
        place->count = size / 2;
        return size % 2 == 0 ? rt_ok()
                             : rt_token_refuse(in,
                                               "a .bin file holds ids of 2 bytes; it has an odd "
                                               "number of bytes, %" PRIu64,
                                               size);
    }
    if (!header->version)
        return rt_token_refuse(in, "the file is %s of llm.c and holds no token ids", header->what);
    if (little_at(start, 1) != header->version)
        return rt_token_refuse(in,
                               "the file has a header of llm.c (magic number %" PRIu32
                               ") of version %" PRIu32 "; rotor reads version %" PRIu32,
                               header->magic, little_at(start, 1), header->version);
    if (got < BIN_HEADER)
        return rt_token_refuse(in,
                               "the file is cut short: a header of llm.c has %d bytes, the file "
                               "has %zu",
                               BIN_HEADER, got);
    place->count = little_at(start, 2);
    if (place->count * place->width != size - BIN_HEADER)
        return rt_token_refuse(in,
                               "the header says %" PRIu64 " ids of %" PRIu64 " bytes; %" PRIu64
                               " bytes follow it",
                               place->count, place->width, size - BIN_HEADER);
    return rt_ok();
}

static const char npy_magic[] = "\x93NUMPY";
enum { NPY_MAGIC = 6, NPY_VERSIONS = 3, NPY_START = 10, NPY_TEXT = 4096 };

/* Returns the text after 'name' in the header's dictionary, NULL if it is missing. */
static const char *value_of(const char *header, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", name);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at++ != ':')
        return NULL;
    return at + strspn(at, " ");
}

/* Returns the length of a type to print: a quoted word, or a shortened list of fields. */
static int length_of_type(const char *type)
{
    enum { SHOWN = 60 };
    if (!type || (*type != '\'' && *type != '['))
        return SHOWN;
    const char *end = strchr(type + 1, *type == '[' ? ']' : '\'');
    return end && end - type < SHOWN ? (int)(end - type) + 1 : SHOWN;
}

static rt_status read_type(const rt_token_input *in, const char *header, rt_token_place *place)
{
    static const char *const types[] = {"u2", "u4", "i4", "i8"};
    const char *type = value_of(header, "descr");
    const bool ordered = type && *type == '\'' && strchr("<>=|", type[1]) && type[1];
    for (size_t i = 0; ordered && i < sizeof types / sizeof *types; i++) {
        if (strncmp(type + 2, types[i], 2) != 0 || type[4] != '\'')
            continue;
        place->is_unsigned = types[i][0] == 'u';
        place->width = (uint64_t)(types[i][1] - '0');
        place->swapped = type[1] == (IS_LITTLE_ENDIAN ? '>' : '<');
        return rt_ok();
    }
    return rt_token_refuse(in,
                           "the array must be of uint16, uint32, int32 or int64; its type is %.*s",
                           length_of_type(type), type ? type : "missing");
}

static rt_status read_shape(const rt_token_input *in, const char *header, rt_token_place *place)
{
    const char *shape = value_of(header, "shape");
    char *end;
    errno = 0;
    const bool begins = shape && *shape == '(' && isdigit((unsigned char)shape[1]);
    const unsigned long long count = begins ? strtoull(shape + 1, &end, 10) : 0;
    if (!begins || errno || *end != ',' || end[1 + strspn(end + 1, " ")] != ')')
        return rt_token_refuse(in, "the array must have one dimension");
    const uint64_t left = (uint64_t)in->size - place->offset;
    if (count > left / place->width)
        return rt_token_refuse(in, "the file is cut short: of %llu ids it holds %" PRIu64, count,
                               left / place->width);
    place->count = count;
    return rt_ok();
}

static rt_status find_in_npy(const rt_token_input *in, rt_token_place *place)
{
    unsigned char start[NPY_START + 2 + NPY_TEXT + 1];
    size_t got;
    rt_status status = read_start(in, start, sizeof start - 1, &got);
    if (status.code)
        return status;
    if (got < NPY_START + 2 || memcmp(start, npy_magic, NPY_MAGIC) != 0)
        return rt_token_refuse(in, "the file is not a .npy file of NumPy");
    if (start[NPY_MAGIC] < 1 || start[NPY_MAGIC] > NPY_VERSIONS || start[NPY_MAGIC + 1])
        return rt_token_refuse(in,
                               "the file is a .npy file of version %d.%d; rotor reads versions "
                               "1.0 to %d.0",
                               start[NPY_MAGIC], start[NPY_MAGIC + 1], NPY_VERSIONS);
    const size_t before = start[NPY_MAGIC] == 1 ? NPY_START : NPY_START + 2;
    const size_t size = (size_t)rt_little_endian(start + 8, before - 8);
    if (size > NPY_TEXT || before + size > got)
        return rt_token_refuse(in, "the header of the .npy file is damaged");
    start[before + size] = '\0';
    *place = (rt_token_place){.in_place = 1, .offset = before + size};
    status = read_type(in, (const char *)start + before, place);
    return status.code ? status : read_shape(in, (const char *)start + before, place);
}

rt_status rt_token_file_find(const rt_token_input *in, rt_token_place *place)
{
    return rt_path_ends_in(in->path, ".bin") ? find_in_bin(in, place) : find_in_npy(in, place);
}

void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns)
{
    char text[RT_NPY_HEADER], second[24] = "";
    const int size = RT_NPY_HEADER - NPY_START;
    if (columns)
        snprintf(second, sizeof second, " %zu", columns);
    const int length = snprintf(text, sizeof text,
                                "{'descr': '%c%s', 'fortran_order': False, 'shape': (%zu,%s), }",
                                IS_LITTLE_ENDIAN ? '<' : '>', type, rows, second);
    memset(header, ' ', RT_NPY_HEADER);
    memcpy(header, npy_magic, NPY_MAGIC);
    header[NPY_MAGIC] = 1;
    header[NPY_MAGIC + 1] = 0;
    header[8] = (unsigned char)size;
    header[9] = 0;
    memcpy(header + NPY_START, text, (size_t)length);
    header[RT_NPY_HEADER - 1] = '\n';
}

void rt_npy_header_of_ids(unsigned char header[RT_NPY_HEADER], size_t width, size_t count)
{
    rt_npy_header(header, width == sizeof(uint16_t) ? "u2" : "i4", count, 0);
}

rt_status rt_token_writer_open(rt_token_writer *w, const char *path, bool header, size_t width)
{
    unsigned char bytes[RT_NPY_HEADER];
    *w = (rt_token_writer){.header = header, .width = width};
    rt_status status = rt_durable_open(&w->file, path);
    rt_npy_header_of_ids(bytes, width, 0);
    return status.code || !header ? status : rt_durable_write(&w->file, bytes, sizeof bytes);
}

rt_status rt_token_writer_take(void *writer, rt_id_list *ids)
{
    rt_token_writer *w = writer;
    w->count += ids->count;
    return rt_durable_write(&w->file, ids->ids, ids->count * w->width);
}

/* Rewrites the header with the number of ids. Its size does not change. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status)
{
    unsigned char bytes[RT_NPY_HEADER];
    rt_npy_header_of_ids(bytes, w->width, w->count);
    if (!status.code && w->header &&
        pwrite(w->file.descriptor, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        status = rt_error(RT_IO, "cannot write %s: %s", w->file.temporary, strerror(errno));
    return rt_durable_close(&w->file, status);
}
