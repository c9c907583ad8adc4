#ifndef ROTOR_TESTS_BPE_FIXTURES_H
#define ROTOR_TESTS_BPE_FIXTURES_H

/* Texts and their ids by Hugging Face's tokenizers. A folder has
 *
 *     tokenizer.json
 *     texts.jsonl    a JSON string a line
 *     ids.jsonl      {"ids": [...], "decoded": "..."}; with special tokens in the text as such, in
 *                    the decoded one as they are written or left out; and "plain": [...], the ids
 *                    with those as text, where that is known and another list
 */

#include "core/path.h"
#include "data/tokenizers/vocabulary.h"
#include "json_lines.h"
#include "text/files.h"

#include <dirent.h>
#include <unistd.h>

typedef struct bpe_fixture {
    unsigned char *texts, *expected;
    size_t text_size, expected_size;
    rt_vocabulary *v;
    char *text;
    int32_t *ids, *wanted;
} bpe_fixture;

static inline unsigned char *read_in(const char *folder, const char *name, size_t *size)
{
    char path[RT_PATH_SIZE];
    unsigned char *bytes;
    rt_status status = rt_path_join(path, folder, name);
    ck_assert_msg(!status.code, "%s", status.message);
    status = rt_file_read("a fixture", path, &bytes, size);
    ck_assert_msg(!status.code, "%s", status.message);
    return bytes;
}

static inline bpe_fixture open_bpe_fixture(const char *folder)
{
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    bpe_fixture f;
    size_t size;
    unsigned char *file = read_in(folder, "tokenizer.json", &size);
    rt_status status = rt_vocabulary_read(&f.v, kind, "tokenizer.json", file, size);
    ck_assert_msg(!status.code, "%s: %s", folder, status.message);
    rt_free(file);
    f.texts = read_in(folder, "texts.jsonl", &f.text_size);
    f.expected = read_in(folder, "ids.jsonl", &f.expected_size);
    f.text = rt_alloc((f.text_size + 1) + (f.expected_size + 1), 1);
    f.ids = rt_alloc(rt_vocabulary_most_ids(f.v, f.text_size), sizeof *f.ids);
    f.wanted = rt_alloc(f.expected_size, sizeof *f.wanted);
    ck_assert(f.text && f.ids && f.wanted);
    return f;
}

static inline void close_bpe_fixture(bpe_fixture *f)
{
    rt_vocabulary_free(f->v);
    rt_free(f->texts);
    rt_free(f->expected);
    rt_free(f->text);
    rt_free(f->ids);
    rt_free(f->wanted);
}

/* The place of a line in its file, for messages. */
typedef struct bpe_line {
    const char *folder;
    int line;
} bpe_line;

typedef rt_status bpe_encoder(const rt_vocabulary *, const char *, size_t, int32_t *, int *,
                              rt_unknown *);

static inline void compare_bpe_ids(const bpe_fixture *f, bpe_line at, bpe_encoder *encode,
                                   size_t size, int wanted_count)
{
    int count;
    rt_unknown unknown;
    rt_status status = encode(f->v, f->text, size, f->ids, &count, &unknown);
    ck_assert_msg(!status.code, "%s:%d: %s", at.folder, at.line, status.message);
    ck_assert_msg((size_t)count <= rt_vocabulary_most_ids(f->v, size), "%s:%d: too many ids",
                  at.folder, at.line);
    for (int i = 0; i < count && i < wanted_count; i++)
        ck_assert_msg(f->ids[i] == f->wanted[i], "%s:%d: id %d is %d, %d expected", at.folder,
                      at.line, i, f->ids[i], f->wanted[i]);
    ck_assert_msg(count == wanted_count, "%s:%d: %d ids, %d expected", at.folder, at.line, count,
                  wanted_count);
}

/* Keeps of the ids those of ordinary tokens; returns how many these are. */
static inline int keep_ordinary(const bpe_fixture *f, int32_t *ids, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (rt_vocabulary_is_ordinary(f->v, f->wanted[i]))
            ids[kept++] = f->wanted[i];
    return kept;
}

/* tokenizers decodes bytes that are not UTF-8 as U+FFFD: only texts without them are compared byte
 * for byte. */
static inline void compare_bpe_text(const bpe_fixture *f, bpe_line at, int count, size_t size)
{
    char *back;
    size_t bytes;
    rt_status status = rt_vocabulary_decode_all(f->v, f->wanted, count, &back, &bytes);
    const bool as_written = bytes == size && !memcmp(back, f->text, size);
    if (!status.code && !as_written) {
        rt_free(back);
        status =
            rt_vocabulary_decode_all(f->v, f->ids, keep_ordinary(f, f->ids, count), &back, &bytes);
    }
    ck_assert_msg(!status.code, "%s:%d: %s", at.folder, at.line, status.message);
    bool whole = true;
    for (size_t i = 0; i + 3 <= size; i++)
        whole &= memcmp(f->text + i, "\xef\xbf\xbd", 3) != 0;
    ck_assert_msg(!whole || (bytes == size && !memcmp(back, f->text, size)),
                  "%s:%d: decoded as '%s', '%s' expected", at.folder, at.line, back, f->text);
    rt_free(back);
}

static inline void expect_key(reading *r, const char *key)
{
    char found[20];
    take_string(r, found);
    ck_assert_msg(!strcmp(found, key) && takes(r, ':'), "'%s' is '%s'", key, found);
}

/* Returns how many texts there were. */
static inline int check_bpe_folder(const char *folder)
{
    bpe_fixture f = open_bpe_fixture(folder);
    reading texts = {(const char *)f.texts, (const char *)f.texts + f.text_size};
    reading expected = {(const char *)f.expected, (const char *)f.expected + f.expected_size};
    bpe_line at = {folder, 0};
    while (takes(&expected, '{')) {
        at.line++;
        const reading text = texts;
        size_t size = take_string(&texts, f.text);
        expect_key(&expected, "ids");
        int count = take_ids(&expected, f.wanted);
        compare_bpe_ids(&f, at, rt_vocabulary_encode_special, size, count);
        ck_assert(takes(&expected, ','));
        expect_key(&expected, "decoded");
        compare_bpe_text(&f, at, count, take_string(&expected, f.text));
        const bool plain = takes(&expected, ',');
        if (plain) {
            expect_key(&expected, "plain");
            count = take_ids(&expected, f.wanted);
        }
        texts = text;
        size = take_string(&texts, f.text);
        if (plain || keep_ordinary(&f, f.ids, count) == count)
            compare_bpe_ids(&f, at, rt_vocabulary_encode, size, count);
        ck_assert(takes(&expected, '}'));
    }
    ck_assert_msg(!takes(&texts, '"'), "%s: there are more texts than ids", folder);
    close_bpe_fixture(&f);
    return at.line;
}

/* All such folders in a folder; returns how many there were. */
static inline int check_bpe_folders(const char *folder)
{
    const struct dirent *entry;
    int count = 0;
    DIR *stream = opendir(folder);
    ck_assert_msg(stream != NULL, "%s cannot be read", folder);
    while ((entry = readdir(stream))) {
        char path[RT_PATH_SIZE], texts[RT_PATH_SIZE];
        ck_assert(!rt_path_join(path, folder, entry->d_name).code);
        ck_assert(!rt_path_join(texts, path, "texts.jsonl").code);
        if (entry->d_name[0] == '.' || access(texts, R_OK) != 0)
            continue;
        ck_assert_int_gt(check_bpe_folder(path), 0);
        count++;
    }
    closedir(stream);
    return count;
}

#endif
