#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"
#include "models/session.h"
#include "ops/engine.h"
#include "train/report/sections.h"
#include "util/utf8.h"

#include <stdio.h>
#include <string.h>

#define HIDDEN "·"

/* Returns whether the text begins with a visible character or newline. Sets the number of bytes to
 * skip in any case. */
static bool is_seen(const char *text, size_t length, size_t *size)
{
    int32_t character;
    *size = rt_utf8_read((const unsigned char *)text, length, &character);
    const bool seen = *size && (rt_character_is_visible(character) || character == '\n');
    *size += !*size;
    return seen;
}

/* Writes the symbol for a character, or for a byte that is not one. Returns the size of either. */
static size_t sign(char shown[RT_UTF8_SIZE], const char *bytes, size_t size)
{
    size_t step = 1;
    const char *blank = memchr(" \n\t", *bytes, 3);
    if (blank)
        snprintf(shown, RT_UTF8_SIZE, "%s", *blank == ' ' ? "␣" : *blank == '\n' ? "↵" : "⇥");
    else if (is_seen(bytes, size, &step))
        snprintf(shown, RT_UTF8_SIZE, "%.*s", (int)step, bytes);
    else if (step == 1 && (unsigned char)*bytes >= 0x80)
        snprintf(shown, RT_UTF8_SIZE, "\\x%02x", (unsigned)(unsigned char)*bytes);
    else
        snprintf(shown, RT_UTF8_SIZE, HIDDEN);
    return step;
}

/* Writes the symbols of as many characters as fit into the label. */
static const char *write_signs(char label[RT_TOKEN_LABEL_SIZE], const char *bytes, size_t size)
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
    size_t size;
    const rt_vocabulary *vocabulary = data->vocabulary;
    const rt_special_ids *special = &vocabulary->special;
    const char *token = rt_vocabulary_decode(vocabulary, id, &size), *name = HIDDEN;
    bool visible = token && size;
    const rt_spelling spelling =
        vocabulary->bpe ? rt_vocabulary_spell(vocabulary, id) : (rt_spelling){.size = 0};
    if (spelling.size)
        return write_signs(label, spelling.bytes, spelling.size);
    for (size_t at = 0, step; visible && at < size; at += step)
        visible = is_seen(token + at, size - at, &step);
    if (visible || (token && size == 1 && *token == '\t'))
        return write_signs(label, token, size);
    if (!token)
        name = id == special->pad       ? "[PAD]"
               : id == special->cls     ? "[CLS]"
               : id == special->mask    ? "[MASK]"
               : id == special->sep     ? "[SEP]"
               : id == special->unknown ? "[UNK]"
                                        : HIDDEN;
    snprintf(label, RT_TOKEN_LABEL_SIZE, "%s", name);
    return label;
}

void rt_token_text(rt_writer *page, const rt_data *data, const int32_t *ids, int count)
{
    const rt_vocabulary *v = data->vocabulary;
    RT_CLOSED_BY(rt_writer_free) rt_writer bytes = {0};
    for (int i = 0; i < count; i++) {
        size_t size;
        const char *token = rt_vocabulary_decode(v, ids[i], &size);
        if (!token)
            continue;
        if (v->bpe) {
            for (size_t k = 0; k < size; k++)
                rt_writer_add(&bytes, "%c", token[k] ? token[k] : '\1');
            continue;
        }
        /* at level wordpiece a blank precedes each word, and ## each piece that continues one */
        const bool pieces = v->level == RT_LEVEL_WORDPIECE;
        const bool inside = pieces && !strncmp(token, "##", 2);
        token += inside ? 2 : 0;
        rt_writer_add(&bytes, "%s%s", pieces && !inside ? " " : "",
                      *token ? token : "\1"); /* both are invisible */
    }
    for (size_t at = 0, size; at < bytes.length; at += size) {
        const char *from = bytes.bytes + at;
        const bool seen = is_seen(from, bytes.length - at, &size);
        rt_html_text(page, seen ? RT_PRINTED(RT_UTF8_SIZE, "%.*s", (int)size, from) : HIDDEN);
    }
    page->failed |= bytes.failed;
}

enum { SAMPLES = 3, MOST_CONTINUED = 128 };

