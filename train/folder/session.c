#include "train/folder/session.h"

#include "core/memory.h"
#include "ops/engine.h"
#include "text/csv.h"
#include "text/files.h"
#include "text/process.h"

#include <hdf5.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { BLOCK = 1 << 18, DIGEST_SIZE = 2 * sizeof(XXH128_canonical_t) + 1 };
static const off_t most_digested = (off_t)1 << 31; /* larger files would delay the first step */

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

char *rt_session_data(const rt_data_options *data)
{
    char path[RT_PATH_SIZE], digest[DIGEST_SIZE];
    struct stat facts;
    rt_writer w = {0};
    for (int i = 0; rt_data_file_at(data, i, path); i++) {
        FILE *file = rt_open_regular(path);
        rt_writer_add(&w, "%s%s", w.length ? "; " : "", path);
        if (file && !fstat(fileno(file), &facts)) {
            rt_writer_add(&w, " (%jd bytes", (intmax_t)facts.st_size);
            if (facts.st_size <= most_digested && digest_stream(file, digest))
                rt_writer_add(&w, ", XXH128 %s", digest);
            rt_writer_add(&w, ")");
        }
        if (file)
            fclose(file);
        else
            rt_writer_add(&w, " (cannot be read)");
    }
    return rt_writer_take(&w);
}

bool rt_session_data_differs(rt_session_part *before, rt_session_part *now, int files)
{
    const char *older = before->text, *newer = now->text;
    regex_t pattern; /* format of rt_session_data after a path */
    regmatch_t one[2], other[2];
    before->length = (int)strlen(older);
    now->length = (int)strlen(newer);
    if (regcomp(&pattern, "( \\((cannot be read|[0-9]+ bytes(, XXH128 [0-9a-f]{32})?)\\))(; |$)",
                REG_EXTENDED))
        return files > 0;
    bool differs = false;
    for (int i = 0; i < files && !differs; i++) {
        differs = true;
        if (regexec(&pattern, older, 2, one, 0) || regexec(&pattern, newer, 2, other, 0))
            break;
        const regoff_t length = one[1].rm_eo - one[1].rm_so;
        differs = length != other[1].rm_eo - other[1].rm_so ||
                  strncmp(older + one[1].rm_so, newer + other[1].rm_so, (size_t)length) != 0;
        if (differs) {
            *before = (rt_session_part){older, (int)one[1].rm_eo};
            *now = (rt_session_part){newer, (int)other[1].rm_eo};
        }
        older += one[1].rm_eo;
        newer += other[1].rm_eo;
        older += strspn(older, "; ");
        newer += strspn(newer, "; ");
    }
    regfree(&pattern);
    return differs;
}

/* Adds a word of the command line, in single quotes if a shell would interpret it. */
static void add_word(rt_writer *w, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*word && !word[strspn(word, plain)]) {
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

char *rt_session_cells(const char *data, const char *revision, int argc, char *const *argv)
{
    char begun[32] = "", host[256] = "", kernels[RT_KERNELS_SIZE];
    unsigned major, minor, patch;
    struct tm parts;
    const time_t now = time(NULL);
    rt_writer cells = {0}, program = {0}, command = {0};
    if (!gmtime_r(&now, &parts) || !strftime(begun, sizeof begun, "%Y-%m-%d %H:%M:%S", &parts))
        *begun = '\0';
    if (gethostname(host, sizeof host - 1))
        *host = '\0';
    H5get_libversion(&major, &minor, &patch);
    rt_writer_add(&program, "rotor %s (%s)%s%s, HDF5 %u.%u.%u, %s", ROTOR_VERSION, RT_PRECISION,
                  *revision ? ", revision " : "", revision, major, minor, patch,
                  rt_kernels_describe(kernels));
    rt_writer_add(&command, "%s", rt_program_name());
    for (int i = 1; i < argc; i++)
        add_word(&command, argv[i]);
    const char *const columns[] = {begun, host, program.bytes, command.bytes, data};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (i)
            rt_writer_add(&cells, ",");
        if (columns[i] && *columns[i])
            rt_csv_put(&cells, columns[i]);
    }
    cells.failed |= program.failed || command.failed;
    rt_writer_free(&program);
    rt_writer_free(&command);
    return rt_writer_take(&cells);
}
