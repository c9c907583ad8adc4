#define _GNU_SOURCE /* memmem */

#include "data/encode_text.h"

#include "core/memory.h"
#include "data/files.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/tokens.h"
#include "util/writer.h"

#include <pthread.h>
#include <string.h>

/* Initial size of a part in bytes, and the largest if no cut is found. */
#define PART_SIZE ((size_t)4 << 20)
#define PART_MOST ((size_t)1 << 30)

enum { MOST_THREADS = 64 };

const char *rt_text_documents(const rt_text_files *text, const rt_data_options *o)
{
    return text->list->json ? RT_JSON_DOCUMENT : rt_documents_are_named(o) ? o->documents : NULL;
}

void rt_data_say(const rt_data_options *o, const char *line)
{
    if (o->watch)
        o->watch->say(o->watch->context, line);
}

static const char *separator_of(const char *documents)
{
    return strcmp(documents, "line") ? documents : "\n";
}

static bool is_blank(const unsigned char *text, size_t from, size_t to)
{
    for (; from < to; from++)
        if (text[from] != ' ' && text[from] != '\t' && text[from] != '\r')
            return false;
    return true;
}

/* Finds the end of the lines before a blank one. */
static void take_paragraph(const unsigned char *text, size_t bytes, size_t *at,
                           rt_document_span *span)
{
    for (bool blank = false; *at < bytes && !blank;) {
        const unsigned char *newline = memchr(text + *at, '\n', bytes - *at);
        const size_t end = newline ? (size_t)(newline - text) : bytes;
        blank = is_blank(text, *at, end);
        if (!blank)
            span->end = end;
        *at = newline ? end + 1 : bytes;
    }
}

bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span)
{
    const char *what = separator_of(documents);
    const bool blank = !strcmp(what, "blank"), lines = blank || !strcmp(what, "\n");
    while (*at < bytes) {
        span->start = span->end = *at;
        if (blank) {
            take_paragraph(text, bytes, at, span);
        } else {
            const unsigned char *found = memmem(text + *at, bytes - *at, what, strlen(what));
            span->end = found ? (size_t)(found - text) : bytes;
            *at = found ? span->end + strlen(what) : bytes;
        }
        if (lines && span->end > span->start && text[span->end - 1] == '\r')
            span->end--;
        if (span->end > span->start)
            return true;
    }
    return false;
}

/* Returns the place after the last separator, 0 if there is none. */
static size_t document_cut(const char *documents, const unsigned char *text, size_t bytes)
{
    const char *what = separator_of(documents);
    const size_t size = strlen(what);
    const unsigned char *found;
    size_t cut = 0;
    const bool blank = !strcmp(what, "blank");
    for (size_t at = blank ? bytes : 0; at > 0; at--) {
        size_t start = at - 1;
        if (text[at - 1] != '\n')
            continue;
        while (start > 0 && text[start - 1] != '\n')
            start--;
        if (is_blank(text, start, at - 1))
            return at;
    }
    /* from the start, as in rt_document_next, since a separator may overlap itself */
    while (!blank && (found = memmem(text + cut, bytes - cut, what, size)))
        cut = (size_t)(found - text) + size;
    return cut;
}

/* Returns the size without an incomplete character at the end. */
static size_t whole_characters(const unsigned char *bytes, size_t size)
{
    size_t end = size;
    for (int back = 0; back < 3 && end > 0 && (bytes[end - 1] & 0xc0) == 0x80; back++)
        end--;
    return end > 0 && bytes[end - 1] >= 0xc0 ? end - 1 : size;
}

/* Returns whether characters with this first byte are not spaces and never join the text before
 * them: ASCII digits and letters, Latin-1, Greek, Cyrillic, ideographs. */
static bool is_plain(unsigned char byte)
{
    const unsigned char lower = byte | 0x20;
    return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == 0xc3 ||
           (byte >= 0xce && byte <= 0xd1) || (byte >= 0xe4 && byte <= 0xe9);
}

/* Returns whether the last character before `at` is not a blank. */
static bool ends_word(const unsigned char *bytes, size_t at)
{
    size_t start = at;
    int32_t c;
    while (start > 0 && at - start < 4 && (bytes[start - 1] & 0xc0) == 0x80)
        start--;
    start -= start > 0;
    return at > 0 && rt_utf8_read(bytes + start, at - start, &c) == at - start && !rt_is_blank(c);
}

