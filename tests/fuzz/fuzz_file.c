#include "fuzz.h"

#include <unistd.h>

static char path[64];

static void forget_file(void)
{
    remove(path);
}

const char *fuzz_folder(void)
{
    return access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
}

void fuzz_write(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    if (file && fwrite(bytes, 1, size, file) == size && !fclose(file))
        return;
    perror(name);
    abort();
}

const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    if (!*path) {
        snprintf(path, sizeof path, "%s/rotor-fuzz-%ld", fuzz_folder(), (long)getpid());
        atexit(forget_file);
    }
    fuzz_write(path, bytes, size);
    return path;
}
