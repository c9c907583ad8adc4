#ifndef ROTOR_TESTS_TOKENIZER_FIXTURES_H
#define ROTOR_TESTS_TOKENIZER_FIXTURES_H

/* Texts and their ids by Hugging Face. A file of texts has a JSON string a line; the file of ids
 * has for each
 *
 *     {"ids": [...], "decoded": "...", "plain": [...]}
 *
 * "ids" with special tokens in the text as such; "decoded" with them as they are written or left
 * out; and "plain", the ids with those as text, where that is known and another list. */

#include "core/memory.h"
#include "data/data.h"
#include "data/tokenizers/masked_text.h"
#include "data/tokenizers/vocabulary.h"
#include "spell_all.h"
#include "suite.h"
#include "util/files.h"

#include <dirent.h>
#include <jansson.h>
#include <unistd.h>

RELEASER(release_vocabulary, rt_vocabulary_free)

/* The vocabulary of a file with a text, which is freed after the test. */
static inline rt_vocabulary *vocabulary_of(rt_vocabulary_kind kind, const char *text)
{
    rt_vocabulary *v;
    expect_ok(rt_vocabulary_read(&v, kind, "v", (const unsigned char *)text, strlen(text)));
    return owned(v, release_vocabulary);
}

/* The vocabulary of the characters of a text, which is freed after the test. */
static inline rt_vocabulary *characters_of(const char *text, size_t bytes)
{
    rt_vocabulary *v;
    expect_ok(rt_vocabulary_of_text(&v, "text", (const unsigned char *)text, bytes));
    return owned(v, release_vocabulary);
}

/* Compares the file of a vocabulary. */
static inline void is_written(const rt_vocabulary *v, const char *expected)
{
    char *text;
    expect_ok(rt_vocabulary_write(v, &text));
    ck_assert_str_eq(text, expected);
    rt_free(text);
}

/* Compares the text of ids. */
static inline void are_spelled(const rt_vocabulary *v, const int32_t *ids, int count,
                               const char *expected, size_t size)
{
    size_t bytes;
    char *text = spell_all(v, ids, count, &bytes);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(bytes, size);
    ck_assert(!memcmp(text, expected, size + 1));
    free(text);
}

/* Special tokens in a text: as text, or as tokens. */
typedef enum specials_read { AS_TEXT, AS_TOKENS } specials_read;

/* The ids of a text, which the caller frees. */
static inline int32_t *encode_with(specials_read as, const rt_vocabulary *v, const char *text,
                                   size_t size, int *count, rt_unknown *unknown)
{
    int32_t *ids = rt_alloc(rt_vocabulary_most_ids(v, size) + 1, sizeof *ids);
    ck_assert_ptr_nonnull(ids);
    rt_status status = rt_vocabulary_encode(v, text, size, as == AS_TOKENS, ids, count, unknown);
    ck_assert_msg(!status.code, "'%s': %s", text, status.message);
    ck_assert_uint_le((size_t)*count, rt_vocabulary_most_ids(v, size));
    return ids;
}

/* Compares the ids of a text with a list as "1 2 3", and frees them. */
static inline void are_ids(int32_t *ids, int count, const char *text, const char *expected)
{
    char all[1000] = "";
    for (int i = 0; i < count; i++) {
        const size_t length = strlen(all);
        const int added = snprintf(all + length, sizeof all - length, i ? " %d" : "%d", ids[i]);
        ck_assert_uint_lt(length + (size_t)added, sizeof all);
    }
    ck_assert_msg(!strcmp(all, expected), "'%s' is %s, %s expected", text, all, expected);
    rt_free(ids);
}

/* Compares the ids of a text with a list; returns the unknown parts. */
static inline rt_unknown has_ids(specials_read as, const rt_vocabulary *v, const char *text,
                                 const char *expected)
{
    int count;
    rt_unknown unknown;
    int32_t *ids = encode_with(as, v, text, strlen(text), &count, &unknown);
    are_ids(ids, count, text, expected);
    return unknown;
}

/* Compares the ids of a text in which masks are written, behind [CLS], with a list. */
static inline void has_masks(const rt_vocabulary *v, bool special, const char *text,
                             const char *expected, int expected_masks)
{
    int32_t *ids;
    int count, masks;
    rt_unknown unknown;
    rt_status status =
        rt_masked_text_encode(v, !special, special, text, &ids, &count, &masks, &unknown);
    ck_assert_msg(!status.code, "'%s': %s", text, status.message);
    ck_assert_int_eq(masks, expected_masks);
    are_ids(ids, count, text, expected);
}

/* Compares the ids of a text with those of a list between its first and last `around`. */
static inline void compare_ids(specials_read as, const rt_vocabulary *v, const json_t *text,
                               const json_t *wanted, size_t around, const char *path, int line)
{
    int count;
    rt_unknown unknown;
    int32_t *ids =
        encode_with(as, v, json_string_value(text), json_string_length(text), &count, &unknown);
    const int wanted_count = (int)(json_array_size(wanted) - 2 * around);
    for (int i = 0; i < count && i < wanted_count; i++) {
        const json_int_t id = json_integer_value(json_array_get(wanted, (size_t)i + around));
        ck_assert_msg(ids[i] == id, "%s:%d: id %d is %d, %d expected", path, line, i, ids[i],
                      (int)id);
    }
    ck_assert_msg(count == wanted_count, "%s:%d: %d ids, %d expected", path, line, count,
                  wanted_count);
    rt_free(ids);
}

