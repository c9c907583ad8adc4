#ifndef ROTOR_TESTS_SCRATCH_H
#define ROTOR_TESTS_SCRATCH_H

/* A temporary folder for each test, whole files as bytes, and expected statuses. */

#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static inline void make_scratch(void)
{
    strcpy(scratch, "/tmp/rotor-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

/* The path of a name in the folder; good until it has been called four times more. */
static inline const char *in_scratch(const char *name)
{
    static char paths[4][512];
    static int calls;
    char *path = paths[calls++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline void expect_in(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

/* expect_ok_after_refusals for an act with a context, which is made before. */
static inline void expect_faults(rt_status (*act)(void *context), void *context, size_t least)
{
    expect_ok_after_refusals(least, act(context));
}

static inline int files_in_scratch(void)
{
    DIR *directory = opendir(scratch);
    ck_assert_ptr_nonnull(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* Removes a file, a link, or a folder with everything in it. */
static inline void remove_tree(const char *path)
{
    char inner[1024];
    DIR *stream = remove(path) ? opendir(path) : NULL;
    if (!stream)
        return;
    for (struct dirent *entry; (entry = readdir(stream));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            snprintf(inner, sizeof inner, "%.700s/%.255s", path, entry->d_name);
            remove_tree(inner);
        }
    closedir(stream);
    rmdir(path);
}

static inline void remove_scratch(void)
{
    remove_tree(scratch);
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* Returns the bytes of a file and a zero behind them, which are freed after the test. */
static inline unsigned char *file_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s: %s", path, strerror(errno));
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = owned(calloc(*size + 1, 1), free);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* Writes a file; returns its path. */
static inline const char *write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_msg(file != NULL, "cannot write %s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* Writes a text to a file of the folder. */
static inline void put_text(const char *name, const char *text)
{
    write_bytes(in_scratch(name), text, strlen(text));
}

/* Returns a text in which a part is replaced by another. */
static inline const char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "no %s in:\n%s", from, text);
    return lasting("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Returns the text of a file of the folder, which is freed after the test; "" if it is not there.
 */
static inline char *text_in(const char *name)
{
    size_t size;
    return exists(in_scratch(name)) ? (char *)file_bytes(in_scratch(name), &size) : "";
}

static inline void expect_content(const char *name, const char *text)
{
    ck_assert_msg(exists(in_scratch(name)), "%s is gone", name);
    ck_assert_str_eq(text_in(name), text);
}

static inline void flip_bit(const char *path, size_t bit)
{
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)(bit / 8), SEEK_SET);
    int byte = fgetc(file);
    fseek(file, (long)(bit / 8), SEEK_SET);
    fputc(byte ^ 1 << bit % 8, file);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void assert_same_file(const char *one, const char *other)
{
    size_t size, other_size;
    unsigned char *bytes = file_bytes(one, &size), *other_bytes = file_bytes(other, &other_size);
    ck_assert_uint_eq(size, other_size);
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(bytes[i] == other_bytes[i], "byte %zu differs", i);
}

#endif
