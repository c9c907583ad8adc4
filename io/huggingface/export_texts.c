#include "io/huggingface/private.h"

#include "core/memory.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/tokenizer.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

/* ---- tokenizer_config.json ---- */

/* With the class named, transformers does not take RoFormerTokenizer, which needs other packages.
 */
rt_status rt_huggingface_tokenizer_text(char **text_new, const rt_huggingface_export *export)
{
    const int length = export->length;
    if (export->vocabulary->level == RT_LEVEL_BPE)
        return rt_tokenizer_bpe_text(text_new, export->vocabulary, length, export->chat_template);
    rt_json_object made = rt_json_object_new();
    const bool residues = export->vocabulary->level == RT_LEVEL_RESIDUE;
    rt_json_put(&made, "tokenizer_class", json_string(residues ? "EsmTokenizer" : "BertTokenizer"));
    if (!residues)
        rt_json_put(&made, "do_lower_case", json_boolean(export->lowercase));
    rt_json_put(&made, "model_max_length", json_integer(length));
    if (export->chat_template)
        rt_json_put(&made, RT_HF_CHAT_KEY,
                    json_loads(export->chat_template, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
    rt_status status = rt_json_text(text_new, &made, RT_HF_TOKENIZER);
    rt_json_object_free(&made);
    return status;
}

/* ---- the model card ---- */

/* A text of others on one line of Markdown, in which it means nothing but itself. */
static void put_plain(rt_writer *w, const char *text)
{
    char character[RT_UTF8_SIZE];
    int32_t unit;
    while (*text) {
        text += rt_next_character(text, character, &unit);
        if (unit == '&' || unit == '<' || unit == '>')
            rt_writer_add(w, "&#%d;", (int)unit);
        else if (unit < ' ' || unit == 0x7f)
            rt_writer_add(w, " ");
        else if (unit < 0x7f && strchr("\\`*_{}[]()#+!|~$", (int)unit))
            rt_writer_add(w, "\\%s", character);
        else
            rt_writer_add(w, "%s", character);
    }
}

static void put_fixed_theta(rt_writer *w, const rt_transformer_options *o)
{
    static const char *const families[] = {RT_FREQUENCIES(RT_CHOICE_WORD)};
    static const char *const scalings[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    const rt_frequency_options *f = &o->position.frequencies;
    char base[RT_NUMBER_SIZE];
    rt_writer_add(w, "Its queries and keys are rotated by position times theta");
    if (f->family == RT_FREQUENCIES_GEOMETRIC)
        rt_writer_add(w, "_i = %s^(-2i/%d), which is fixed", rt_number_write(base, f->base),
                      2 * rt_transformer_pairs(o));
    else
        rt_writer_add(w, ", which is fixed (position.frequencies = %s)", families[f->family]);
    if (f->scaling != RT_SCALING_NONE)
        rt_writer_add(w, " and scaled (position.scaling = %s)", scalings[f->scaling]);
    rt_writer_add(w, ".\n");
}

static void put_theta_sentence(rt_writer *w, const rt_family *family,
                               const rt_transformer_options *o)
{
    if (!o->theta.learn)
        put_fixed_theta(w, o);
    else if (o->theta.scope == RT_THETA_MODEL)
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which was learned "
                      "with the weights; %s\n",
                      family->shared_theta);
    else
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which was learned "
                      "separately for every %s. %s `" RT_HF_THETA
                      "` in config.json has all of them%s%s",
                      o->theta.scope != RT_THETA_HEAD ? "layer"
                      : o->kv_heads < o->heads        ? "head of keys"
                                                      : "head",
                      family->mean_theta,
                      family->own_theta ? "; this makes a loaded model use them:\n\n" : ".\n",
                      family->own_theta ? family->own_theta : "");
}

static void put_vocabulary_sentence(rt_writer *w, const rt_huggingface_export *export)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    if (!export->vocabulary)
        rt_writer_add(w, "\nIt has no vocabulary: it was trained on token ids.\n");
    else if (export->vocabulary->level == RT_LEVEL_BYTE ||
             export->vocabulary->level == RT_LEVEL_CHAR)
        rt_writer_add(w,
                      "\nIts tokens are single bytes or characters (level %s), a line of vocab.txt "
                      "each, into which no tokenizer of transformers cuts a text.\n",
                      levels[export->vocabulary->level]);
}