typedef struct sampling {
    rt_writer *page;
    const rt_data *data;
    rt_labelled_batch b; /* one sequence */
    rt_session *session; /* session of continuations */
    real *next;          /* (V): logits of continuations */
} sampling;

/* Returns the most likely token that is not special. */
static int32_t most_likely(const rt_vocabulary *v, real *logits)
{
    const rt_tensor row = rt_tensor_of(logits, NULL, RT_SHAPE_OF(v->count));
    rt_vocabulary_mask_logits(v, false, logits);
    return rt_largest(&row, 0);
}

static void add_tokens(sampling *s, const char *element, const int32_t *ids, int count)
{
    rt_writer_add(s->page, "<%s>", element);
    rt_token_text(s->page, s->data, ids, count);
    rt_writer_add(s->page, "</%s>", element);
}

/* Adds a text with its predicted labels. Only masked tokens have labels; others are as drawn. */
static rt_status fill_masks(void *context, int job, const rt_labelled_batch *none,
                            rt_transformer *model, rt_graph *g)
{
    sampling *s = context;
    const int32_t *ids = s->b.batch.ids;
    int from = 0;
    (void)job, (void)none;
    const rt_tensor *logits = s->b.labels ? rt_batch_logits(model, g, &s->b) : NULL;
    rt_writer_add(s->page, "<p class=\"sample\">");
    for (int i = 0; i < s->b.labels && logits; i++) {
        const int at = s->b.where[i];
        const int32_t predicted =
            most_likely(s->data->vocabulary, logits->data + (size_t)i * rt_columns(logits));
        rt_token_text(s->page, s->data, ids + from, at - from);
        if (predicted != s->b.wanted[i])
            add_tokens(s, "del", &predicted, 1);
        add_tokens(s, predicted == s->b.wanted[i] ? "ins" : "b", &s->b.wanted[i], 1);
        from = at + 1;
    }
    rt_token_text(s->page, s->data, ids + from, s->b.batch.length - from);
    rt_writer_add(s->page, "</p>\n");
    return rt_graph_status(g);
}

/* Replaces the second half of the sequence by a continuation of the first half, and adds both. */
static rt_status continue_text(sampling *s)
{
    const int half = s->b.batch.length / 2, rest = s->b.batch.length - half;
    const int end = half + (rest < MOST_CONTINUED ? rest : MOST_CONTINUED);
    int32_t *ids = s->b.batch.ids;
    rt_status status = rt_session_keep(s->session, 0);
    for (int t = half, read = 0; t < end && !status.code; read = t++) {
        status = rt_session_feed(s->session, ids + read, t - read, 1, s->next);
        ids[t] = most_likely(s->data->vocabulary, s->next);
    }
    rt_writer_add(s->page, "<p class=\"sample\">");
    rt_token_text(s->page, s->data, ids, half);
    add_tokens(s, "ins", ids + half, end - half);
    rt_writer_add(s->page, "</p>\n");
    return status;
}

rt_status rt_report_samples(rt_run_page *p)
{
    const rt_config *config = p->config;
    rt_trainer *trainer = p->trainer;
    rt_writer *page = &p->w;
    const bool lm = config->data.objective == RT_OBJECTIVE_LM;
    const int length = config->data.length;
    sampling s = {.page = page, .data = trainer ? rt_trainer_data(trainer) : NULL};
    if (!s.data || !s.data->vocabulary || !rt_tasks[config->data.task].objective)
        return rt_ok();
    rt_transformer *model = rt_trainer_state(trainer)->model;
    s.next = rt_alloc((size_t)model->options.vocab, sizeof *s.next);
    rt_status status = rt_labelled_batch_new(&s.b, 1, length, 0, NULL);
    if (!status.code && !s.next)
        status = rt_out_of_memory("a sample");
    if (!status.code && lm)
        status = rt_session_new(&s.session, model, 0);
    const long rows = rt_data_evaluation_rows(s.data, length);
    if (!status.code)
        rt_writer_add(page, "<h2>Samples</h2>\n<p>%s</p>\n",
                      lm ? "From the evaluation data: the first half of a sequence, and, "
                           "underlined, how the model continues it with the most likely tokens."
                         : "From the evaluation data: masked tokens that were predicted correctly "
                           "are underlined; a wrong prediction is struck out before the true "
                           "token.");
    if (lm)
        rt_trainer_hold_rounded(trainer);
    for (int i = 0; i < SAMPLES && i < rows && !status.code; i++) {
        rt_draw_evaluation(&s.b, s.data, (uint32_t)i);
        status = lm ? continue_text(&s) : rt_trainer_run_jobs(trainer, fill_masks, &s, 1);
    }
    rt_trainer_release_rounded();
    if (!status.code)
        status = rt_engine_status();
    rt_labelled_batch_free(&s.b);
    rt_free(s.next);
    rt_session_free(s.session);
    return status;
}

