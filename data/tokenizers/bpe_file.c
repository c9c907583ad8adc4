/* Parses a tokenizer.json with byte-level BPE. */

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/characters.h"
#include "data/tokenizers/tokens.h"
#include "util/json.h"
#include "util/writer.h"

#include <inttypes.h>
#include <string.h>

/* GPT-2's printable characters for bytes: printable bytes of Latin-1 are themselves; the others (0
 * to 0x20, 0x7f to 0xa0 and 0xad) are U+0100 and following. */
enum { BYTES = RT_BPE_BYTE_COUNT, FIRST_HIGH = 0x7f, LOW = 0x21, HIGH = 0x22, HYPHEN = 0xad };

int32_t rt_bpe_character_of(unsigned char byte)
{
    if (byte < LOW)
        return BYTES + byte;
    if (byte >= FIRST_HIGH && byte < FIRST_HIGH + HIGH)
        return BYTES + LOW + byte - FIRST_HIGH;
    return byte == HYPHEN ? BYTES + LOW + HIGH : byte;
}

/* Returns the byte that a character represents, or -1. */
static int32_t byte_of(int32_t character)
{
    const int32_t other = character - BYTES;
    const int32_t byte = other < 0            ? character
                         : other < LOW        ? other
                         : other < LOW + HIGH ? FIRST_HIGH + other - LOW
                                              : HYPHEN;
    return rt_bpe_character_of((unsigned char)byte) == character ? byte : -1;
}

/* Text of an id in the file. */
typedef struct id_text {
    const char *text; /* NULL: unused id */
    bool added;       /* content of an added token */
} id_text;

/* State of the parser. Functions that return bool return false after setting `status`, which keeps
 * the first error. */
typedef struct reading {
    rt_vocabulary *v; /* to be filled */
    rt_bpe *bpe;      /* v->bpe */
    const char *name; /* name of the file */
    const json_t *json, *model;
    json_t *vocab;  /* model.vocab */
    json_t *added;  /* added_tokens */
    id_text *texts; /* (v->count) */
    size_t text_capacity;
    const char *begins, *ends; /* tokens of the post-processor around a text; or NULL */
    rt_status status;
} reading;

static bool fail(reading *r, rt_status status)
{
    if (!r->status.code)
        r->status = status;
    return false;
}

#define refuse(r, ...)                                                                             \
    fail(r, rt_error(RT_DATA, "%s: %s", (r)->name, RT_PRINTED(RT_MESSAGE_SIZE, __VA_ARGS__)))

static bool run_out(reading *r)
{
    return fail(r, rt_out_of_memory("a vocabulary"));
}

/* Returns a boolean key of an object, `otherwise` if it is absent or null. `where` names the object
 * in messages: "model", "added_tokens[3]". */
static bool read_flag(reading *r, const json_t *object, const char *where, const char *key,
                      bool otherwise)
{
    const json_t *found = json_object_get(object, key);
    if (json_is_boolean(found))
        return json_is_true(found);
    if (found && !json_is_null(found))
        refuse(r, "%s.%s must be true or false", where, key);
    return otherwise;
}

static bool is_absent(const json_t *part)
{
    return !part || json_is_null(part);
}

static bool has_type(const json_t *part, const char *type)
{
    return !strcmp(rt_json_word(part, "type"), type);
}

static bool refuse_type(reading *r, const char *where, const json_t *part, const char *read)
{
    const char *type = rt_json_word(part, "type");
    return refuse(r, "%s is %s; %s", where, *type ? RT_WORD_NAMED(type) : "missing", read);
}