/* The same as code, if it can be that. */
static void put_code(rt_writer *w, const char *text)
{
    if (strchr(text, '`') || strchr(text, '\n'))
        put_plain(w, text);
    else
        rt_writer_add(w, "`%s`", text);
}

/* The token that begins a text, as its vocabulary writes it, and its id. */
static void put_begin_token(rt_writer *w, const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    const int32_t id = v ? v->special.cls : rt_default_special_ids.cls;
    if (v) {
        rt_writer_add(w, "the token ");
        put_code(w, rt_vocabulary_spell(v, id).bytes);
        rt_writer_add(w, ", which has the id %d", (int)id);
    } else {
        rt_writer_add(w, "the id %d", (int)id);
    }
}

bool rt_huggingface_keeps_end(const rt_transformer_options *o, const rt_vocabulary *v)
{
    return !o->causal && v->bpe && v->bpe->last != RT_NO_ID;
}

/* What the tokenizer of level bpe puts around a text. */
static void put_bpe_remedy(rt_writer *w, const rt_transformer_options *o,
                           const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    rt_writer_add(w, export->bare ? "; its tokenizer adds none either" : "; its tokenizer adds it");
    if (!rt_huggingface_keeps_end(o, v))
        return;
    rt_writer_add(w, ", and ");
    put_code(w, rt_vocabulary_spell(v, v->bpe->last).bytes);
    rt_writer_add(w,
                  " after the text, which rotor does not: `tokenizer(text)[\"input_ids\"][:-1]`");
}

/* What transformers' tokenizer puts around a text, where rotor puts something else. */
static void put_begin_remedy(rt_writer *w, const rt_transformer_options *o,
                             const rt_huggingface_export *export)
{
    const rt_level level = export->vocabulary ? export->vocabulary->level : RT_LEVEL_BYTE;
    if (level == RT_LEVEL_BPE)
        put_bpe_remedy(w, o, export);
    else if (level == RT_LEVEL_WORDPIECE || level == RT_LEVEL_RESIDUE)
        rt_writer_add(w,
                      "; its tokenizer adds %s%s%s after it, which rotor does not: "
                      "`tokenizer(text)[\"input_ids\"][%s:-1]`",
                      export->bare ? rt_special_token(level, 1) : "",
                      export->bare ? " before it and " : "", rt_special_token(level, 3),
                      export->bare ? "1" : "");
}

/* How a text that is to be continued, or whose masks are to be filled, begins. */
static void put_begin_sentence(rt_writer *w, const rt_transformer_options *o,
                               const rt_huggingface_export *export)
{
    if (o->head != RT_HEAD_LM)
        return;
    rt_writer_add(w, "\nA text begins with ");
    if (export->bare)
        rt_writer_add(w, "its own first token: rotor adds none before it");
    else
        put_begin_token(w, export);
    put_begin_remedy(w, o, export);
    rt_writer_add(w, ".\n");
}

/* At the beginning of a sentence. */
static const char *article(const char *name)
{
    return strcmp(rt_family_article(name), "an") ? "A" : "An";
}

rt_status rt_huggingface_card_text(char **text_new, const rt_family *family,
                                   const rt_transformer *model, const rt_huggingface_export *export)
{
    const rt_transformer_options *o = &model->options;
    const rt_family_class *class = rt_family_class_of(family, o);
    rt_writer w = {0};
    rt_writer_add(&w, "---\nlibrary_name: transformers\ntags:\n- %s\n---\n\n# ", family->type);
    if (!export->title)
        rt_writer_add(&w, "%s ", article(family->name));
    put_plain(&w, export->title ? export->title : family->name);
    rt_writer_add(&w, "\n\n%s %s with %d layers of width %d and %d heads, " RT_CARD_MARK ". ",
                  article(class->name), class->name, o->layers, o->dim, o->heads);
    put_theta_sentence(&w, family, o);
    put_vocabulary_sentence(&w, export);
    put_begin_sentence(&w, o, export);
    for (int i = 0; i < export->fact_count; i++) {
        rt_writer_add(&w, i ? "- " : "\n- ");
        put_plain(&w, export->facts[i]);
        rt_writer_add(&w, "\n");
    }
    *text_new = rt_writer_take(&w);
    return *text_new ? rt_ok() : rt_out_of_memory(RT_HF_CARD);
}
