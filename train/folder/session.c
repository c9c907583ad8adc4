#include "train/folder/session.h"

#include "core/memory.h"
#include "ops/engine.h"
#include "ops/ops.h"
#include "train/text/csv.h"
#include "train/text/program_name.h"
#include "train/text/text_file.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* ---- the files of data ---- */

enum { BLOCK = 1 << 18, DIGEST_SIZE = 2 * sizeof(XXH128_canonical_t) + 1 };
static const off_t most_digested = (off_t)1 << 31; /* bytes: more would delay the first step */

static bool digest_stream(FILE *file, char digest[DIGEST_SIZE])
{
    unsigned char *block = rt_alloc(BLOCK, 1);
    XXH3_state_t *state = XXH3_createState();
    bool good = block && state && XXH3_128bits_reset(state) == XXH_OK;
    for (size_t got; good && (got = fread(block, 1, BLOCK, file)) > 0;)
        good = XXH3_128bits_update(state, block, got) == XXH_OK;
    good = good && !ferror(file);
    if (good) {
        XXH128_canonical_t bytes;
        XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state));
        for (size_t i = 0; i < sizeof bytes.digest; i++)
            snprintf(digest + 2 * i, 3, "%02x", bytes.digest[i]);
    }
    XXH3_freeState(state);
    rt_free(block);
    return good;
}

static void add_file(rt_writer *w, const char *path)
{
    char digest[DIGEST_SIZE];
    struct stat facts;
    FILE *file = rt_open_regular(path);
    rt_writer_add(w, "%s%s", w->length ? "; " : "", path);
    if (file && !fstat(fileno(file), &facts)) {
        rt_writer_add(w, " (%jd bytes", (intmax_t)facts.st_size);
        if (facts.st_size <= most_digested && digest_stream(file, digest))
            rt_writer_add(w, ", XXH128 %s", digest);
        rt_writer_add(w, ")");
    }
    if (file)
        fclose(file);
    else
        rt_writer_add(w, " (cannot be read)");
}

static void tell_data(rt_writer *w, const rt_data_options *data)
{
    char path[RT_PATH_SIZE];
    for (int i = 0; rt_data_file_at(data, i, path); i++)
        add_file(w, path);
}

/* ---- the command line ---- */

/* Whether a shell takes the word for what it is. */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    return *word && !word[strspn(word, plain)];
}

/* As it can be typed again: in single quotes if a shell would take it for something else. */
static void add_word(rt_writer *w, const char *word)
{
    if (is_plain(word)) {
        rt_writer_add(w, " %s", word);
        return;
    }
    rt_writer_add(w, " '");
    for (; *word; word++)
        if (*word == '\'')
            rt_writer_add(w, "'\\''");
        else
            rt_writer_add(w, "%c", *word);
    rt_writer_add(w, "'");
}

static void tell_command(rt_writer *w, int argc, char *const *argv)
{
    rt_writer_add(w, "%s", rt_program_name());
    for (int i = 1; i < argc; i++)
        add_word(w, argv[i]);
}

/* ---- the machine ---- */

static void tell_program(rt_writer *w, const char *revision)
{
    unsigned major, minor, patch;
    H5get_libversion(&major, &minor, &patch);
    rt_writer_add(w, "rotor %s (%s)%s%s, HDF5 %u.%u.%u, %s kernels %s", ROTOR_VERSION, RT_PRECISION,
                  *revision ? ", revision " : "", revision, major, minor, patch, rt_engine_name(),
                  rt_engine_kernels());
}

static void tell_host(rt_writer *w)
{
    char name[256];
    if (!gethostname(name, sizeof name)) {
        name[sizeof name - 1] = '\0';
        rt_writer_add(w, "%s", name);
    }
}

static void tell_time(rt_writer *w)
{
    char text[32];
    struct tm parts;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts))
        rt_writer_add(w, "%s", text);
}

/* ---- the session ---- */

/* Hands the text of a cell over. */
static void add_cell(rt_writer *cells, rt_writer *text)
{
    if (cells->length)
        rt_writer_add(cells, ",");
    if (text->length)
        rt_csv_put(cells, text->bytes);
    cells->failed |= text->failed;
    rt_writer_free(text);
}

char *rt_session_cells(const rt_data_options *data, const char *revision, int argc,
                       char *const *argv)
{
    rt_writer cells = {0}, begun = {0}, host = {0}, program = {0}, command = {0}, files = {0};
    tell_time(&begun);
    tell_host(&host);
    tell_program(&program, revision);
    tell_command(&command, argc, argv);
    tell_data(&files, data);
    rt_writer *const columns[] = {&begun, &host, &program, &command, &files};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        add_cell(&cells, columns[i]);
    return rt_writer_take(&cells);
}

char *rt_session_data(const rt_data_options *data)
{
    rt_writer w = {0};
    rt_writer_add(&w, "%s", "");
    tell_data(&w, data);
    return rt_writer_take(&w);
}
