#include "data/encode_text.h"

#include "core/memory.h"
#include "data/documents.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/simple_tokens.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

size_t rt_id_width(int vocab)
{
    return vocab <= UINT16_MAX + 1 ? sizeof(uint16_t) : sizeof(int32_t);
}

void rt_id_list_reserve(rt_id_list *list, size_t room)
{
    if (room <= list->room || list->failed)
        return;
    void *larger = rt_alloc_unset(room, list->width);
    list->failed = !larger;
    if (!larger)
        return;
    if (list->count)
        memcpy(larger, list->ids, list->count * list->width);
    rt_free(list->ids);
    list->ids = larger;
    list->room = room;
}

void rt_id_list_add(void *context, int32_t id)
{
    rt_id_list *list = context;
    if (list->count == list->room)
        rt_id_list_reserve(list, list->room + list->room / 2 + 1);
    if (list->failed)
        return;
    if (list->width == sizeof(uint16_t))
        ((uint16_t *)list->ids)[list->count++] = (uint16_t)id;
    else
        ((int32_t *)list->ids)[list->count++] = id;
}

void rt_id_list_free(rt_id_list *list)
{
    rt_free(list->ids);
    *list = (rt_id_list){.width = list->width};
}

/* ---- encoding ---- */

/* Bytes of a part at first, and of the longest one, when no place to cut at is found before. */
#define PART_SIZE ((size_t)4 << 20)
#define PART_MOST ((size_t)1 << 30)

enum { MOST_THREADS = 64 };

/* ---- UTF-8 ---- */

/* The bytes of a part without a character that is cut at its end. */
static size_t whole_characters(const unsigned char *bytes, size_t size)
{
    size_t end = size;
    for (int back = 0; back < 3 && end > 0 && (bytes[end - 1] & 0xc0) == 0x80; back++)
        end--;
    return end > 0 && bytes[end - 1] >= 0xc0 ? end - 1 : size;
}

/* Bytes of the text from `at` on; a message names the file, and the place there. */
static rt_status check_level(const rt_text_files *text, rt_level level, size_t at,
                             const unsigned char *bytes, size_t size)
{
    const size_t valid = level == RT_LEVEL_BYTE ? size : rt_utf8_valid(bytes, size);
    if (valid == size)
        return rt_ok();
    const rt_text_file *file = rt_text_files_at(text, at + valid);
    return rt_level_error(level, file->path, bytes[valid], at + valid - file->start);
}

/* ---- where a text can be cut ---- */

/* Returns whether characters that begin with this byte are no spaces and never join the text before
 * them: digits and letters of ASCII, Latin-1, Greek, Cyrillic, and ideographs. */
static bool is_plain(unsigned char byte)
{
    const unsigned char lower = byte | 0x20;
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == 0xc3 ||
           (byte >= 0xce && byte <= 0xd1) || (byte >= 0xe4 && byte <= 0xe9);
}

/* Returns whether the character that ends before a place is no blank. */
static bool ends_word(const unsigned char *bytes, size_t at)
{
    size_t start = at;
    int32_t c;
    while (start > 0 && at - start < 4 && (bytes[start - 1] & 0xc0) == 0x80)
        start--;
    start -= start > 0;
    return at > 0 && rt_utf8_read(bytes + start, at - start, &c) == at - start && !rt_is_blank(c);
}

static bool is_ascii_blank(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Rules by which BPE cuts a run of blanks with a newline in it between two words. */
typedef struct blank_rules {
    bool longer;     /* runs of more than one blank can be cut */
    bool lines;      /* blanks up to the last newline are one word (LLaMA 3: \s*[\r\n]+); else all
                        but the last blank are one word (GPT-2: \s+(?!\S)|\s+) */
    bool digits;     /* numbers are cut off before, so that blanks before one are all one word */
    bool any_letter; /* no added token takes the blanks before it */
} blank_rules;

static blank_rules blank_rules_of(const rt_bpe *bpe)
{
    const rt_added_tokens *lists[] = {&bpe->as_is, &bpe->composed};
    blank_rules r = {.longer = true, .any_letter = true};
    int words = 0;
    for (int i = 0; i < bpe->cut_count; i++) {
        words += bpe->cuts[i] >= RT_PRETOKENIZER_GPT2;
        r.lines |= bpe->cuts[i] > RT_PRETOKENIZER_GPT2;
        r.digits |= bpe->cuts[i] < RT_PRETOKENIZER_GPT2;
    }
    r.longer = words == 1;
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < lists[l]->count; i++) {
            r.longer &= !lists[l]->list[i].takes_right;
            r.any_letter &= !lists[l]->list[i].takes_left;
        }
    return r;
}