/* Reads a part of the file, or each part of a Sequence; `name` is the key of its list. */
static bool read_parts(reading *r, const char *key, const char *name,
                       bool (*read_part)(reading *r, const json_t *part, bool last))
{
    const json_t *part = json_object_get(r->json, key), *list = json_object_get(part, name);
    const size_t count = json_array_size(list);
    bool read = true;
    if (!has_type(part, "Sequence"))
        return read_part(r, part, true);
    if (!json_is_array(list))
        return refuse(r, "%s.%s must be a list", key, name);
    for (size_t i = 0; i < count && read; i++)
        read = read_part(r, json_array_get(list, i), i + 1 == count);
    return read;
}

/* Reads a normal form. The order in a Sequence does not matter: NFC then NFKC, and NFKC then NFC,
 * are NFKC. */
static bool read_form(reading *r, const json_t *part, bool last)
{
    (void)last;
    const rt_form form = has_type(part, "NFC")    ? RT_FORM_NFC
                         : has_type(part, "NFKC") ? RT_FORM_NFKC
                                                  : RT_FORM_NONE;
    if (form == RT_FORM_NONE)
        return refuse_type(r, "normalizer", part,
                           "null, 'NFC', 'NFKC' and a 'Sequence' of these are read");
    if (form > r->bpe->form)
        r->bpe->form = form;
    return true;
}

/* Supported patterns. GPT-2 and GPT-4 have two spellings each; the second is that of OpenAI's
 * tiktoken. */
static const struct {
    const char *pattern;
    rt_pretokenizer cut;
} patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_GPT2},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_GPT2},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_LLAMA3},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}|"
     " ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_LLAMA3},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
     " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     RT_PRETOKENIZER_QWEN2},
};

const char *rt_bpe_pattern(rt_pretokenizer cut)
{
    size_t i = 0;
    while (i < sizeof patterns / sizeof *patterns && patterns[i].cut != cut)
        i++;
    return i < sizeof patterns / sizeof *patterns ? patterns[i].pattern : NULL;
}

static bool add_cut(reading *r, rt_pretokenizer cut)
{
    if (r->bpe->cut_count == RT_CUTS_LIMIT)
        return refuse(r, "pre_tokenizer cuts a text more than %d times", RT_CUTS_LIMIT);
    r->bpe->cuts[r->bpe->cut_count++] = cut;
    return true;
}

/* Reads a Split. If a pattern matches everywhere, removing the rest (invert, Removed) equals
 * Isolated. */
static bool read_split(reading *r, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *behavior = rt_json_word(part, "behavior");
    const bool invert = read_flag(r, part, "pre_tokenizer", "invert", false);
    if (strcmp(behavior, "Isolated") != 0 && !(invert && !strcmp(behavior, "Removed")))
        refuse(r, "pre_tokenizer: the behavior of Split is %s; 'Isolated' is read",
               RT_WORD_NAMED(behavior));
    if (r->status.code)
        return false;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && regex; i++)
        if (!strcmp(regex, patterns[i].pattern))
            return add_cut(r, patterns[i].cut);
    if (!regex)
        return refuse(r, "pre_tokenizer: Split has no pattern with Regex");
    return refuse(r,
                  "pre_tokenizer: Split has the pattern '%.400s', which is none of those that are "
                  "read: GPT-2's, GPT-4's and LLaMA 3's, Qwen2's",
                  regex);
}

static bool read_cut(reading *r, const json_t *part, bool last)
{
    if (last && has_type(part, "ByteLevel")) {
        if (read_flag(r, part, "pre_tokenizer", "add_prefix_space", true))
            r->bpe->space_before = r->bpe->cut_count;
        read_flag(r, part, "pre_tokenizer", "trim_offsets", true);
        const bool regex = read_flag(r, part, "pre_tokenizer", "use_regex", true);
        return !r->status.code && (!regex || add_cut(r, RT_PRETOKENIZER_GPT2));
    }
    if (!last && has_type(part, "Digits")) {
        const bool alone = read_flag(r, part, "pre_tokenizer", "individual_digits", false);
        return !r->status.code &&
               add_cut(r, alone ? RT_PRETOKENIZER_DIGIT : RT_PRETOKENIZER_DIGITS);
    }
    if (!last && has_type(part, "Split"))
        return read_split(r, part);
    return refuse_type(r, last ? "pre_tokenizer, at its end," : "pre_tokenizer", part,
                       "'ByteLevel' is read, and before it 'Digits' and 'Split'");
}