/* The text of a list of ids, with or without special tokens, which the caller frees. */
static inline char *decoded_list(const rt_vocabulary *v, const json_t *list, bool special,
                                 size_t *bytes)
{
    int32_t *ids = rt_alloc(json_array_size(list), sizeof *ids);
    const json_t *id;
    size_t i;
    int count = 0;
    json_array_foreach(list, i, id)
    {
        ids[count] = (int32_t)json_integer_value(id);
        count += special || rt_vocabulary_is_ordinary(v, ids[count]);
    }
    char *text = spell_all(v, ids, count, bytes);
    ck_assert_ptr_nonnull(text);
    rt_free(ids);
    return text;
}

/* tokenizers decodes bytes that are not UTF-8 as U+FFFD: only texts without them are compared. */
static inline void compare_text(const rt_vocabulary *v, const json_t *ids, const json_t *decoded,
                                const char *path, int line)
{
    const char *text = json_string_value(decoded);
    const size_t size = json_string_length(decoded);
    size_t sizes[2];
    char *texts[] = {decoded_list(v, ids, false, &sizes[0]), decoded_list(v, ids, true, &sizes[1])};
    bool whole = true, same = false;
    for (size_t i = 0; i + 3 <= size; i++)
        whole &= memcmp(text + i, "\xef\xbf\xbd", 3) != 0;
    for (int i = 0; i < 2; i++)
        same |= sizes[i] == size && !memcmp(texts[i], text, size);
    ck_assert_msg(same || !whole, "%s:%d: is decoded as '%s' or '%s', '%s' expected", path, line,
                  texts[0], texts[1], text);
    free(texts[0]);
    free(texts[1]);
}

static inline bool are_ordinary(const rt_vocabulary *v, const json_t *ids)
{
    const json_t *id;
    size_t i;
    json_array_foreach(ids, i, id)
    {
        if (!rt_vocabulary_is_ordinary(v, (int32_t)json_integer_value(id)))
            return false;
    }
    return true;
}

static inline json_t *next_value(FILE *file, const char *path)
{
    json_error_t error;
    json_t *value =
        json_loadf(file, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &error);
    ck_assert_msg(value || feof(file), "%s: %s", path, error.text);
    return value;
}

/* Compares all texts of a file; returns their number. With `framed`, [CLS] and [SEP] stand around
 * "ids". */
static inline int check_texts(const rt_vocabulary *v, const char *texts_path, const char *ids_path,
                              bool framed)
{
    FILE *texts = fopen(texts_path, "r"), *all_ids = fopen(ids_path, "r");
    int line = 0;
    ck_assert_msg(texts && all_ids, "%s, %s", texts_path, ids_path);
    for (json_t *text, *expected; (expected = next_value(all_ids, ids_path));) {
        const json_t *ids = json_object_get(expected, "ids"),
                     *plain = json_object_get(expected, "plain"),
                     *decoded = json_object_get(expected, "decoded");
        text = next_value(texts, texts_path);
        line++;
        ck_assert_msg(json_is_string(text) && json_is_array(ids), "%s:%d", ids_path, line);
        compare_ids(AS_TOKENS, v, text, ids, framed, ids_path, line);
        if (framed) {
            const size_t last = json_array_size(ids) - 1;
            ck_assert_int_eq(json_integer_value(json_array_get(ids, 0)), v->special.cls);
            ck_assert_int_eq(json_integer_value(json_array_get(ids, last)), v->special.sep);
        }
        if (decoded)
            compare_text(v, ids, decoded, ids_path, line);
        if (plain)
            compare_ids(AS_TEXT, v, text, plain, 0, ids_path, line);
        else if (framed || are_ordinary(v, ids))
            compare_ids(AS_TEXT, v, text, ids, framed, ids_path, line);
        json_decref(text);
        json_decref(expected);
    }
    ck_assert_msg(!next_value(texts, texts_path), "%s: there are more texts than ids", texts_path);
    fclose(texts);
    fclose(all_ids);
    return line;
}

/* The vocabulary of a file, which is freed after the test. */
static inline rt_vocabulary *read_vocabulary(rt_vocabulary_kind kind, const char *path)
{
    rt_vocabulary *v;
    unsigned char *file;
    size_t size;
    expect_ok(rt_file_read("a fixture", path, &file, &size));
    expect_ok(rt_vocabulary_read(&v, kind, path, file, size));
    rt_free(file);
    return owned(v, release_vocabulary);
}

/* Compares the texts of all folders with a tokenizer.json, texts.jsonl and ids.jsonl in a folder;
 * returns the number of folders. */
static inline int check_bpe_folders(const char *of)
{
    const struct dirent *entry;
    int count = 0;
    DIR *stream = opendir(of);
    ck_assert_msg(stream != NULL, "%s cannot be read", of);
    while ((entry = readdir(stream))) {
        const char *file = lasting("%s/%s/tokenizer.json", of, entry->d_name);
        const char *texts = lasting("%s/%s/texts.jsonl", of, entry->d_name);
        const char *ids = lasting("%s/%s/ids.jsonl", of, entry->d_name);
        if (entry->d_name[0] == '.' || access(texts, R_OK) != 0)
            continue;
        rt_vocabulary *v = read_vocabulary((rt_vocabulary_kind){.level = RT_LEVEL_BPE}, file);
        ck_assert_int_gt(check_texts(v, texts, ids, false), 0);
        count++;
    }
    closedir(stream);
    return count;
}

#endif
