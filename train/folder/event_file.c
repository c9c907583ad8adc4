#include "train/folder/event_file.h"

#include "util/files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "events.out.tfevents."

enum { MOST_BYTES = 2048, TAG_SIZE = 64 };

/* Buffer for a part of a record. */
typedef struct bytes {
    unsigned char at[MOST_BYTES];
    size_t count;
} bytes;

/* Appends an integer in little-endian order. */
static void put_integer(bytes *b, uint64_t value, int size)
{
    for (int i = 0; i < size && b->count < MOST_BYTES; i++)
        b->at[b->count++] = (unsigned char)(value >> 8 * i);
}

/* Appends the CRC-32C (Castagnoli's polynomial, reflected; RFC 3720), masked as the format
 * requires: a plain checksum of bytes that contain checksums would be weak. */
static void put_checksum(bytes *b, const unsigned char *at, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    crc = ~crc;
    put_integer(b, (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8u), 4);
}

/* Protocol buffers: a field is its number and kind, and a value. */
enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH_AND_BYTES = 2, FOUR_BYTES = 5 };
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { EVENT_SESSION = 7, SESSION_STATUS = 1, SESSION_START = 1 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

static void put_varint(bytes *b, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_integer(b, value | 128, 1);
    put_integer(b, value, 1);
}

static void put_field(bytes *b, unsigned number, unsigned kind)
{
    put_varint(b, number << 3 | kind);
}

static void put_bytes(bytes *b, unsigned number, const void *at, size_t count)
{
    const unsigned char *from = at;
    put_field(b, number, LENGTH_AND_BYTES);
    put_varint(b, count);
    for (size_t i = 0; i < count; i++)
        put_integer(b, from[i], 1);
}

/* Writes an event with the current time, a step unless it is 0, and a field of bytes. A record is
 * the length of the event and the event, each followed by a checksum. */
static bool write_event(FILE *file, int64_t step, unsigned number, const void *at, size_t count)
{
    bytes event = {.count = 0}, head = {.count = 0}, tail = {.count = 0};
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    const double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(&bits, &seconds, sizeof bits);
    put_field(&event, EVENT_TIME, EIGHT_BYTES);
    put_integer(&event, bits, 8);
    if (step) {
        put_field(&event, EVENT_STEP, VARINT);
        put_varint(&event, (uint64_t)step);
    }
    put_bytes(&event, number, at, count);
    put_integer(&head, event.count, 8);
    put_checksum(&head, head.at, 8);
    put_checksum(&tail, event.at, event.count);
    return fwrite(head.at, 1, head.count, file) == head.count &&
           fwrite(event.at, 1, event.count, file) == event.count &&
           fwrite(tail.at, 1, tail.count, file) == tail.count && !fflush(file);
}

rt_status rt_event_file_open(rt_event_file *f, const char *folder, int64_t finished_steps)
{
    static const char version[] = "brain.Event:2";
    /* readers drop this step and later ones of earlier files */
    static const unsigned char start[] = {SESSION_STATUS << 3 | VARINT, SESSION_START};
    char host[64] = "", name[160], path[RT_PATH_SIZE];
    *f = (rt_event_file){.file = NULL};
    if (mkdir(folder, 0777) && errno != EEXIST)
        return rt_error(RT_IO, "%s: %s", folder, strerror(errno));
    if (!rt_is_own_folder(folder))
        return rt_error(RT_IO, "%s: not a folder", folder);
    if (gethostname(host, sizeof host - 1) || !*host || strchr(host, '/'))
        strcpy(host, "localhost");
    for (int number = 0; !f->file; number++) {
        snprintf(name, sizeof name, PREFIX "%" PRId64 ".%s.%ld.%d", (int64_t)time(NULL), host,
                 (long)getpid(), number);
        RT_TRY(rt_path_join(path, folder, name));
        f->file = fopen(path, "wbx");
        if (!f->file && errno != EEXIST)
            return rt_error(RT_IO, "%s: %s", path, strerror(errno));
    }
    f->failed = !write_event(f->file, 0, EVENT_VERSION, version, strlen(version)) ||
                (finished_steps &&
                 !write_event(f->file, finished_steps + 1, EVENT_SESSION, start, sizeof start));
    return rt_ok();
}

void rt_event_file_add(rt_event_file *f, int64_t step, const rt_scalar *values, int count)
{
    bytes summary = {.count = 0};
    if (!f->file || f->failed)
        return;
    for (int i = 0; i < count && i < RT_MOST_SCALARS; i++) {
        bytes value = {.count = 0};
        const float x = (float)values[i].value;
        uint32_t bits;
        if (!isfinite(x))
            continue;
        put_bytes(&value, VALUE_TAG, values[i].tag, strnlen(values[i].tag, TAG_SIZE - 1));
        memcpy(&bits, &x, sizeof bits);
        put_field(&value, VALUE_SIMPLE, FOUR_BYTES);
        put_integer(&value, bits, 4);
        put_bytes(&summary, SUMMARY_VALUE, value.at, value.count);
    }
    f->failed = !write_event(f->file, step, EVENT_SUMMARY, summary.at, summary.count);
}

void rt_event_file_close(rt_event_file *f)
{
    if (f->file)
        fclose(f->file);
    f->file = NULL;
}

void rt_event_files_clear(const char *folder)
{
    static const char *const patterns[] = {PREFIX "*", NULL};
    rt_folder_clear(folder, patterns);
}