/* Reads the tokens of a template before and after a text. */
static bool read_processor(reading *r, const json_t *part, bool last)
{
    const json_t *list = json_object_get(part, "single");
    bool behind = false;
    (void)last;
    if (is_absent(part) || has_type(part, "ByteLevel"))
        return true;
    if (!has_type(part, "TemplateProcessing"))
        return refuse_type(r, "post_processor", part,
                           "'ByteLevel' and 'TemplateProcessing' are read");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *token =
            json_string_value(json_object_get(json_object_get(item, "SpecialToken"), "id"));
        behind |= json_object_get(item, "Sequence") != NULL;
        if (token && behind && !r->ends)
            r->ends = token;
        if (token && !behind && r->begins)
            return refuse(r, "post_processor.single has more than one token before the text");
        if (token && !behind)
            r->begins = token;
    }
    return behind || refuse(r, "post_processor.single must be a list with a Sequence");
}

/* Returns the place for the text of an id. NULL if the id is invalid or, with r->status set, if
 * memory is exhausted. */
static id_text *text_of_id(reading *r, const json_t *number)
{
    const json_int_t id = json_is_integer(number) ? json_integer_value(number) : -1;
    if (id < 0 || id >= RT_BPE_LIMIT)
        return NULL;
    if (id >= r->v->count) {
        const size_t count = (size_t)r->v->count, needed = (size_t)id + 1;
        if (!rt_grow(&r->texts, &r->text_capacity, needed, sizeof *r->texts)) {
            run_out(r);
            return NULL;
        }
        memset(r->texts + count, 0, (needed - count) * sizeof *r->texts);
        r->v->count = (int)needed;
    }
    return r->texts + id;
}

/* Sorts the pieces and the added tokens by id. */
static bool sort_by_id(reading *r)
{
    const char *piece;
    json_t *token;
    size_t i;
    json_object_foreach(r->vocab, piece, token)
    {
        id_text *text = text_of_id(r, token);
        if (!text)
            return refuse(r, "model.vocab: the id of %s must be from 0 to %d", RT_WORD_NAMED(piece),
                          RT_BPE_LIMIT - 1);
        if (text->text)
            return refuse(r, "model.vocab: the id %d is that of two pieces, one is %s",
                          (int)json_integer_value(token), RT_WORD_NAMED(piece));
        text->text = piece;
    }
    json_array_foreach(r->added, i, token)
    {
        const char *content = rt_json_word(token, "content");
        id_text *text = text_of_id(r, json_object_get(token, "id"));
        if (!text)
            return refuse(r, "added_tokens[%zu].id must be from 0 to %d", i, RT_BPE_LIMIT - 1);
        if (!*content || strlen(content) > RT_ADDED_TOKEN_SIZE)
            return refuse(r, "added_tokens[%zu].content must be a text of 1 to %d bytes", i,
                          RT_ADDED_TOKEN_SIZE);
        if (text->text && strcmp(text->text, content) != 0)
            return refuse(r, "added_tokens[%zu]: its id %d is that of %s too", i,
                          (int)(text - r->texts), RT_WORD_NAMED(text->text));
        *text = (id_text){content, true};
    }
    return r->v->count || refuse(r, "model.vocab has no piece");
}

/* Stores the text of an id as bytes. An added token may have characters that do not represent
 * bytes; it is stored unchanged. */
