/* Formats of token ids: lists in memory, files of nanoGPT, llm.c and NumPy, and the writer. */

#include "data/token_formats.h"

#include "core/memory.h"
#include "util/files.h"
#include "util/npy.h"
#include "util/number.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static rt_status find_in_bin(rt_token_input *in, rt_token_place *place)
{
    unsigned char start[BIN_HEADER];
    const uint64_t size = (uint64_t)in->size;
    size_t got;
    RT_TRY(read_start(in, start, sizeof start, &got));
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

enum { NPY_MAGIC = RT_NPY_MAGIC, NPY_VERSIONS = 3, NPY_START = RT_NPY_START, NPY_TEXT = 4096 };

/* Returns the text after 'name' in the header's dictionary, NULL if it is missing. */
static const char *value_of(const char *header, const char *name)
{
    const char *quoted = RT_PRINTED(32, "'%s'", name), *at = strstr(header, quoted);
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

static rt_status find_in_npy(rt_token_input *in, rt_token_place *place)
{
    unsigned char start[NPY_START + 2 + NPY_TEXT + 1];
    size_t got;
    RT_TRY(read_start(in, start, sizeof start - 1, &got));
    if (got < NPY_START + 2 || memcmp(start, rt_npy_magic, NPY_MAGIC) != 0)
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
    RT_TRY(read_type(in, (const char *)start + before, place));
    const char *shape = value_of((const char *)start + before, "shape");
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

static void npy_header(unsigned char *header, size_t width, size_t count)
{
    rt_npy_header(header, width == sizeof(uint16_t) ? "u2" : "i4", count, 0);
}

const rt_token_format rt_bin_format = {.endings = {".bin"},
                                       .most_width = sizeof(uint16_t),
                                       .find = find_in_bin};
const rt_token_format rt_npy_format = {.endings = {".npy"},
                                       .most_width = sizeof(int32_t),
                                       .find = find_in_npy,
                                       .header = npy_header};

const rt_token_format *rt_token_format_of(const char *path)
{
    static const rt_token_format *const formats[] = {&rt_bin_format, &rt_npy_format,
                                                     &rt_hdf5_format};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int k = 0; k < 2 && formats[i]->endings[k]; k++)
            if (rt_path_ends_in(path, formats[i]->endings[k]))
                return formats[i];
    return NULL;
}

static rt_status check_place(const rt_token_input *in, const rt_token_place *p)
{
    const uint64_t size = (uint64_t)in->size;
    const bool known =
        p->width == sizeof(uint16_t) || p->width == sizeof(int32_t) || p->width == sizeof(int64_t);
    if (!p->count)
        return rt_token_refuse(in, "the file holds no id");
    if (!known || p->count > RT_TOKENS_LIMIT ||
        (p->in_place && (p->offset > size || p->count > (size - p->offset) / p->width)))
        return rt_token_refuse(in, "the file is damaged: ids lie outside of it");
    return rt_ok();
}

rt_status rt_token_input_open(rt_token_input *in, rt_token_place *place)
{
    in->file = -1;
    snprintf(in->name, sizeof in->name, "%.500s%s%.200s", in->path, *in->dataset ? ":" : "",
             in->dataset);
    RT_TRY(rt_file_measure(in->key, in->path, &in->size));
    in->file = open(in->path, O_RDONLY | O_CLOEXEC);
    if (in->file < 0)
        return rt_error(RT_DATA, "%.800s: %s (%s)", in->path, strerror(errno), in->key);
    RT_TRY(in->format->find(in, place));
    RT_TRY(check_place(in, place));
    return place->in_place ? rt_ok() : in->format->decode(in, place);
}

rt_status rt_token_writer_open(rt_token_writer *w, const char *path, const rt_token_format *format,
                               int vocab)
{
    unsigned char header[RT_NPY_HEADER];
    *w = (rt_token_writer){.format = format, .path = path, .width = rt_id_width(vocab)};
    if (w->width > format->most_width)
        return rt_error(RT_CONFIG,
                        "%.800s: a %s file holds ids of 16 bits, and the vocabulary has %d ids; "
                        "give the file a name that ends in .npy or .h5",
                        path, format->endings[0], vocab);
    rt_status status = rt_durable_open(&w->file, RT_PRINTED(RT_PATH_SIZE, "%s%s", path,
                                                            format->copy ? ".ids" : ""));
    if (status.code || !format->header)
        return status;
    format->header(header, w->width, 0);
    return rt_durable_write(&w->file, header, sizeof header);
}

rt_status rt_token_writer_take(void *writer, rt_id_list *ids)
{
    rt_token_writer *w = writer;
    w->count += ids->count;
    return rt_durable_write(&w->file, ids->ids, ids->count * w->width);
}

/* Copies the ids to a file of a format that needs their number in advance. */
static rt_status copy_ids(rt_token_writer *w, rt_status status)
{
    rt_durable_file file;
    status = rt_durable_sync(&w->file, status);
    if (!status.code) {
        status = rt_durable_open(&file, w->path);
        if (!status.code && !w->format->copy(file.temporary, w))
            status = rt_error(RT_IO, "cannot write %.800s", file.temporary);
        status = rt_durable_close(&file, status);
    }
    rt_durable_discard(&w->file);
    return status;
}

/* Rewrites the header with the number of ids. Its size does not change. */
rt_status rt_token_writer_close(rt_token_writer *w, rt_status status)
{
    unsigned char header[RT_NPY_HEADER];
    if (w->format->copy)
        return copy_ids(w, status);
    if (!status.code && w->format->header) {
        w->format->header(header, w->width, w->count);
        if (pwrite(w->file.descriptor, header, sizeof header, 0) != (ssize_t)sizeof header)
            status = rt_error(RT_IO, "cannot write %s: %s", w->file.temporary, strerror(errno));
    }
    return rt_durable_close(&w->file, status);
}
