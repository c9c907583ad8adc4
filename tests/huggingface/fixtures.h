#ifndef ROTOR_TESTS_HUGGINGFACE_FIXTURES_H
#define ROTOR_TESTS_HUGGINGFACE_FIXTURES_H

/* The folders that the tests of Hugging Face go through: those of ROTOR_HUGGINGFACE, or
 * tests/fixtures/huggingface; a test of other models names another variable and folder. Each NAME/
 * has hf/ and reference.h5; safetensors/ has files and expected.csv. Which of them are there, and
 * of what sizes, comes from the folder. */

#include "core/status.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FIXTURES_VARIABLE
#define FIXTURES_VARIABLE "ROTOR_HUGGINGFACE"
#define FIXTURES_FOLDER   "huggingface"
#endif

enum { PATH_OF_FIXTURE = 1024, MOST_FIXTURES = 256, NAME_OF_FIXTURE = 128 };

typedef struct fixtures {
    char names[MOST_FIXTURES][NAME_OF_FIXTURE]; /* of models, sorted */
    int count;
} fixtures;

static inline const char *fixture_folder(void)
{
    const char *folder = getenv(FIXTURES_VARIABLE);
    return folder ? folder : TEST_SOURCES "/fixtures/" FIXTURES_FOLDER;
}

static inline const char *fixture_path(char path[PATH_OF_FIXTURE], const char *name,
                                       const char *rest)
{
    const int length = snprintf(path, PATH_OF_FIXTURE, "%s/%s%s%s", fixture_folder(), name,
                                *rest ? "/" : "", rest);
    ck_assert_int_lt(length, PATH_OF_FIXTURE);
    return path;
}

static inline int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static inline void list_fixtures(fixtures *f)
{
    char path[PATH_OF_FIXTURE];
    DIR *folder = opendir(fixture_folder());
    ck_assert_msg(folder != NULL, "%s cannot be read", fixture_folder());
    f->count = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.' &&
            !access(fixture_path(path, entry->d_name, "reference.h5"), R_OK)) {
            ck_assert_int_lt(f->count, MOST_FIXTURES);
            snprintf(f->names[f->count++], NAME_OF_FIXTURE, "%.127s", entry->d_name);
        }
    closedir(folder);
    qsort(f->names, (size_t)f->count, sizeof f->names[0], compare_names);
    ck_assert_msg(f->count > 0, "%s has no model", fixture_folder());
}

#endif