/* Returns whether a word may begin at a place, whatever stands before it. */
static bool begins_word(blank_rules r, const unsigned char *bytes, size_t at, size_t size)
{
    int32_t c;
    if (is_plain(bytes[at]))
        return true;
    return r.any_letter && rt_utf8_read(bytes + at, size - at, &c) && !rt_is_blank(c);
}

/* Returns the place in a run of blanks where the words on both sides stay as they are, beside a
 * newline, which no added token holds; 0 if there is none. */
static size_t cut_in_blanks(blank_rules r, const unsigned char *bytes, size_t start, size_t end)
{
    const bool letter = is_plain(bytes[end]) && !(bytes[end] >= '0' && bytes[end] <= '9');
    if (end - start == 1 && bytes[start] == '\n')
        return end;
    if (!r.longer)
        return 0;
    if (!r.lines)
        return end - start > 1 && bytes[end - 1] == '\n' && (letter || !r.digits) ? end - 1 : 0;
    for (size_t at = end; at > start && bytes[at - 1] != '\r'; at--)
        if (bytes[at - 1] == '\n')
            return at;
    return 0;
}

/* Returns the last place beside a newline where BPE has the same ids for a text and for its two
 * parts; 0 if there is none. */
static size_t newline_cut(blank_rules r, const unsigned char *bytes, size_t size)
{
    for (size_t end = size, start; end > 1; end = start - 1) {
        size_t cut = 0;
        start = end;
        while (start > 0 && is_ascii_blank(bytes[start - 1]))
            start--;
        if (end < size && start < end && ends_word(bytes, start) &&
            begins_word(r, bytes, end, size))
            cut = cut_in_blanks(r, bytes, start, end);
        if (cut)
            return cut;
        if (start == 0)
            break;
    }
    return 0;
}

/* Returns whether a part of a text may hold a token that the whole text does not: a token that
 * spans a newline or takes the newline before it. */
static bool token_reaches(const rt_added_tokens *tokens)
{
    for (int i = 0; i < tokens->count; i++) {
        const rt_added_token *token = &tokens->list[i];
        if (memchr(token->text, '\n', token->size) ||
            (token->takes_left && is_plain((unsigned char)token->text[0])))
            return true;
    }
    return false;
}

/* Returns whether BPE gives the same ids for a text and for its parts: its words end at newlines,
 * unless it cuts none, and it puts no space before a text. */
static bool can_be_cut(const rt_vocabulary *v)
{
    bool words = false;
    if (!v->bpe)
        return true;
    for (int i = 0; i < v->bpe->cut_count; i++)
        words |= v->bpe->cuts[i] >= RT_PRETOKENIZER_GPT2;
    return words && v->bpe->space_before < 0 && !token_reaches(&v->bpe->as_is) &&
           !token_reaches(&v->bpe->composed);
}

/* The last place behind a space or a newline. */
static size_t space_cut(const unsigned char *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] != ' ' && bytes[size - 1] != '\n')
        size--;
    return size;
}

static size_t find_cut(const rt_text_encoding *e, const unsigned char *bytes, size_t size)
{
    if (rt_documents_are_cut(e->options))
        return rt_document_cut(e->options->documents, bytes, size);
    switch (e->vocabulary->level) {
    case RT_LEVEL_BYTE:
        return size;
    case RT_LEVEL_CHAR:
        return whole_characters(bytes, size);
    case RT_LEVEL_WORDPIECE:
    case RT_LEVEL_RESIDUE:
        return space_cut(bytes, size);
    case RT_LEVEL_BPE:
        break;
    }
    return newline_cut(blank_rules_of(e->vocabulary->bpe), bytes, size);
}

