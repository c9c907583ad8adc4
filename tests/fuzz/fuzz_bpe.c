/* Input that begins with a brace is a tokenizer.json, which a text may follow after a byte 0xff.
 * The file is read or refused. A vocabulary that was read is written, read back as the same, and
 * cuts the text into valid ids. Any other input is a text: every pre-tokenizer with a piece for
 * each byte cuts it into ids that stand for all of it, unless it is not UTF-8. */

#include "fuzz_vocabulary.h"

#include "data/tokenizers/characters.h"
#include "data/tokenizers/tokens.h"

/* Encodes a text. `exact`: the ids must stand for exactly its bytes. */
static void encode_text(const rt_vocabulary *v, const char *text, size_t size, bool special,
                        bool exact)
{
    encoded e = encode(v, text, size, special, rt_vocabulary_most_ids(v, size));
    must(!e.status.code || e.status.code == RT_ARGUMENT);
    for (int i = 0; i < e.count; i++)
        must(v->starts[e.ids[i] + 1] > v->starts[e.ids[i]]);
    must(!exact || e.status.code ||
         (!e.unknown.count && e.size == size && (!size || !memcmp(e.text, text, size))));
    free_encoded(&e);
}

static void read_file(const char *bytes, size_t size)
{
    const char *end = memchr(bytes, 0xff, size);
    const size_t file = end ? (size_t)(end - bytes) : size;
    rt_vocabulary *v = read_or_refuse((rt_vocabulary_kind){.level = RT_LEVEL_BPE}, "tokenizer.json",
                                      (const uint8_t *)bytes, file);
    if (!v)
        return;
    read_again(v);
    for (int special = 0; special < 2; special++)
        encode_text(v, end ? end + 1 : bytes, end ? size - file - 1 : size, special, false);
    rt_vocabulary_free(v);
}

static const char *const cutters[] = {
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}",
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}",
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},"
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"},"
    "{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":"
    "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| "
    "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}},"
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}",
};
enum { CUTTERS = sizeof cutters / sizeof *cutters, FILE_SIZE = 1 << 14 };

/* A piece for each byte, in GPT-2's writing, and a few merges. */
static rt_vocabulary *make(int number)
{
    static char file[FILE_SIZE];
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE};
    rt_vocabulary *v;
    int used = snprintf(file, sizeof file,
                        "{\"pre_tokenizer\":%s,\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{"
                        "\"type\":\"BPE\",\"merges\":[\"e r\",\"t h\",\"th e\",\"a a\",\"aa aa\"],"
                        "\"vocab\":{\"er\":256,\"th\":257,\"the\":258,\"aa\":259,\"aaaa\":260",
                        cutters[number]);
    for (int32_t byte = 0, next = 256; byte < 256; byte++) {
        char c[RT_UTF8_SIZE];
        const bool seen = (byte > ' ' && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
        rt_utf8_write(seen ? byte : next, c);
        next += !seen;
        used += snprintf(file + used, sizeof file - (size_t)used, ",\"%s%s\":%d",
                         *c == '"' || *c == '\\' ? "\\" : "", c, (int)byte);
    }
    snprintf(file + used, sizeof file - (size_t)used, "}}}");
    must(!rt_vocabulary_read(&v, kind, "made", (const unsigned char *)file, strlen(file)).code);
    return v;
}

/* NFC of NFC is itself. */
static void form(const unsigned char *text, size_t size)
{
    unsigned char *once, *twice;
    size_t first, second;
    if (rt_utf8_valid(text, size) < size)
        return;
    must(!rt_normal_form(RT_FORM_NFC, &once, &first, text, size).code);
    must(!rt_normal_form(RT_FORM_NFC, &twice, &second, once, first).code && first == second);
    must(!memcmp(once, twice, first) && first <= rt_normal_form_growth(RT_FORM_NFC) * size);
    rt_free(once);
    rt_free(twice);
}

FUZZ(bpe)
{
    static rt_vocabulary *made[CUTTERS];
    if (size && *bytes == '{') {
        read_file((const char *)bytes, size);
        return 0;
    }
    form(bytes, size);
    for (int i = 0; i < CUTTERS; i++) {
        made[i] = made[i] ? made[i] : make(i);
        encode_text(made[i], (const char *)bytes, size, false, i != 1); /* which adds a space */
    }
    return 0;
}
