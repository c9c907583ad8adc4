/* Runs each harness on every file of CORPUS/NAME: replay CORPUS [NAME]; unreadable files fail. */

#include "fuzz.h"

#include "core/memory.h"
#include "util/files.h"

#include <dirent.h>
#include <limits.h>

typedef int harness(const uint8_t *bytes, size_t size);

/* Returns the number of inputs in a folder, or 0 after an error. */
static int replay_folder(harness *run, const char *path)
{
    char file[8192];
    struct dirent *entry;
    int count = 0;
    bool sound = true;
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            size_t size;
            char *bytes = rt_read_bytes(file, LONG_MAX, &size);
            if (bytes)
                run((uint8_t *)bytes, size);
            else
                perror(file);
            sound &= bytes != NULL;
            rt_free(bytes);
            count++;
        }
    if (folder)
        closedir(folder);
    return sound ? count : 0;
}

#define HARNESS(name) {#name, fuzz_##name},

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        harness *run;
    } harnesses[] = {FUZZ_HARNESSES(HARNESS)};
    char path[4096];
    int failed = 0;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s CORPUS [NAME]\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof harnesses / sizeof *harnesses; i++) {
        if (argc == 3 && strcmp(argv[2], harnesses[i].name) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], harnesses[i].name);
        const int count = replay_folder(harnesses[i].run, path);
        printf("%s: %d inputs\n", harnesses[i].name, count);
        failed += !count;
    }
    return failed ? 1 : 0;
}
