#include "io/huggingface/private.h"

#include "core/memory.h"
#include "io/huggingface/tokenizer_bpe.h"
#include "text/number.h"

#include <stdio.h>
#include <string.h>

static rt_status taken(rt_writer *w, char **text_new, const char *what)
{
    *text_new = rt_writer_take(w);
    return *text_new ? rt_ok() : rt_out_of_memory(what);
}

/* ---- config.json ---- */

static void put_label(rt_writer *w, const rt_huggingface_export *export, int i)
{
    char made[24];
    snprintf(made, sizeof made, "LABEL_%d", i);
    rt_put_string(w, export->labels ? export->labels[i] : made);
}

static void put_labels(rt_writer *w, const rt_transformer_options *o,
                       const rt_huggingface_export *export)
{
    if (o->head == RT_HEAD_LM)
        return;
    rt_writer_add(w, "  \"id2label\": {");
    for (int i = 0; i < o->labels; i++) {
        rt_writer_add(w, "%s\n    \"%d\": ", i ? "," : "", i);
        put_label(w, export, i);
    }
    rt_writer_add(w, "\n  },\n  \"label2id\": {");
    for (int i = 0; i < o->labels; i++) {
        rt_writer_add(w, "%s\n    ", i ? "," : "");
        put_label(w, export, i);
        rt_writer_add(w, ": %d", i);
    }
    rt_writer_add(w, "\n  },\n");
    if (o->head == RT_HEAD_SEQUENCE)
        rt_writer_add(w, "  \"problem_type\": \"single_label_classification\",\n");
}

rt_status rt_huggingface_config_text(char **text_new, const rt_transformer *model,
                                     const rt_huggingface_export *export)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    const rt_transformer_options *o = &model->options;
    const rt_family *family = rt_family_of(o);
    const rt_family_class *class = family->class_of(o);
    rt_writer w = {0};
    rt_export_theta theta;
    rt_status status = rt_export_theta_of(model, &theta);
    if (!status.code) {
        rt_writer_add(&w, "{\n  \"architectures\": [\n    \"%s\"\n  ],\n", class->name);
        rt_put_word(&w, "model_type", class->type);
        family->put_config(&w, model, export, &theta);
        put_labels(&w, o, export);
        if (o->theta.learn)
            rt_put_theta(&w, o, &theta);
        if (export->vocabulary)
            rt_put_word(&w, RT_HF_LEVEL, levels[export->vocabulary->level]);
        if (export->bare)
            rt_put_word(&w, RT_HF_BEGIN, "none");
        if (export->length)
            rt_put_whole(&w, RT_HF_LENGTH, export->length);
        rt_writer_add(&w, "  \"dtype\": \"float32\"\n}\n");
        status = taken(&w, text_new, RT_HF_CONFIG);
    }
    rt_export_theta_free(&theta);
    return status;
}

/* With the class named, transformers does not take RoFormerTokenizer, which needs other packages.
 */
rt_status rt_huggingface_tokenizer_text(char **text_new, const rt_huggingface_export *export)
{
    const int length = rt_huggingface_positions(export);
    rt_writer w = {0};
    if (export->vocabulary->level == RT_LEVEL_BPE)
        return rt_tokenizer_bpe_text(text_new, export->vocabulary, length);
    rt_writer_add(&w, "{\n  \"tokenizer_class\": \"BertTokenizer\",\n");
    rt_put_flag(&w, "do_lower_case", export->lowercase);
    rt_writer_add(&w, "  \"model_max_length\": %d\n}\n", length);
    return taken(&w, text_new, RT_HF_TOKENIZER);
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

static void put_theta_sentence(rt_writer *w, const rt_transformer_options *o)
{
    const rt_family *family = rt_family_of(o);
    if (!o->theta.learn)
        put_fixed_theta(w, o);
    else if (o->theta.scope == RT_THETA_MODEL)
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which was learned "
                      "with the weights; %s\n",
                      family->shared_theta);
    else
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which every %s "
                      "has learned for itself. %s `" RT_HF_THETA
                      "` in config.json has all of them; this makes a loaded model use them:\n\n%s",
                      o->theta.scope != RT_THETA_HEAD ? "layer"
                      : o->kv_heads < o->heads        ? "head of keys"
                                                      : "head",
                      family->mean_theta, family->own_theta);
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

/* What transformers' tokenizer puts around a text, where rotor puts something else. */
static void put_begin_remedy(rt_writer *w, const rt_huggingface_export *export)
{
    const rt_level level = export->vocabulary ? export->vocabulary->level : RT_LEVEL_BYTE;
    if (level == RT_LEVEL_BPE)
        rt_writer_add(w, export->bare ? "; its tokenizer puts nothing there either"
                                      : "; its tokenizer puts it there");
    else if (level == RT_LEVEL_WORDPIECE)
        rt_writer_add(w,
                      "; its tokenizer puts %s[SEP] behind it, which rotor does not: "
                      "`tokenizer(text)[\"input_ids\"][%s:-1]`",
                      export->bare ? "[CLS] before it and " : "", export->bare ? "1" : "");
}

/* How a text that is to be continued, or whose masks are to be filled, begins. */
static void put_begin_sentence(rt_writer *w, const rt_transformer_options *o,
                               const rt_huggingface_export *export)
{
    if (o->head != RT_HEAD_LM)
        return;
    rt_writer_add(w, "\nA text begins with ");
    if (export->bare)
        rt_writer_add(w, "its own first token: nothing is put before it");
    else
        put_begin_token(w, export);
    put_begin_remedy(w, export);
    rt_writer_add(w, ".\n");
}

rt_status rt_huggingface_card_text(char **text_new, const rt_transformer *model,
                                   const rt_huggingface_export *export)
{
    const rt_transformer_options *o = &model->options;
    const rt_family_class *class = rt_family_of(o)->class_of(o);
    rt_writer w = {0};
    rt_writer_add(&w, "---\nlibrary_name: transformers\ntags:\n- %s\n---\n\n# ", class->type);
    if (!export->title)
        rt_writer_add(&w, "A ");
    put_plain(&w, export->title ? export->title : rt_family_of(o)->name);
    rt_writer_add(&w, "\n\nA %s with %d layers of width %d and %d heads, trained with rotor. ",
                  class->name, o->layers, o->dim, o->heads);
    put_theta_sentence(&w, o);
    put_vocabulary_sentence(&w, export);
    put_begin_sentence(&w, o, export);
    for (int i = 0; i < export->fact_count; i++) {
        rt_writer_add(&w, i ? "- " : "\n- ");
        put_plain(&w, export->facts[i]);
        rt_writer_add(&w, "\n");
    }
    return taken(&w, text_new, RT_HF_CARD);
}