/* ---- a part ---- */

typedef struct part {
    const rt_text_encoding *e;
    unsigned char *bytes;
    size_t at, size, room; /* `at` in the text */
    rt_id_list ids;
    rt_unknown unknown;
    rt_status status;
} part;

/* Estimates the number of ids of a text: English has a piece of a word for about four bytes. */
static size_t estimate(const rt_vocabulary *v, const unsigned char *text, size_t bytes)
{
    return v->level == RT_LEVEL_WORDPIECE || v->bpe ? bytes / 3 + 1
                                                    : rt_token_count(v->level, text, bytes);
}

/* Adds the ids of the tokens of some bytes. Unless the options say otherwise, a special token in it
 * is text: running text that shows [MASK] hides nothing. */
static rt_status encode_bytes(part *p, size_t start, size_t end)
{
    const rt_vocabulary *v = p->e->vocabulary;
    rt_unknown unknown;
    rt_status status =
        rt_vocabulary_encode_to(v, (const char *)p->bytes + start, end - start,
                                p->e->options->special, rt_id_list_add, &p->ids, &unknown);
    rt_unknown_add(&p->unknown, &unknown, p->at + start);
    if (status.code == RT_ARGUMENT)
        return rt_error(RT_DATA, "%s: %s", p->e->text->key, status.message);
    return status;
}

static rt_status encode_documents(part *p)
{
    const char *documents = p->e->options->documents;
    rt_document_span span;
    rt_status status = rt_ok();
    size_t at = 0;
    while (!status.code && rt_document_next(documents, p->bytes, p->size, &at, &span)) {
        status = encode_bytes(p, span.start, span.end);
        rt_id_list_add(&p->ids, p->e->vocabulary->special.sep);
    }
    return status;
}

static void *encode_part(void *context)
{
    part *p = context;
    const rt_text_encoding *e = p->e;
    if (!e->text->memory) /* whose files were looked at each by itself */
        p->status = check_level(e->text, e->vocabulary->level, p->at, p->bytes, p->size);
    if (p->status.code)
        return NULL;
    rt_id_list_reserve(&p->ids, estimate(e->vocabulary, p->bytes, p->size));
    if (!p->ids.failed)
        p->status =
            rt_documents_are_cut(e->options) ? encode_documents(p) : encode_bytes(p, 0, p->size);
    if (p->ids.failed)
        p->status = rt_out_of_memory("the text of a file");
    return NULL;
}

static rt_status read_more(part *p, size_t size)
{
    if (size > p->room) {
        unsigned char *larger = rt_alloc_unset(size, 1);
        if (!larger)
            return rt_out_of_memory("a part of a text");
        if (p->size)
            memcpy(larger, p->bytes, p->size);
        rt_free(p->bytes);
        p->bytes = larger;
        p->room = size;
    }
    rt_status status =
        rt_text_files_read(p->e->text, p->at + p->size, size - p->size, p->bytes + p->size);
    p->size = status.code ? 0 : size;
    return status;
}

/* Reads the part that begins at a place of the text, up to one where it can be cut. */
static rt_status read_part(part *p, size_t at)
{
    const size_t left = p->e->text->bytes - at;
    const bool whole = !rt_documents_are_cut(p->e->options) && !can_be_cut(p->e->vocabulary);
    rt_status status = rt_ok();
    p->at = at;
    p->size = 0;
    for (size_t size = PART_SIZE, end = 0; !end && !status.code; size *= 2) {
        const bool rest = whole || size >= left;
        if (!rest && size > PART_MOST)
            return rt_error(RT_DATA,
                            "%.600s: %s has no place where it can be cut in %zu bytes from byte "
                            "%zu on",
                            rt_text_files_at(p->e->text, at)->path, p->e->text->key, size / 2, at);
        status = read_more(p, rest ? left : size);
        end = rest ? left : status.code ? 0 : find_cut(p->e, p->bytes, p->size);
        p->size = status.code ? 0 : end ? end : p->size;
    }
    return status;
}

/* ---- all parts ---- */