enum {
    MOST_TOKENS = 64,
    MOST_NAMED = 20, /* limit of tokens with labels */
    LABEL_SPACE = 14,
    MOST_LAYERS = 4,
    MOST_HEADS = 8,
    MOST_NUMBERS = 1 << 25, /* a report must not need more memory than the training */
    GAP = 28,               /* in points of the figure, also below: space for the title of a map */
    AXIS = 36,              /* of the name of an axis and the tics */
    RIGHT = 56
};

/* Shown part of the model. */
typedef struct view {
    int layers, heads, tokens;
    bool named;          /* the axes show tokens of a text instead of numbers */
    bool chosen;         /* the sequence is the longest of several */
    rt_labelled_batch b; /* the sequence, of which the first tokens are shown */
    real *probabilities; /* (layers, heads of the model, T, T), where T is data.length */
    real **of_layers;    /* probabilities of each layer of the model; NULL: not stored */
} view;

/* Adds the figure. All maps use one scale, of the root of the probability, so that attention to
 * many keys is visible beside attention to one. Between maps are two empty lines, as gnuplot's
 * `index` requires. */
static void add_maps(rt_drawing *d, const view *v, const rt_transformer_options *o,
                     const rt_data *data)
{
    const struct {
        const char *what;
        int shown, all;
    } cuts[] = {{"layers", v->layers, o->layers},
                {"heads", v->heads, o->heads},
                {"tokens", v->tokens, v->b.batch.length}};
    rt_writer tics = {0}, *maps = &d->data, *w = &d->commands;
    const size_t T = (size_t)v->b.batch.length, tokens = (size_t)v->tokens;
    int longest = 16; /* length of the longest label, for a wide font; here of a number */
    for (int t = 0; t < v->tokens && v->named; t++) {
        char label[RT_TOKEN_LABEL_SIZE];
        int length = 0;
        for (const char *c = rt_token_label(label, data, v->b.batch.ids[t]); *c; c++)
            length += (unsigned char)*c < 0x80 ? 8 : 4; /* two to four bytes are a character */
        longest = length > longest ? length : longest;
        rt_writer_add(&tics, t ? ", " : "(");
        rt_figures_quote_tic(&tics, label);
        rt_writer_add(&tics, " %d%s", t, t + 1 < v->tokens ? "" : ")");
    }
    /* up to three maps in half of the page; a single map is limited in size */
    const int left = AXIS + longest, below = v->named ? left : AXIS + 16;
    const int most = v->heads > 3 ? 2 * RT_FIGURE_WIDTH : RT_FIGURE_WIDTH;
    int size = (most - left - RIGHT) / v->heads - GAP / 3;
    size = size < 180 ? size : 180;
    if (v->named && size < v->tokens * LABEL_SPACE)
        size = v->tokens * LABEL_SPACE;
    const int drawn = left + v->heads * (size + GAP / 3) + RIGHT;
    d->figure.width = drawn > RT_FIGURE_WIDTH ? drawn : 0;
    d->figure.height = v->layers * (size + GAP) + below;
    for (int l = 0; l < v->layers; l++)
        for (size_t h = 0; h < (size_t)v->heads; h++) {
            for (size_t i = 0; i < tokens * tokens; i++)
                rt_writer_add(maps, "%.3f%s",
                              (double)v->of_layers[l][(h * T + i / tokens) * T + i % tokens],
                              (i + 1) % tokens ? "," : "\n");
            rt_writer_add(maps, "\n\n");
        }
    rt_writer_add(w, "layers = %d\nheads = %d\ntokens = %d\nsize = %d\ngap = %d\n", v->layers,
                  v->heads, v->tokens, size, GAP);
    rt_writer_add(w, "left = %d\nbelow = %d\nbar = %d\nstep = %d\nnamed = %d\ntics = ", left, below,
                  drawn - RIGHT + 6, v->tokens > 16 ? 16 : 4, v->named);
    rt_figures_quote(w, tics.bytes ? tics.bytes : "");
    rt_writer_add(w, "\n");
    rt_figure_note(&d->figure, "%s: one row for each query, one column for each key",
                   v->chosen ? "a long evaluation sequence" : "the first evaluation sequence");
    for (int i = 0; i < 3; i++)
        if (cuts[i].shown < cuts[i].all)
            rt_figure_note(&d->figure, "; %s 0 to %d of %d", cuts[i].what, cuts[i].shown - 1,
                           cuts[i].all);
    w->failed |= tics.failed;
    rt_writer_free(&tics);
}