static bool write_text(reading *r, int32_t id, const id_text *from)
{
    rt_vocabulary *v = r->v;
    rt_bpe *bpe = r->bpe;
    const char *text = from->text ? from->text : "";
    char *to = v->text + v->starts[id];
    const size_t length = strlen(text);
    size_t size = 0;
    bool bytes = true; /* every character represents a byte */
    for (size_t at = 0, step; at < length && bytes; at += step) {
        int32_t c = 0;
        step = rt_utf8_read((const unsigned char *)text + at, length - at, &c);
        const int32_t byte = step ? byte_of(c) : -1;
        bytes = byte >= 0;
        if (bytes)
            to[size++] = (char)byte;
    }
    if (!bytes && !from->added)
        return refuse(r, "model.vocab: %s is no byte-level text", RT_WORD_NAMED(text));
    if (!bytes)
        memcpy(to, text, size = length);
    if (from->text && !size)
        return refuse(r, "model.vocab: the piece of id %" PRId32 " is empty", id);
    to[size] = '\0';
    v->starts[id + 1] = v->starts[id] + (uint32_t)size + 1;
    v->kinds[id] = from->text ? RT_TOKEN_ORDINARY : RT_TOKEN_NONE;
    if (!bytes || !json_object_get(r->vocab, text))
        return true;
    if (size == 1)
        bpe->bytes[(unsigned char)*to] = id;
    if (!bpe->ignore_merges)
        return true;
    const int32_t number = rt_byte_map_add(&bpe->pieces, to, size);
    if (number < 0)
        return run_out(r);
    bpe->piece_ids[number] = id;
    return true;
}

static bool read_pieces(reading *r)
{
    rt_vocabulary *v = r->v;
    rt_bpe *bpe = r->bpe;
    size_t size = 1;
    if (!sort_by_id(r))
        return false;
    const size_t count = (size_t)v->count, tokens = json_array_size(r->added);
    for (size_t id = 0; id < count; id++)
        size += (r->texts[id].text ? strlen(r->texts[id].text) : 0) + 1;
    v->text = rt_alloc(size, 1);
    v->starts = rt_alloc(count + 1, sizeof *v->starts);
    v->kinds = rt_alloc(count, sizeof *v->kinds);
    v->ordinary = rt_alloc(count, sizeof *v->ordinary);
    bpe->piece_ids = rt_alloc(count, sizeof *bpe->piece_ids);
    bool allocated = v->text && v->starts && v->kinds && v->ordinary && bpe->piece_ids;
    for (int stage = 0; stage < RT_STAGES; stage++) {
        bpe->added[stage].list = rt_alloc(tokens, sizeof *bpe->added->list);
        allocated &= bpe->added[stage].list != NULL;
    }
    if (!allocated)
        return run_out(r);
    for (int byte = 0; byte < BYTES; byte++)
        bpe->bytes[byte] = RT_NO_ID;
    bool read = true;
    for (int32_t id = 0; id < v->count && read; id++)
        read = write_text(r, id, r->texts + id);
    return read;
}

static int32_t find_piece(reading *r, size_t number, const char *piece)
{
    const json_t *found = json_object_get(r->vocab, piece);
    if (!found)
        refuse(r, "model.merges[%zu]: %s is not in model.vocab", number, RT_WORD_NAMED(piece));
    return (int32_t)json_integer_value(found);
}

/* Reads unk_token and the merges: lists of two pieces, or texts with a space between them. Of
 * duplicates the last one is valid, as in tokenizers. */
