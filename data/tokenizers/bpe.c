#include "data/tokenizers/bpe.h"

#include "core/memory.h"
#include "data/tokenizers/bpe_words.h"
#include "data/tokenizers/normal_form.h"
#include "data/tokenizers/simple_tokens.h"

#include <string.h>

void rt_bpe_free(rt_bpe *bpe)
{
    if (!bpe)
        return;
    rt_merges_free(&bpe->merges);
    rt_free(bpe->kinds);
    rt_free(bpe->ordinary);
    rt_free(bpe->pieces);
    rt_added_tokens_free(&bpe->as_is);
    rt_added_tokens_free(&bpe->composed);
    rt_free(bpe->file);
    rt_free(bpe);
}

/* ---- sameness ---- */

static bool tokens_equal(const rt_added_tokens *a, const rt_added_tokens *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const rt_added_token *p = &a->list[i], *q = &b->list[i];
        if (p->size != q->size || memcmp(p->text, q->text, p->size) || p->id != q->id ||
            p->special != q->special || p->takes_left != q->takes_left ||
            p->takes_right != q->takes_right)
            return false;
    }
    return true;
}

static bool cuts_equal(const rt_bpe *a, const rt_bpe *b)
{
    if (a->cut_count != b->cut_count || a->space_before != b->space_before)
        return false;
    for (int i = 0; i < a->cut_count; i++)
        if (a->cuts[i] != b->cuts[i])
            return false;
    return true;
}

static bool merges_equal(const rt_bpe *a, const rt_bpe *b)
{
    const size_t count = a->merges.count;
    return count == b->merges.count &&
           !memcmp(a->merges.list, b->merges.list, count * sizeof *a->merges.list) &&
           !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

bool rt_bpe_equal(const rt_bpe *a, const rt_bpe *b, int count)
{
    return cuts_equal(a, b) && a->form == b->form && a->ignore_merges == b->ignore_merges &&
           a->fuses_unknown == b->fuses_unknown && a->unknown == b->unknown &&
           !memcmp(a->kinds, b->kinds, (size_t)count) && merges_equal(a, b) &&
           tokens_equal(&a->as_is, &b->as_is) && tokens_equal(&a->composed, &b->composed);
}

/* ---- added tokens ---- */

/* Characters of it may stand for bytes, which it is spelled as. */
const rt_added_token *rt_bpe_added(const rt_bpe *bpe, const char *text, int32_t id)
{
    const rt_added_tokens *const lists[] = {&bpe->as_is, &bpe->composed};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (int i = 0; i < lists[l]->count; i++) {
            const rt_added_token *token = lists[l]->list + i;
            if (text ? token->size == strlen(text) && !memcmp(token->text, text, token->size)
                     : token->id == id)
                return token;
        }
    return NULL;
}

/* ---- encoding ---- */

size_t rt_bpe_most_ids(const rt_bpe *bpe, size_t bytes)
{
    const size_t factor = rt_normal_form_growth(bpe->form) * (bpe->space_before >= 0 ? 2 : 1);
    return bytes <= SIZE_MAX / factor ? bytes * factor : SIZE_MAX;
}

/* A text under way. `at` is where a piece of it begins in the text, or what it was made of. */
typedef struct encoding {
    const rt_bpe *bpe;
    bool special;
    rt_bpe_words *words;
    char *spaced; /* room for a text behind a space */
    size_t room;
} encoding;

static rt_status cut(encoding *e, int number, const unsigned char *text, size_t bytes, size_t at);

/* A text that does not begin with a space gets one. */
static rt_status put_space(encoding *e, int number, const unsigned char *text, size_t bytes,
                           size_t at)
{
    if (bytes >= e->room) {
        rt_free(e->spaced);
        e->room = bytes + bytes / 2 + 64;
        e->spaced = rt_alloc_unset(e->room, 1);
        if (!e->spaced) {
            e->room = 0;
            return rt_out_of_memory("the ids of a text");
        }
    }
    e->spaced[0] = ' ';
    memcpy(e->spaced + 1, text, bytes);
    return cut(e, number, (unsigned char *)e->spaced, bytes + 1, at);
}

/* Cuts a text by the cuts from `number` on. */
static rt_status cut(encoding *e, int number, const unsigned char *text, size_t bytes, size_t at)
{
    const rt_bpe *bpe = e->bpe;
    rt_status status = rt_ok();
    if (number == bpe->space_before && *text != ' ')
        return put_space(e, number, text, bytes, at);
    if (number == bpe->cut_count)
        return rt_bpe_word(e->words, text, bytes, at);
    for (size_t done = 0, size; done < bytes && !status.code; done += size) {
        size = rt_pretokenizer_next(bpe->cuts[number], text + done, bytes - done);
        status = cut(e, number + 1, text + done, size, at + done);
    }
    return status;
}

typedef rt_status rt_rest(encoding *e, const unsigned char *text, size_t bytes, size_t at);

/* Returns whether the previous match, with the blanks behind it up to `done`, covers this one.
 * tokenizers drops such a token if it takes the blanks before it. */
static bool is_covered(const rt_found_token *found, size_t done)
{
    return found->token->takes_left && found->end <= done;
}

/* Splits off tokens; what is between them goes on to `rest`. */
static rt_status split(encoding *e, const rt_added_tokens *tokens, rt_rest *rest,
                       const unsigned char *text, size_t bytes, size_t at)
{
    size_t done = 0, place = 0;
    rt_status status = rt_ok();
    for (bool more = true; more && !status.code;) {
        const rt_found_token found =
            rt_added_tokens_next(tokens, text, bytes, e->special, done, &place);
        more = found.token != NULL;
        if (found.start > done)
            status = rest(e, text + done, found.start - done, at + done);
        if (more && !status.code && !is_covered(&found, done))
            rt_bpe_take(e->words, found.token->id);
        done = found.end;
    }
    return status;
}

static rt_status cut_all(encoding *e, const unsigned char *text, size_t bytes, size_t at)
{
    return cut(e, 0, text, bytes, at);
}

static rt_status split_composed(encoding *e, const unsigned char *text, size_t bytes, size_t at)
{
    return split(e, &e->bpe->composed, cut_all, text, bytes, at);
}

static rt_status compose(encoding *e, const unsigned char *text, size_t bytes, size_t at)
{
    unsigned char *composed = NULL;
    size_t size;
    if (rt_normal_form_is_plain(e->bpe->form, text, bytes))
        return split_composed(e, text, bytes, at);
    rt_status status = rt_normal_form(e->bpe->form, &composed, &size, text, bytes);
    if (!status.code)
        status = split_composed(e, composed, size, at);
    rt_free(composed);
    return status;
}

static rt_status check_text(const unsigned char *text, size_t from, size_t to)
{
    int32_t character;
    for (size_t at = from, size; at < to; at += size) {
        size = text[at] < 0x80 ? 1 : rt_utf8_read(text + at, to - at, &character);
        if (!size)
            return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu is not UTF-8", text[at], at);
    }
    return rt_ok();
}

rt_status rt_bpe_encode(const rt_vocabulary *v, const unsigned char *text, size_t from, size_t to,
                        bool special, rt_id_taker *take, void *context, rt_unknown *unknown)
{
    encoding e = {.bpe = v->bpe, .special = special};
    rt_status status = check_text(text, from, to);
    if (status.code || from == to)
        return status;
    status = rt_bpe_words_new(&e.words, v, to - from, take, context, unknown);
    if (!status.code)
        status = split(&e, &v->bpe->as_is, compose, text + from, to - from, from);
    rt_bpe_words_free(e.words);
    rt_free(e.spaced);
    return status;
}
