#include "data/tokenizers/simple_tokens.h"

#include "core/memory.h"
#include "data/batch.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/vocabulary.h"

#include <assert.h>
#include <stdio.h>

int32_t rt_token_limit(rt_level level)
{
    return level == RT_LEVEL_CHAR ? 0x110000 : 0x100;
}

size_t rt_token_read(rt_level level, const unsigned char *text, size_t bytes, int32_t *token)
{
    if (level == RT_LEVEL_CHAR)
        return rt_utf8_read(text, bytes, token);
    *token = text[0];
    return 1;
}

size_t rt_token_write(rt_level level, int32_t token, char to[RT_UTF8_SIZE])
{
    if (level == RT_LEVEL_CHAR)
        return rt_utf8_write(token, to);
    to[0] = (char)(unsigned char)token;
    to[1] = '\0';
    return 1;
}

const char *rt_token_name(rt_level level, int32_t token, char name[RT_WORD_NAME_SIZE])
{
    if (level == RT_LEVEL_CHAR || (token >= ' ' && token <= '~'))
        return rt_character_name(token, name);
    snprintf(name, RT_WORD_NAME_SIZE, "byte 0x%02x", (unsigned)token);
    return name;
}

size_t rt_token_count(rt_level level, const unsigned char *text, size_t bytes)
{
    return level == RT_LEVEL_BYTE ? bytes : rt_utf8_count(text, bytes);
}

rt_token_words rt_words_for_tokens(rt_level level)
{
    static const rt_token_words words[] = {
        [RT_LEVEL_BYTE] = {"byte", "bytes", "bytes"},
        [RT_LEVEL_CHAR] = {"character", "characters", "characters"},
        [RT_LEVEL_WORDPIECE] = {"word piece", "word pieces", "words"},
        [RT_LEVEL_BPE] = {"piece", "pieces", "bytes"},
        [RT_LEVEL_RESIDUE] = {"residue", "residues", "words"},
    };
    return words[level];
}

static const char *key_of(rt_level level)
{
    static const char *const keys[] = {[RT_LEVEL_CHAR] = "data.level = char",
                                       [RT_LEVEL_WORDPIECE] = "data.level = wordpiece",
                                       [RT_LEVEL_BPE] = "data.level = bpe",
                                       [RT_LEVEL_RESIDUE] = "data.level = residue"};
    return keys[level];
}

rt_status rt_level_check(rt_level level, const char *path, const unsigned char *text, size_t bytes)
{
    return level == RT_LEVEL_BYTE ? rt_ok() : rt_utf8_check(key_of(level), path, text, bytes);
}

rt_status rt_level_error(rt_level level, const char *path, unsigned char byte, size_t offset)
{
    return rt_utf8_error(key_of(level), path, byte, offset);
}

/* ---- special tokens ---- */

const rt_special_ids rt_default_special_ids = {RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP,
                                               RT_NO_ID};

const char *rt_special_token(rt_level level, int i)
{
    static const char *const of_texts[RT_SPECIAL_TOKENS] = {"[PAD]", "[CLS]", "[MASK]", "[SEP]",
                                                            "[UNK]"};
    static const char *const of_proteins[RT_SPECIAL_TOKENS] = {"<pad>", "<cls>", "<mask>", "<eos>",
                                                               "<unk>"};
    return level == RT_LEVEL_RESIDUE ? of_proteins[i] : of_texts[i];
}

bool rt_vocabulary_pads(const rt_special_ids *ids)
{
    return ids->pad != RT_NO_ID && ids->pad != ids->cls && ids->pad != ids->sep;
}

int32_t *rt_special_id(rt_special_ids *ids, int i)
{
    int32_t *const all[RT_SPECIAL_TOKENS] = {&ids->pad, &ids->cls, &ids->mask, &ids->sep,
                                             &ids->unknown};
    return all[i];
}

rt_text_frame rt_vocabulary_frame(const rt_vocabulary *v)
{
    const rt_bpe *bpe = v->bpe;
    const bool framed = bpe && (bpe->first != RT_NO_ID || bpe->last != RT_NO_ID);
    return framed ? (rt_text_frame){bpe->first, bpe->last}
                  : (rt_text_frame){v->special.cls, v->special.sep};
}

/* ---- the characters of texts that are read part by part ---- */

bool rt_characters_seen_open(rt_characters_seen *seen)
{
    seen->count = 0;
    seen->occurs = rt_alloc((size_t)rt_token_limit(RT_LEVEL_CHAR), sizeof *seen->occurs);
    return seen->occurs != NULL;
}

void rt_characters_seen_close(rt_characters_seen *seen)
{
    rt_free(seen->occurs);
}

void rt_characters_seen_add(void *context, const unsigned char *text, size_t bytes)
{
    rt_characters_seen *seen = context;
    int32_t character = 0;
    size_t size;
    for (size_t at = 0; at < bytes; at += size) {
        size = rt_token_read(RT_LEVEL_CHAR, text + at, bytes - at, &character);
        assert(size);
        seen->count += !seen->occurs[character];
        seen->occurs[character] = true;
    }
}

rt_status rt_characters_seen_vocabulary(rt_vocabulary **vocabulary_new, const char *name,
                                        const rt_characters_seen *seen)
{
    const int32_t limit = rt_token_limit(RT_LEVEL_CHAR);
    *vocabulary_new = NULL;
    if (seen->count > RT_CHARACTERS_LIMIT)
        return rt_error(RT_DATA, "%s: a text can have up to %d different characters; it has %d",
                        name, RT_CHARACTERS_LIMIT, seen->count);
    int32_t *characters = rt_alloc((size_t)seen->count, sizeof *characters);
    if (!characters)
        return rt_out_of_memory("a vocabulary");
    for (int32_t character = 0, rank = 0; character < limit; character++)
        if (seen->occurs[character])
            characters[rank++] = character;
    rt_status status =
        rt_vocabulary_of_characters(vocabulary_new, RT_LEVEL_CHAR, characters, seen->count);
    rt_free(characters);
    return status;
}

rt_status rt_vocabulary_of_text(rt_vocabulary **vocabulary_new, const char *name,
                                const unsigned char *text, size_t bytes)
{
    rt_characters_seen seen;
    *vocabulary_new = NULL;
    if (!rt_characters_seen_open(&seen))
        return rt_out_of_memory("a vocabulary");
    rt_characters_seen_add(&seen, text, bytes);
    rt_status status = rt_characters_seen_vocabulary(vocabulary_new, name, &seen);
    rt_characters_seen_close(&seen);
    return status;
}
