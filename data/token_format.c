#include "data/token_format.h"

#include "core/path.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IS_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

/* The first bytes of a file, as many as there are. */
static rt_status read_start(const rt_token_bytes *b, unsigned char *to, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        const ssize_t n = pread(b->file, to + *got, size - *got, (off_t)*got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rt_error(RT_DATA, "%s: %s (%s)", b->name, strerror(errno), b->key);
        if (n == 0)
            break;
        *got += (size_t)n;
    }
    return rt_ok();
}

/* ---- .bin ---- */

enum { BIN_HEADER = 1024 };

static uint32_t little_at(const unsigned char *bytes, int i)
{
    const unsigned char *at = bytes + 4 * i;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Header of a file of llm.c. */
typedef struct llmc_header {
    uint32_t magic, version; /* version 0: such a file holds no tokens */
    uint64_t width;          /* bytes of an id */
    const char *what;
} llmc_header;

static const llmc_header *llmc_header_of(uint32_t magic)
{
    static const llmc_header headers[] = {{20240520, 1, 2, "tokens"},
                                          {20240801, 7, 4, "tokens"},
                                          {20240326, 0, 0, "a model"},
                                          {20240803, 0, 0, "a model"},
                                          {20240327, 0, 0, "a state"},
                                          {20240328, 0, 0, "a tokenizer"},
                                          {20240522, 0, 0, "an evaluation"}};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (headers[i].magic == magic)
            return &headers[i];
    return NULL;
}

/* Finds the width of the ids behind a header of llm.c; 0: the file has no such header. RT_DATA for
 * a header that rotor does not read. */
static rt_status read_llmc_header(const rt_token_bytes *b, const unsigned char *start, size_t got,
                                  uint64_t *width)
{
    const llmc_header *header = got >= 8 ? llmc_header_of(little_at(start, 0)) : NULL;
    *width = header ? header->width : 0;
    if (!header)
        return rt_ok();
    if (!header->version)
        return rt_error(RT_DATA, "%s: the file is %s of llm.c and holds no token ids (%s)", b->name,
                        header->what, b->key);
    if (little_at(start, 1) != header->version)
        return rt_error(RT_DATA,
                        "%s: the file has a header of llm.c (magic number %" PRIu32
                        ") of version %" PRIu32 "; rotor reads version %" PRIu32 " (%s)",
                        b->name, header->magic, little_at(start, 1), header->version, b->key);
    if (got < BIN_HEADER)
        return rt_error(RT_DATA,
                        "%s: the file is cut short: a header of llm.c has %d bytes, the file has "
                        "%zu (%s)",
                        b->name, BIN_HEADER, got, b->key);
    return rt_ok();
}

static rt_status find_in_bin(const rt_token_bytes *b, rt_token_place *place)
{
    unsigned char start[BIN_HEADER];
    uint64_t width = 0;
    size_t got;
    rt_status status = read_start(b, start, sizeof start, &got);
    if (!status.code)
        status = read_llmc_header(b, start, got, &width);
    if (status.code)
        return status;
    const uint64_t size = (uint64_t)b->size;
    *place = (rt_token_place){.width = 2, .is_unsigned = 1, .in_place = 1};
    place->swapped = !IS_LITTLE_ENDIAN;
    if (width) {
        place->width = width;
        place->offset = BIN_HEADER;
        place->count = little_at(start, 2);
        if (place->count * width != size - BIN_HEADER)
            return rt_error(RT_DATA,
                            "%s: the header says %" PRIu64 " ids of %" PRIu64 " bytes; %" PRIu64
                            " bytes follow it (%s)",
                            b->name, place->count, width, size - BIN_HEADER, b->key);
        return rt_ok();
    }
    if (size % 2)
        return rt_error(RT_DATA,
                        "%s: a .bin file holds ids of 2 bytes; it has an odd number of bytes, "
                        "%" PRIu64 " (%s)",
                        b->name, size, b->key);
    place->count = size / 2;
    return rt_ok();
}

/* ---- .npy ---- */

static const char npy_magic[] = "\x93NUMPY";
enum { NPY_MAGIC = 6, NPY_VERSIONS = 3, NPY_START = 10, NPY_TEXT = 4096 };

static rt_status not_npy(const rt_token_bytes *b, const char *why)
{
    return rt_error(RT_DATA, "%s: %s (%s)", b->name, why, b->key);
}

/* Returns the text behind 'name' in the dictionary of the header; NULL if it is not there. */
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

/* Returns the length of a type for a message: a word in quotes with them, or the list of the fields
 * of a structure, shortened. */
static int length_of_type(const char *type)
{
    enum { SHOWN = 60 };
    if (!type || (*type != '\'' && *type != '['))
        return SHOWN;
    const char *end = strchr(type + 1, *type == '[' ? ']' : '\'');
    return end && end - type < SHOWN ? (int)(end - type) + 1 : SHOWN;
}

static rt_status read_type(const rt_token_bytes *b, const char *header, rt_token_place *place)
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
    return rt_error(RT_DATA,
                    "%s: the array must be of uint16, uint32, int32 or int64; its type is %.*s "
                    "(%s)",
                    b->name, length_of_type(type), type ? type : "missing", b->key);
}