/* Rules by which BPE splits a text, and blanks with a newline between two words. */
typedef struct cut_rules {
    bool possible; /* words end at newlines, no space is put before a text, and no part of a text
                      matches an added token that the whole text does not */
    bool longer;   /* runs of more than one blank can be cut */
    bool lines;    /* blanks up to the last newline are one word (LLaMA 3: \s*[\r\n]+); else all but
                      the last blank are one word (GPT-2: \s+(?!\S)|\s+) */
    bool digits;   /* numbers are split off first, so that all blanks before one are one word */
    bool any_letter; /* no added token takes the blanks before it */
} cut_rules;

static cut_rules cut_rules_of(const rt_bpe *bpe)
{
    cut_rules r = {.possible = bpe->space_before < 0, .any_letter = true};
    int words = 0;
    for (int i = 0; i < bpe->cut_count; i++) {
        words += bpe->cuts[i] >= RT_PRETOKENIZER_GPT2;
        r.lines |= bpe->cuts[i] > RT_PRETOKENIZER_GPT2;
        r.digits |= bpe->cuts[i] < RT_PRETOKENIZER_GPT2;
    }
    r.possible &= words > 0;
    r.longer = words == 1;
    for (int stage = 0; stage < RT_STAGES; stage++)
        for (int i = 0; i < bpe->added[stage].count; i++) {
            const rt_added_token *token = &bpe->added[stage].list[i];
            r.longer &= !token->takes_right;
            r.any_letter &= !token->takes_left;
            r.possible &= !memchr(token->text, '\n', token->size) &&
                          !(token->takes_left && is_plain((unsigned char)token->text[0]));
        }
    return r;
}

/* Returns a place in a run of blanks that does not change the words on either side. It is beside a
 * newline, which no added token contains; 0 if there is none. */
static size_t cut_in_blanks(cut_rules r, const unsigned char *bytes, size_t start, size_t end)
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

/* Returns the last place beside a newline where BPE gives the same ids for the text and for its two
 * parts; 0 if there is none. */
static size_t newline_cut(cut_rules r, const unsigned char *bytes, size_t size)
{
    for (size_t end = size, start; end > 1; end = start - 1) {
        int32_t c;
        for (start = end; start > 0 && bytes[start - 1] < 0x80 && rt_is_blank(bytes[start - 1]);
             start--)
            ;
        /* a word may begin at `end` whatever precedes it */
        if (end < size && start < end && ends_word(bytes, start) &&
            (is_plain(bytes[end]) ||
             (r.any_letter && rt_utf8_read(bytes + end, size - end, &c) && !rt_is_blank(c)))) {
            const size_t cut = cut_in_blanks(r, bytes, start, end);
            if (cut)
                return cut;
        }
        if (start == 0)
            break;
    }
    return 0;
}

/* Cuts before a possible start of a special token such as [MASK], which has up to six bytes. */
static size_t cut_before_token(const unsigned char *bytes, size_t size)
{
    for (size_t at = size; at > 0 && size - at < 5; at--)
        if (bytes[at - 1] == '[')
            return at - 1;
    return size;
}

/* Returns the last place in the first `size` bytes of a text where it can be cut without changing
 * its ids; 0 if there is none. */
static size_t text_cut(const rt_text_encoding *e, const unsigned char *bytes, size_t size)
{
    const rt_data_options *o = e->options;
    const rt_vocabulary *v = e->vocabulary;
    const char *documents = rt_text_documents(e->text, o);
    if (documents)
        return document_cut(documents, bytes, size);
    switch (v->level) {
    case RT_LEVEL_BYTE:
        return o->special ? cut_before_token(bytes, size) : size;
    case RT_LEVEL_CHAR:
        size = whole_characters(bytes, size);
        return o->special ? cut_before_token(bytes, size) : size;
    case RT_LEVEL_WORDPIECE:
    case RT_LEVEL_RESIDUE:
        while (size > 0 && bytes[size - 1] != ' ' && bytes[size - 1] != '\n')
            size--;
        return size;
    case RT_LEVEL_BPE:
        break;
    }
    return newline_cut(cut_rules_of(v->bpe), bytes, size);
}

/* Validates bytes from offset `at` of the text, file by file. The error names the file and the
 * offset in it. */
static rt_status check_level(const rt_text_files *text, rt_level level, size_t at,
                             const unsigned char *bytes, size_t size)
{
    for (size_t done = 0, from, n; level != RT_LEVEL_BYTE && done < size; done += n) {
        const rt_text_file *file = rt_text_piece(text, at + done, size - done, &from, &n);
        const size_t valid = file->json ? n : rt_utf8_valid(bytes + done, n);
        if (valid < n)
            return rt_level_error(level, file->path, bytes[done + valid], from + valid);
    }
    return rt_ok();
}

