#ifndef ROTOR_TESTS_DATA_WORDPIECE_FIXTURES_H
#define ROTOR_TESTS_DATA_WORDPIECE_FIXTURES_H

/* Texts and their ids by BertTokenizer, from tests/fixtures or the folder that ROTOR_HUGGINGFACE
 * names: wordpiece/ has vocab-KIND.txt and KIND.jsonl for the kinds cased and uncased, and
 * texts.jsonl. */

#include "json_lines.h"
#include "samples.h"
#include "text/files.h"

static inline unsigned char *read_fixture(const char *name, size_t *size)
{
    const char *given = getenv("ROTOR_HUGGINGFACE");
    char path[RT_PATH_SIZE];
    unsigned char *bytes;
    const int length = snprintf(path, sizeof path, "%s/wordpiece/%s",
                                given ? given : TEST_SOURCES "/fixtures", name);
    ck_assert(length < (int)sizeof path);
    rt_status status = rt_file_read("a fixture", path, &bytes, size);
    ck_assert_msg(!status.code, "%s", status.message);
    return bytes;
}

#endif