static rt_status read_shape(const rt_token_bytes *b, const char *header, rt_token_place *place)
{
    const char *shape = value_of(header, "shape");
    char *end;
    if (!shape || *shape != '(' || !isdigit((unsigned char)shape[1]))
        return not_npy(b, "the array must have one dimension");
    errno = 0;
    const unsigned long long count = strtoull(shape + 1, &end, 10);
    if (errno || *end != ',' || end[1 + strspn(end + 1, " ")] != ')')
        return not_npy(b, "the array must have one dimension");
    const uint64_t left = (uint64_t)b->size - place->offset;
    if (count > left / place->width)
        return rt_error(RT_DATA, "%s: the file is cut short: of %llu ids it holds %" PRIu64 " (%s)",
                        b->name, count, left / place->width, b->key);
    place->count = count;
    return rt_ok();
}

static rt_status find_in_npy(const rt_token_bytes *b, rt_token_place *place)
{
    unsigned char start[NPY_START + 2 + NPY_TEXT + 1];
    size_t got;
    rt_status status = read_start(b, start, sizeof start - 1, &got);
    if (status.code)
        return status;
    if (got < NPY_START + 2 || memcmp(start, npy_magic, NPY_MAGIC) != 0)
        return not_npy(b, "the file is not a .npy file of NumPy");
    if (start[NPY_MAGIC] < 1 || start[NPY_MAGIC] > NPY_VERSIONS || start[NPY_MAGIC + 1])
        return rt_error(RT_DATA,
                        "%s: the file is a .npy file of version %d.%d; rotor reads versions "
                        "1.0 to %d.0 (%s)",
                        b->name, start[NPY_MAGIC], start[NPY_MAGIC + 1], NPY_VERSIONS, b->key);
    const size_t before = start[NPY_MAGIC] == 1 ? NPY_START : NPY_START + 2;
    size_t size = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[NPY_MAGIC] > 1)
        size |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    if (size > NPY_TEXT || before + size > got)
        return not_npy(b, "the header of the .npy file is damaged");
    start[before + size] = '\0';
    *place = (rt_token_place){.in_place = 1, .offset = before + size};
    status = read_type(b, (const char *)start + before, place);
    return status.code ? status : read_shape(b, (const char *)start + before, place);
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

/* ---- all ---- */

const rt_token_format *rt_token_format_of(const char *path)
{
    static const rt_token_format formats[] = {{".bin", find_in_bin}, {".npy", find_in_npy}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (rt_path_ends_in(path, formats[i].ending))
            return &formats[i];
    return NULL;
}

/* ---- writing ---- */

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

/* The number of ids is known at the end; the header has as many bytes as before. */
static rt_status write_header(const rt_token_writer *w)
{
    unsigned char bytes[RT_NPY_HEADER];
    rt_npy_header_of_ids(bytes, w->width, w->count);
    const ssize_t written = pwrite(w->file.descriptor, bytes, sizeof bytes, 0);
    return written == (ssize_t)sizeof bytes
               ? rt_ok()
               : rt_error(RT_IO, "cannot write %s: %s", w->file.temporary, strerror(errno));
}

rt_status rt_token_writer_close(rt_token_writer *w, rt_status status)
{
    if (!status.code && w->header)
        status = write_header(w);
    return rt_durable_close(&w->file, status);
}