rt_status rt_text_scan(rt_text_files *text, rt_level level, rt_text_look *look, void *context)
{
    RT_CLOSED_BY(rt_text_close) rt_text_stream stream = {.text = text};
    RT_OWNED unsigned char *bytes = rt_alloc_unset(PART_SIZE, 1);
    size_t got, kept = 0;
    RT_TRY(rt_allocated(bytes, "a part of a text"));
    do {
        RT_TRY(rt_text_read(&stream, bytes + kept, PART_SIZE - kept, &got));
        const size_t all = kept + got, at = stream.at - all;
        const size_t size = all == PART_SIZE ? whole_characters(bytes, all) : all;
        RT_TRY(check_level(text, level, at, bytes, size));
        look(context, bytes, size);
        kept = all - size;
        memmove(bytes, bytes + size, kept);
    } while (got);
    return rt_ok();
}

/* Marks the characters of a text. Documents of JSON lines are separated by a byte that is none. */
static void see_characters(void *seen, const unsigned char *bytes, size_t size)
{
    rt_document_span span;
    for (size_t at = 0; rt_document_next(RT_JSON_DOCUMENT, bytes, size, &at, &span);)
        rt_characters_see(seen, bytes + span.start, span.end - span.start);
}

rt_status rt_text_characters(rt_vocabulary **vocabulary_new, rt_text_files *text,
                             const rt_data_options *o)
{
    RT_OWNED bool *seen = rt_alloc(RT_CODE_POINTS, sizeof *seen);
    *vocabulary_new = NULL;
    RT_TRY(rt_allocated(seen, "a vocabulary"));
    RT_TRY(rt_text_scan(text, RT_LEVEL_CHAR, see_characters, seen));
    if (!text->count)
        return rt_error(RT_CONFIG, "data.vocab_file must name a vocab.txt for data.level = char: "
                                   "data.file has no text whose characters could be one");
    return rt_vocabulary_of_seen(vocabulary_new, RT_LEVEL_CHAR, o->file, seen);
}

typedef struct part {
    const rt_text_encoding *e;
    pthread_t thread;
    bool started; /* the thread */
    unsigned char *bytes;
    size_t at, size, capacity; /* at: offset in the text */
    rt_id_list ids;
    rt_unknown unknown;
    rt_status status;
} part;

/* Appends the ids of some bytes. Special tokens are encoded as text unless data.special is set:
 * running text may mention [MASK]. */
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

static void *encode_part(void *context)
{
    part *p = context;
    const rt_text_encoding *e = p->e;
    const rt_level level = e->vocabulary->level;
    const char *documents = rt_text_documents(e->text, e->options);
    rt_document_span span;
    size_t at = 0;
    p->status = check_level(e->text, level, p->at, p->bytes, p->size);
    if (p->status.code)
        return NULL;
    /* in English, a piece of a word has about four bytes */
    rt_id_list_reserve(&p->ids, level == RT_LEVEL_WORDPIECE || level == RT_LEVEL_BPE
                                    ? p->size / 3 + 1
                                : level == RT_LEVEL_BYTE ? p->size + 1
                                                         : rt_utf8_count(p->bytes, p->size));
    if (!documents && !p->ids.failed)
        p->status = encode_bytes(p, 0, p->size);
    else
        while (!p->ids.failed && !p->status.code &&
               rt_document_next(documents, p->bytes, p->size, &at, &span)) {
            p->status = encode_bytes(p, span.start, span.end);
            rt_id_list_add(&p->ids, p->e->vocabulary->special.sep);
        }
    if (p->ids.failed)
        p->status = rt_out_of_memory("the text of a file");
    return NULL;
}

/* Reading of a text in parts. */
typedef struct reading {
    rt_text_stream stream;
    unsigned char *held; /* bytes that were read behind a part: those from `from` on */
    size_t from, count, capacity;
} reading;

/* Fills a part up to `size` bytes; fewer at the end of the text. */
static rt_status fill_part(part *p, reading *r, size_t size)
{
    const size_t held = r->count - r->from, wanted = size - p->size;
    const size_t n = held < wanted ? held : wanted;
    size_t got = 0;
    RT_TRY(rt_allocated(rt_grow(&p->bytes, &p->capacity, size, 1), "a part of a text"));
    if (n)
        memcpy(p->bytes + p->size, r->held + r->from, n);
    r->from += n;
    if (n < wanted)
        RT_TRY(rt_text_read(&r->stream, p->bytes + p->size + n, wanted - n, &got));
    p->size += n + got;
    return rt_ok();
}

