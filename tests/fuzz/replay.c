/* Calls a harness with every file of a folder: replay-NAME FOLDER. */

#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        return;
    const long size = ftell(file);
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    rewind(file);
    if (bytes && size >= 0 && fread(bytes, 1, (size_t)size, file) == (size_t)size)
        LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    fclose(file);
}

int main(int argc, char **argv)
{
    char path[4096];
    struct dirent *entry;
    int count = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
            replay(path);
            count++;
        }
    closedir(folder);
    printf("%d inputs\n", count);
    return count ? 0 : 1;
}
