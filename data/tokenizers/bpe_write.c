#include "data/tokenizers/bpe_file.h"

#include "text/writer.h"

/* ---- bytes ---- */

/* GPT-2's way to write bytes as characters that can be seen: those of Latin-1 that are seen stand
 * for themselves; the others, which are 0 to 0x20, 0x7f to 0xa0 and 0xad, come from U+0100 on. */
enum { BYTES = RT_BPE_BYTE_COUNT, FIRST_HIGH = 0x7f, LOW = 0x21, HIGH = 0x22, HYPHEN = 0xad };

static bool is_itself(int32_t c)
{
    return (c >= LOW && c < FIRST_HIGH) || (c >= FIRST_HIGH + HIGH && c < BYTES && c != HYPHEN);
}

int32_t rt_bpe_byte_of(int32_t character)
{
    const int32_t other = character - BYTES;
    if (other < 0)
        return is_itself(character) ? character : -1;
    if (other < LOW)
        return other;
    if (other < LOW + HIGH)
        return FIRST_HIGH + other - LOW;
    return other == LOW + HIGH ? HYPHEN : -1;
}

int32_t rt_bpe_character_of(unsigned char byte)
{
    if (is_itself(byte))
        return byte;
    if (byte < LOW)
        return BYTES + byte;
    return byte == HYPHEN ? BYTES + LOW + HIGH : BYTES + LOW + byte - FIRST_HIGH;
}

/* ---- the file ---- */

const char *const rt_bpe_specials[RT_BPE_MOST_SPECIALS] = {"<|endoftext|>", "[MASK]"};

static void put_special(rt_writer *w, int id, const char *text, bool last)
{
    rt_writer_add(w,
                  "    {\n"
                  "      \"id\": %d,\n"
                  "      \"content\": \"%s\",\n"
                  "      \"single_word\": false,\n"
                  "      \"lstrip\": false,\n"
                  "      \"rstrip\": false,\n"
                  "      \"normalized\": false,\n"
                  "      \"special\": true\n"
                  "    }%s\n",
                  id, text, last ? "" : ",");
}

static const char before[] = "{\n"
                             "  \"version\": \"1.0\",\n"
                             "  \"truncation\": null,\n"
                             "  \"padding\": null,\n"
                             "  \"added_tokens\": [\n";

static const char between[] = "  ],\n"
                              "  \"normalizer\": null,\n"
                              "  \"pre_tokenizer\": {\n"
                              "    \"type\": \"ByteLevel\",\n"
                              "    \"add_prefix_space\": false,\n"
                              "    \"trim_offsets\": true,\n"
                              "    \"use_regex\": true\n"
                              "  },\n"
                              "  \"post_processor\": null,\n"
                              "  \"decoder\": {\n"
                              "    \"type\": \"ByteLevel\",\n"
                              "    \"add_prefix_space\": true,\n"
                              "    \"trim_offsets\": true,\n"
                              "    \"use_regex\": true\n"
                              "  },\n"
                              "  \"model\": {\n"
                              "    \"type\": \"BPE\",\n"
                              "    \"dropout\": null,\n"
                              "    \"unk_token\": null,\n"
                              "    \"continuing_subword_prefix\": null,\n"
                              "    \"end_of_word_suffix\": null,\n"
                              "    \"fuse_unk\": false,\n"
                              "    \"byte_fallback\": false,\n"
                              "    \"ignore_merges\": false,\n"
                              "    \"vocab\": {\n";

/* In quotes. Of the characters that bytes are written as, two have a meaning in JSON. */
static void put_token(rt_writer *w, const rt_byte_map *tokens, int32_t id)
{
    size_t size, done = 0;
    const char *text = rt_byte_map_at(tokens, id, &size);
    rt_writer_add(w, "\"");
    for (size_t i = 0; i < size; i++)
        if (text[i] == '"' || text[i] == '\\') {
            rt_writer_add(w, "%.*s\\", (int)(i - done), text + done);
            done = i;
        }
    rt_writer_add(w, "%s\"", text + done);
}

char *rt_bpe_write(const rt_byte_map *tokens, int specials, const rt_bpe_merge *merges,
                   size_t count)
{
    rt_writer w = {0};
    rt_writer_add(&w, "%s", before);
    for (int id = 0; id < specials && id < RT_BPE_MOST_SPECIALS; id++)
        put_special(&w, id, rt_bpe_specials[id], id + 1 == specials);
    rt_writer_add(&w, "%s", between);
    for (int32_t id = 0; id < tokens->count; id++) {
        rt_writer_add(&w, "      ");
        put_token(&w, tokens, id);
        rt_writer_add(&w, ": %d%s\n", (int)id, id + 1 < tokens->count ? "," : "");
    }
    rt_writer_add(&w, "    },\n    \"merges\": [%s", count ? "\n" : "");
    for (size_t i = 0; i < count; i++) {
        rt_writer_add(&w, "      [\n        ");
        put_token(&w, tokens, merges[i].left);
        rt_writer_add(&w, ",\n        ");
        put_token(&w, tokens, merges[i].right);
        rt_writer_add(&w, "\n      ]%s\n", i + 1 < count ? "," : "");
    }
    rt_writer_add(&w, "%s]\n  }\n}", count ? "    " : "");
    return rt_writer_take(&w);
}