static bool read_merges(reading *r)
{
    const json_t *token = json_object_get(r->model, "unk_token");
    const json_t *list = json_object_get(r->model, "merges"), *json;
    const char *unknown = json_string_value(token);
    const json_t *id = unknown ? json_object_get(r->vocab, unknown) : NULL;
    RT_OWNED char *text = NULL; /* scratch memory: the left piece, then the joined one */
    size_t capacity = 0, i;
    r->bpe->unknown = id ? (int32_t)json_integer_value(id) : RT_NO_ID;
    if (!is_absent(token) && !unknown)
        return refuse(r, "model.unk_token must be a piece or null");
    if (!json_is_array(list))
        return refuse(r, "model.merges must be a list");
    json_array_foreach(list, i, json)
    {
        const char *whole = json_string_value(json), *space = whole ? strchr(whole, ' ') : NULL;
        const char *left = whole ? whole : json_string_value(json_array_get(json, 0));
        const char *right = whole ? space : json_string_value(json_array_get(json, 1));
        if (whole && !strncmp(whole, "#version", 8)) /* heading of a merges.txt */
            continue;
        if (!left || !right || (whole ? strchr(++right, ' ') != NULL : json_array_size(json) != 2))
            refuse(r, "model.merges[%zu] must be two pieces, as a list or with a space between", i);
        if (r->status.code)
            break;
        const size_t left_size = whole ? (size_t)(space - whole) : strlen(left);
        if (!rt_grow(&text, &capacity, left_size + strlen(right) + 1, 1)) {
            run_out(r);
            break;
        }
        memcpy(text, left, left_size);
        text[left_size] = '\0';
        const int32_t left_id = find_piece(r, i, text), right_id = find_piece(r, i, right);
        strcpy(text + left_size, right);
        const int32_t joined = find_piece(r, i, text);
        rt_pair *merge = r->status.code ? NULL : rt_pairs_at(&r->bpe->merges, left_id, right_id);
        if (!merge) {
            run_out(r);
            break;
        }
        merge->rank = (int64_t)i;
        merge->joined = joined;
    }
    return !r->status.code;
}

/* Parses the members of `model` except vocab, unk_token and merges. If unk_token is not a piece,
 * unknown bytes are omitted and counted, while tokenizers fails when it needs the token. */
static bool read_model(reading *r)
{
    /* keys that change how words are joined, unless they are null, empty or 0 */
    static const char *const absent[] = {"dropout", "continuing_subword_prefix",
                                         "end_of_word_suffix"};
    const char *type = rt_json_word(r->model, "type");
    if (*type && strcmp(type, "BPE") != 0)
        return refuse(r, "model.type is %s; 'BPE' is read", RT_WORD_NAMED(type));
    if (!json_is_object(r->vocab))
        return refuse(r, "model.vocab must be an object");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        const json_t *found = json_object_get(r->model, absent[i]);
        const char *text = json_string_value(found);
        if (!is_absent(found) && !(text && !*text) &&
            !(json_is_number(found) && json_number_value(found) == 0))
            return refuse(r, "model.%s must be null", absent[i]);
    }
    if (read_flag(r, r->model, "model", "byte_fallback", false))
        return refuse(r,
                      "model.byte_fallback must be false: the pieces must be of bytes, as those of "
                      "ByteLevel are");
    r->bpe->fuses_unknown = read_flag(r, r->model, "model", "fuse_unk", false);
    r->bpe->ignore_merges = read_flag(r, r->model, "model", "ignore_merges", false);
    return !r->status.code;
}

/* Reads an added token. The content of a token with `normalized` is normalized, too. Returns false
 * unless its id is that of the piece with the same text or, without one, the next id after the
 * pieces: tokenizers assigns these ids whatever the file says. */
