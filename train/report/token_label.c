#include "train/report/token_label.h"

#include "data/tokenizers/simple_tokens.h"
#include "data/tokenizers/vocabulary.h"
#include "train/report/html.h"

#include <stdio.h>
#include <string.h>

#define HIDDEN "·"

static const char *special_name(const rt_special_ids *special, int32_t id)
{
    return id == special->pad       ? "[PAD]"
           : id == special->cls     ? "[CLS]"
           : id == special->mask    ? "[MASK]"
           : id == special->sep     ? "[SEP]"
           : id == special->unknown ? "[UNK]"
                                    : HIDDEN;
}

/* A whole character that can be seen, or the bytes it takes to get past what is none. */
static bool is_seen(const char *text, size_t length, size_t *size)
{
    int32_t character;
    *size = rt_utf8_read((const unsigned char *)text, length, &character);
    const bool seen = *size && (rt_character_is_visible(character) || character == '\n');
    *size += !*size;
    return seen;
}

/* Whether all of a token can be seen; as much of it as a label has room for. */
static bool show(char label[RT_TOKEN_LABEL_SIZE], const char *token, size_t size)
{
    enum { MOST_CHARACTERS = 7 };
    size_t at = 0, length = 0;
    for (int characters = 0; at < size; characters++) {
        size_t next;
        if (!is_seen(token + at, size - at, &next) || token[at] == '\n')
            return false;
        at += next;
        length = characters < MOST_CHARACTERS ? at : length;
    }
    snprintf(label, RT_TOKEN_LABEL_SIZE, "%.*s%s", (int)length, token, length < size ? "…" : "");
    return size > 0;
}

/* What stands for a character of a piece, or for a byte; returns how many bytes it stands for. */
static size_t sign(char shown[RT_UTF8_SIZE], const char *bytes, size_t size)
{
    size_t step;
    if (*bytes == ' ' || *bytes == '\n' || *bytes == '\t') {
        snprintf(shown, RT_UTF8_SIZE, "%s", *bytes == ' ' ? "␣" : *bytes == '\n' ? "↵" : "⇥");
        return 1;
    }
    if (is_seen(bytes, size, &step))
        snprintf(shown, RT_UTF8_SIZE, "%.*s", (int)step, bytes);
    else if (step == 1 && (unsigned char)*bytes >= 0x80)
        snprintf(shown, RT_UTF8_SIZE, "\\x%02x", (unsigned)(unsigned char)*bytes);
    else
        snprintf(shown, RT_UTF8_SIZE, HIDDEN);
    return step;
}

/* A piece, or a special token as its file has it. */
static const char *show_piece(char label[RT_TOKEN_LABEL_SIZE], const char *bytes, size_t size)
{
    static const char more[] = "…";
    size_t at = 0, used = 0;
    while (at < size) {
        char shown[RT_UTF8_SIZE];
        const size_t step = sign(shown, bytes + at, size - at), length = strlen(shown);
        if (used + length + sizeof more > RT_TOKEN_LABEL_SIZE) {
            memcpy(label + used, more, sizeof more);
            return label;
        }
        memcpy(label + used, shown, length + 1);
        used += length;
        at += step;
    }
    return label;
}

const char *rt_token_label(char label[RT_TOKEN_LABEL_SIZE], const rt_data *data, int32_t id)
{
    const char *token;
    size_t size;
    rt_status status = rt_data_decode(data, id, &token, &size);
    const char *text = HIDDEN;
    const rt_vocabulary *vocabulary = rt_data_vocabulary(data);
    const rt_spelling spelling =
        vocabulary->bpe ? rt_vocabulary_spell(vocabulary, id) : (rt_spelling){.size = 0};
    if (spelling.size)
        return show_piece(label, spelling.bytes, spelling.size);
    if (status.code)
        text = special_name(&vocabulary->special, id);
    else if (!strcmp(token, " "))
        text = "␣";
    else if (!strcmp(token, "\n"))
        text = "↵";
    else if (!strcmp(token, "\t"))
        text = "⇥";
    else if (show(label, token, size))
        return label;
    snprintf(label, RT_TOKEN_LABEL_SIZE, "%s", text);
    return label;
}

/* At level wordpiece a word stands apart from the one before it; what goes on within a word begins
 * with ##. */
static void add_token(rt_writer *bytes, const rt_data *data, const char *token, size_t size)
{
    if (rt_data_vocabulary(data)->bpe) {
        for (size_t i = 0; i < size; i++)
            rt_writer_add(bytes, "%c", token[i] ? token[i] : '\1');
        return;
    }
    const bool pieces = rt_data_vocabulary(data)->level == RT_LEVEL_WORDPIECE;
    const bool inside = pieces && !strncmp(token, "##", 2);
    if (inside)
        token += 2;
    else if (pieces)
        rt_writer_add(bytes, " ");
    rt_writer_add(bytes, "%s", *token ? token : "\1"); /* neither can be seen */
}

void rt_token_text(rt_writer *page, const rt_data *data, const int32_t *ids, int count)
{
    rt_writer bytes = {0};
    for (int i = 0; i < count; i++) {
        const char *token;
        size_t size;
        rt_status status = rt_data_decode(data, ids[i], &token, &size);
        if (!status.code)
            add_token(&bytes, data, token, size);
    }
    for (size_t at = 0, size; at < bytes.length; at += size) {
        char seen[RT_UTF8_SIZE] = HIDDEN;
        if (is_seen(bytes.bytes + at, bytes.length - at, &size)) {
            memcpy(seen, bytes.bytes + at, size);
            seen[size] = '\0';
        }
        rt_html_text(page, seen);
    }
    page->failed |= bytes.failed;
    rt_writer_free(&bytes);
}
