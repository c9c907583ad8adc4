/* Calls a harness with every file of a folder: replay-NAME FOLDER. A file that cannot be read is
 * an error. */

#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The bytes of a file, to be freed; NULL if it cannot be read. */
static uint8_t *read_input(const char *path, size_t *size)
{
    uint8_t *bytes = NULL;
    FILE *file = fopen(path, "rb");
    const long length = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    if (length >= 0 && !fseek(file, 0, SEEK_SET))
        bytes = malloc(length ? (size_t)length : 1);
    if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        free(bytes);
        bytes = NULL;
    }
    if (file)
        fclose(file);
    *size = (size_t)length;
    return bytes;
}

static bool replay(const char *path)
{
    size_t size;
    uint8_t *bytes = read_input(path, &size);
    if (bytes)
        LLVMFuzzerTestOneInput(bytes, size);
    else
        perror(path);
    free(bytes);
    return bytes != NULL;
}

int main(int argc, char **argv)
{
    char path[4096];
    struct dirent *entry;
    int count = 0, failed = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
            failed += !replay(path);
            count++;
        }
    closedir(folder);
    printf("%d inputs\n", count);
    return count && !failed ? 0 : 1;
}