static bool read_token(reading *r, size_t number, const json_t *token, json_int_t *largest)
{
    const char *content = rt_json_word(token, "content");
    const json_t *piece = json_object_get(r->vocab, content);
    const json_int_t id = json_integer_value(json_object_get(token, "id"));
    const json_int_t pieces = (json_int_t)json_object_size(r->vocab);
    const json_int_t wanted = piece                ? json_integer_value(piece)
                              : *largest >= pieces ? *largest + 1
                                                   : pieces;
    rt_added_token t = {.size = strlen(content), .id = (int32_t)id};
    *largest = id > *largest ? id : *largest;
    const char *where = RT_PRINTED(40, "added_tokens[%zu]", number);
    if (id != wanted)
        return refuse(r, "%s.id must be %lld; it is %lld", where, (long long)wanted, (long long)id);
    if (read_flag(r, token, where, "single_word", false))
        return refuse(r, "%s.single_word must be false", where);
    t.special = read_flag(r, token, where, "special", false);
    t.takes_left = read_flag(r, token, where, "lstrip", false);
    t.takes_right = read_flag(r, token, where, "rstrip", false);
    const bool normalized = read_flag(r, token, where, "normalized", false);
    unsigned char *text = NULL;
    if (r->status.code)
        return false;
    if (!normalized || r->bpe->form == RT_FORM_NONE)
        text = (unsigned char *)rt_copy_text(content);
    else
        r->status =
            rt_normal_form(r->bpe->form, &text, &t.size, (const unsigned char *)content, t.size);
    if (!text)
        return run_out(r);
    text[t.size] = '\0';
    t.text = (char *)text;
    rt_added_tokens *to = &r->bpe->added[normalized ? RT_COMPOSED : RT_AS_IS];
    to->list[to->count++] = t;
    if (t.special)
        r->v->kinds[t.id] = RT_TOKEN_SPECIAL;
    return true;
}

static bool read_added_tokens(reading *r)
{
    json_int_t largest = -1;
    bool read = true;
    for (size_t i = 0; i < json_array_size(r->added) && read; i++)
        read = read_token(r, i, json_array_get(r->added, i), &largest);
    for (int stage = 0; stage < RT_STAGES && read; stage++) {
        rt_added_tokens *tokens = &r->bpe->added[stage];
        tokens->pieces.count = tokens->count;
        tokens->pieces.sorted = rt_alloc((size_t)tokens->count, sizeof *tokens->pieces.sorted);
        if (!tokens->pieces.sorted)
            return run_out(r);
        for (int i = 0; i < tokens->count; i++)
            tokens->pieces.sorted[i] = (rt_piece){tokens->list[i].text, i};
        const rt_piece *twice = rt_pieces_sort(&tokens->pieces);
        read = !twice || refuse(r, "added_tokens has %s twice", RT_WORD_NAMED(twice->text));
    }
    return read;
}

/* Returns the id of the first text in a NULL-terminated list that is a special token, RT_NO_ID if
 * there is none. */
static int32_t find_special(const reading *r, const char *const *texts)
{
    const json_t *token;
    size_t i;
    for (; *texts; texts++)
        json_array_foreach(r->added, i, token)
        {
            if (json_is_true(json_object_get(token, "special")) &&
                !strcmp(rt_json_word(token, "content"), *texts))
                return (int32_t)json_integer_value(json_object_get(token, "id"));
        }
    return RT_NO_ID;
}

/* Finds the special tokens. A text begins with the post-processor's token, or a token with a known
 * name, or else the token that ends a text, as in GPT-2. */
static void find_roles(reading *r)
{
    static const char *const begins[] = {"<|begin_of_text|>", "<s>", "<bos>", "<|bos|>", "[CLS]",
                                         "<|startoftext|>",   NULL};
    static const char *const ends[] = {"<|end_of_text|>", "</s>",  "<eos>", "<|eos|>",
                                       "<|endoftext|>",   "[SEP]", NULL};
    static const char *const pads[] = {"<pad>",       "[PAD]",
                                       "<|pad|>",     "<|finetune_right_pad_id|>",
                                       "<|padding|>", "<|_pad_|>",
                                       NULL};
    static const char *const masks[] = {"<mask>", "[MASK]", "<|mask|>", NULL};
    rt_bpe *bpe = r->bpe;
    bpe->first = find_special(r, (const char *const[]){r->begins, NULL});
    bpe->last = find_special(r, (const char *const[]){r->ends, NULL});
    rt_special_ids ids = {.cls = bpe->first,
                          .sep = bpe->last,
                          .pad = find_special(r, pads),
                          .mask = find_special(r, masks),
                          .unknown = bpe->unknown};
    if (ids.cls == RT_NO_ID)
        ids.cls = find_special(r, begins);
    if (ids.sep == RT_NO_ID)
        ids.sep = find_special(r, ends);
    if (ids.cls == RT_NO_ID)
        ids.cls = ids.sep;
    bpe->found = ids;
}

