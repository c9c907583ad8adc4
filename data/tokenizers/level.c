#include "data/tokenizers/level.h"

#include "data/batch.h"

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
    return level == RT_LEVEL_CHAR ? rt_character_name(token, name) : rt_byte_name(token, name);
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
#define KEY(value, word) "data.level = " word,
    static const char *const keys[] = {RT_LEVELS(KEY)};
#undef KEY
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