/* Shortens a part, whose other bytes are the first of the next one. */
static rt_status end_part(part *p, reading *r, size_t end)
{
    const size_t tail = p->size - end;
    p->size = end;
    if (r->from < r->count) { /* they are held already */
        r->from -= tail;
        return rt_ok();
    }
    if (tail && !rt_grow(&r->held, &r->capacity, tail, 1))
        return rt_out_of_memory("a part of a text");
    if (tail)
        memcpy(r->held, p->bytes + end, tail);
    r->from = 0;
    r->count = tail;
    return rt_ok();
}

/* Reads the next part, up to a place where the text can be cut. It is empty at the end. */
static rt_status read_part(part *p, reading *r)
{
    const rt_text_encoding *e = p->e;
    const rt_vocabulary *v = e->vocabulary;
    const bool whole =
        v->bpe && !rt_text_documents(e->text, e->options) && !cut_rules_of(v->bpe).possible;
    size_t size = PART_SIZE, end = 0, from, n;
    p->at = r->stream.at - (r->count - r->from);
    p->size = 0;
    if (whole && e->text->bytes >= size)
        size = 1 + (e->text->bytes < RT_FILES_LIMIT ? e->text->bytes : RT_FILES_LIMIT);
    for (bool rest = false; !rest && !end; size *= 2) {
        RT_TRY(fill_part(p, r, size));
        rest = p->size < size;
        if (whole && p->size > RT_FILES_LIMIT)
            return rt_error(RT_DATA,
                            "%.600s: %s can be read into memory up to %zu bytes; it has more",
                            rt_text_piece(e->text, p->at, 1, &from, &n)->path, e->text->key,
                            RT_FILES_LIMIT);
        end = rest ? p->size : whole ? 0 : text_cut(e, p->bytes, size);
        if (!rest && !end && !whole && size > PART_MOST / 2)
            return rt_error(RT_DATA,
                            "%.600s: %s has no place where it can be cut in %zu bytes from byte "
                            "%zu on",
                            rt_text_piece(e->text, p->at, 1, &from, &n)->path, e->text->key, size,
                            p->at);
    }
    return end_part(p, r, end);
}

static rt_status stopped(const rt_text_encoding *e, double done)
{
    const rt_data_watch *w = e->options->watch;
    const char *what = RT_PRINTED(1024, "tokenizing %.900s", e->text->list[0].path);
    if (!w || !e->watched)
        return rt_ok();
    w->progress(w->context, what, done);
    return w->stop(w->context) ? rt_error(RT_IO, "stopped by a signal while %s", what) : rt_ok();
}

/* Reads up to `threads` parts and encodes them in parallel. *count is their number, which is
 * smaller at the end of the text. */
static rt_status encode_round(part *parts, reading *r, int threads, int *count)
{
    const rt_text_encoding *e = parts->e;
    for (*count = 0; *count < threads; ++*count) {
        part *p = &parts[*count];
        RT_TRY(read_part(p, r));
        if (!p->size)
            break;
        if (e->see)
            e->see(e->context, p->bytes, p->size);
    }
    for (part *p = parts + 1; p < parts + *count; p++)
        p->started = !pthread_create(&p->thread, NULL, encode_part, p);
    for (part *p = parts; p < parts + *count; p++)
        if (p->started)
            pthread_join(p->thread, NULL);
        else
            encode_part(p);
    return rt_ok();
}

rt_status rt_text_encode(rt_text_encoding *e)
{
    const int wanted = e->options->threads;
    const int threads = wanted < 1 ? 1 : wanted > MOST_THREADS ? MOST_THREADS : wanted;
    reading r = {.stream = {.text = e->text}};
    int count = threads;
    e->unknown = (rt_unknown){0};
    part *parts = rt_alloc((size_t)threads, sizeof *parts);
    RT_TRY(rt_allocated(parts, "parts of a text"));
    for (int i = 0; i < threads; i++)
        parts[i] = (part){.e = e, .ids.width = rt_id_width(e->vocabulary->count)};
    rt_status status = rt_ok();
    while (count == threads && !status.code) {
        status = stopped(e, rt_text_share(&r.stream));
        if (!status.code)
            status = encode_round(parts, &r, threads, &count);
        for (part *p = parts; p < parts + count && !status.code; p++) {
            status = p->status;
            rt_unknown_add(&e->unknown, &p->unknown, 0);
            p->unknown = (rt_unknown){0};
            if (!status.code)
                status = e->take(e->context, &p->ids);
            p->ids.count = 0;
        }
    }
    for (int i = 0; i < threads; i++) {
        rt_free(parts[i].bytes);
        rt_id_list_free(&parts[i].ids);
    }
    rt_free(parts);
    rt_free(r.held);
    rt_text_close(&r.stream);
    return status.code ? status : stopped(e, 1);
}