static rt_status stopped(const rt_text_encoding *e, size_t done)
{
    const rt_data_watch *w = e->options->watch;
    if (!w)
        return rt_ok();
    w->progress(w->context, e->what, (double)done / (double)e->text->bytes);
    return w->stop(w->context) ? rt_error(RT_IO, "stopped by a signal while %s", e->what) : rt_ok();
}

/* Reads parts and encodes them together; returns how many, and moves *at behind them. */
static rt_status encode_round(part *parts, int threads, size_t *at, int *count)
{
    const rt_text_encoding *e = parts->e;
    pthread_t others[MOST_THREADS];
    bool started[MOST_THREADS] = {false};
    rt_status status = rt_ok();
    for (*count = 0; *count < threads && *at < e->text->bytes && !status.code; ++*count) {
        status = read_part(&parts[*count], *at);
        *at += parts[*count].size;
        if (e->see)
            e->see(e->viewer, parts[*count].bytes, parts[*count].size);
    }
    if (status.code)
        return status;
    for (int i = 1; i < *count; i++)
        started[i] = !pthread_create(&others[i], NULL, encode_part, &parts[i]);
    encode_part(&parts[0]);
    for (int i = 1; i < *count; i++)
        if (started[i])
            pthread_join(others[i], NULL);
        else
            encode_part(&parts[i]);
    return rt_ok();
}

static rt_status take_round(rt_text_encoding *e, part *parts, int count)
{
    rt_status status = rt_ok();
    for (int i = 0; i < count && !status.code; i++) {
        part *p = &parts[i];
        status = p->status;
        rt_unknown_add(&e->unknown, &p->unknown, 0);
        p->unknown = (rt_unknown){0};
        if (!status.code)
            status = e->take(e->context, &p->ids);
        p->ids.count = 0;
    }
    return status;
}

/* A text in memory is one part, which is not copied. */
static rt_status encode_memory(rt_text_encoding *e)
{
    part p = {.e = e,
              .bytes = e->text->memory,
              .size = e->text->bytes,
              .ids.width = rt_id_width(e->vocabulary->count)};
    encode_part(&p);
    rt_status status = take_round(e, &p, 1);
    rt_id_list_free(&p.ids);
    return status;
}

rt_status rt_text_encode(rt_text_encoding *e)
{
    const int wanted = e->options->threads;
    const int threads = wanted < 1 ? 1 : wanted > MOST_THREADS ? MOST_THREADS : wanted;
    e->unknown = (rt_unknown){0};
    if (e->text->memory)
        return encode_memory(e);
    part *parts = rt_alloc((size_t)threads, sizeof *parts);
    if (!parts)
        return rt_out_of_memory("parts of a text");
    for (int i = 0; i < threads; i++)
        parts[i] = (part){.e = e, .ids.width = rt_id_width(e->vocabulary->count)};
    rt_status status = rt_ok();
    for (size_t at = 0; at < e->text->bytes && !status.code;) {
        int count;
        status = stopped(e, at);
        if (!status.code)
            status = encode_round(parts, threads, &at, &count);
        if (!status.code)
            status = take_round(e, parts, count);
    }
    for (int i = 0; i < threads; i++) {
        rt_free(parts[i].bytes);
        rt_id_list_free(&parts[i].ids);
    }
    rt_free(parts);
    return status.code ? status : stopped(e, e->text->bytes);
}

rt_status rt_text_scan(const rt_text_files *text, rt_level level, rt_text_look *look, void *context)
{
    unsigned char *bytes = rt_alloc_unset(PART_SIZE, 1);
    rt_status status = bytes ? rt_ok() : rt_out_of_memory("a part of a text");
    for (size_t at = 0, size; at < text->bytes && !status.code; at += size) {
        const size_t left = text->bytes - at;
        size = left < PART_SIZE ? left : PART_SIZE;
        status = rt_text_files_read(text, at, size, bytes);
        if (status.code)
            break;
        if (size < left)
            size = whole_characters(bytes, size);
        status = check_level(text, level, at, bytes, size);
        if (!status.code)
            look(context, bytes, size);
    }
    rt_free(bytes);
    return status;
}