rt_status rt_bpe_know(rt_vocabulary *v, const char *name, const rt_special_ids *known)
{
    rt_special_ids ids = *known, *special = &v->special;
    rt_bpe *bpe = v->bpe;
    *special = bpe->found;
    for (int i = 0; i < RT_SPECIAL_TOKENS; i++) {
        int32_t *here = rt_special_id(special, i);
        const int32_t id = *rt_special_id(&ids, i);
        const bool pad = here == &special->pad;
        if (id < RT_NO_ID || id >= v->count || (id >= 0 && !pad && v->kinds[id] == RT_TOKEN_NONE))
            return rt_error(RT_DATA, "%s: has no id %d, which is to be %s", name, (int)id,
                            rt_special_token(v->level, i));
        if (id != RT_NO_ID && here != &special->unknown)
            *here = id;
        if (*here != RT_NO_ID && !pad)
            v->kinds[*here] = RT_TOKEN_SPECIAL;
    }
    if (special->cls == RT_NO_ID)
        special->cls = special->sep;
    if (special->pad == RT_NO_ID) /* any id will do, since padding is masked */
        special->pad = special->sep != RT_NO_ID ? special->sep : special->cls;
    if (special->pad == RT_NO_ID)
        special->pad = 0;
    return rt_vocabulary_list_ordinary(v)
               ? rt_ok()
               : rt_error(RT_DATA, "%s: has no token beside the special ones", name);
}

static bool read_all(reading *r)
{
    const json_t *decoder = json_object_get(r->json, "decoder");
    const json_t *cuts = json_object_get(r->json, "pre_tokenizer");
    if (!read_model(r) || (!is_absent(json_object_get(r->json, "normalizer")) &&
                           !read_parts(r, "normalizer", "normalizers", read_form)))
        return false;
    if (has_type(cuts, "Sequence") && !json_array_size(json_object_get(cuts, "pretokenizers")))
        return refuse(r, "pre_tokenizer.pretokenizers must be a list");
    return read_parts(r, "pre_tokenizer", "pretokenizers", read_cut) &&
           (has_type(decoder, "ByteLevel") ||
            refuse_type(r, "decoder", decoder, "'ByteLevel' is read")) &&
           read_parts(r, "post_processor", "processors", read_processor) && read_pieces(r) &&
           read_merges(r) && read_added_tokens(r);
}

rt_status rt_bpe_read(rt_vocabulary *v, const char *name, size_t size)
{
    const rt_special_ids nothing = {RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID, RT_NO_ID};
    json_auto_t *json = NULL;
    rt_bpe *bpe = v->bpe = rt_alloc(1, sizeof *bpe);
    char *copy = rt_alloc_unset(size + 1, 1); /* the parser changes it */
    if (!bpe || !copy) {
        rt_free(copy);
        return rt_out_of_memory("a vocabulary");
    }
    memcpy(copy, v->file, size);
    bpe->space_before = -1;
    const rt_status parsed = rt_json_parse(&json, (rt_json_source){name, .values = RT_BPE_VALUES,
                                                                   .bytes = copy, .size = size});
    const json_t *model = json_object_get(json, "model");
    reading r = {.v = v,
                 .bpe = bpe,
                 .name = name,
                 .json = json,
                 .model = model,
                 .vocab = json_object_get(model, "vocab"),
                 .added = json_object_get(json, "added_tokens"),
                 .status = parsed};
    if (!r.status.code && read_all(&r)) {
        find_roles(&r);
        r.status = rt_bpe_know(v, name, &nothing);
    }
    rt_free(copy);
    rt_free(r.texts);
    return r.status;
}