/* Chooses as many layers as fit into memory, at most MOST_LAYERS. Memory is for the whole sequence,
 * because a row sums to 1 over all keys. */
static view choose_view(const rt_config *config, const rt_data *data)
{
    const rt_transformer_options *o = &config->model;
    const size_t T = (size_t)config->data.length, numbers = (size_t)o->heads * T * T;
    const bool named = data->vocabulary != NULL;
    const size_t most = named ? MOST_NAMED : MOST_TOKENS;
    view v = {.layers = o->layers < MOST_LAYERS ? o->layers : MOST_LAYERS,
              .heads = o->heads < MOST_HEADS ? o->heads : MOST_HEADS,
              .tokens = T < most ? (int)T : (int)most,
              .named = named,
              .chosen = data->varies};
    while (v.layers && (size_t)v.layers * numbers > MOST_NUMBERS)
        v.layers--;
    return v;
}

static rt_status attend(void *context, int job, const rt_labelled_batch *none,
                        rt_transformer *model, rt_graph *g)
{
    const view *v = context;
    rt_transformer_input in = rt_batch_input(g, &v->b);
    (void)job, (void)none;
    in.attentions = v->of_layers;
    rt_transformer_encode(model, g, &in);
    return rt_engine_graph_status(g);
}

bool rt_draw_attention(rt_drawing *d, rt_run_page *p)
{
    enum { TRIED = 16 };
    const rt_config *config = p->config;
    const rt_transformer_options *o = &config->model;
    const rt_data *data = rt_trainer_data(p->trainer);
    const size_t T = (size_t)config->data.length, of_layer = (size_t)o->heads * T * T;
    view v = choose_view(config, data);
    if (!v.layers)
        return false;
    rt_status status = rt_labelled_batch_new(&v.b, 1, config->data.length, data->patch, NULL);
    if (!status.code && o->position.randomized)
        status = rt_labelled_batch_randomize(&v.b, o->position.randomized, NULL);
    v.of_layers = rt_alloc((size_t)o->layers, sizeof *v.of_layers);
    v.probabilities = rt_alloc((size_t)v.layers * of_layer, sizeof(real));
    if (!status.code && (!v.of_layers || !v.probabilities))
        status = rt_out_of_memory("a figure");
    if (!status.code) {
        for (int l = 0; l < v.layers; l++)
            v.of_layers[l] = v.probabilities + (size_t)l * of_layer;
        /* the first sequence or, if they differ in length, the longest of the first few, because
         * some may have only one or two tokens */
        const long rows = v.chosen ? rt_data_evaluation_rows(data, v.b.length) : 1;
        long longest = 0;
        int length = 0;
        for (long row = 0; row < rows && row < TRIED; row++) {
            rt_draw_evaluation(&v.b, data, (uint32_t)row);
            longest = v.b.batch.length > length ? row : longest;
            length = v.b.batch.length > length ? v.b.batch.length : length;
        }
        rt_draw_evaluation(&v.b, data, (uint32_t)longest);
        v.tokens = v.b.batch.length < v.tokens ? v.b.batch.length : v.tokens;
        status = rt_trainer_run_jobs(p->trainer, attend, &v, 1);
    }
    if (!status.code)
        add_maps(d, &v, o, data);
    if (!p->figures.status.code)
        p->figures.status = status;
    rt_free(v.probabilities);
    rt_free(v.of_layers);
    rt_labelled_batch_free(&v.b);
    return !status.code;
}
