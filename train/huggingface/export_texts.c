#include "train/huggingface/private.h"

#include "core/memory.h"
#include "data/units.h"
#include "train/text/number.h"

#include <stdio.h>
#include <string.h>

/* What is no UTF-8 is written as U+FFFD. */
static const char replacement[] = "\xef\xbf\xbd";

static rt_status taken(rt_writer *w, char **text_new, const char *what)
{
    *text_new = rt_writer_take(w);
    return *text_new ? rt_ok() : rt_out_of_memory(what);
}

/* The first character of a text as UTF-8; returns its bytes there. */
static size_t next_character(const char *text, char character[RT_UNIT_SIZE], int32_t *unit)
{
    const size_t size =
        rt_unit_read(RT_LEVEL_CHAR, (const unsigned char *)text, strlen(text), unit);
    if (!size)
        *unit = 0xfffd;
    snprintf(character, RT_UNIT_SIZE, "%.*s", size ? (int)size : (int)sizeof replacement,
             size ? text : replacement);
    return size ? size : 1;
}

/* ---- JSON ---- */

static void put_string(rt_writer *w, const char *text)
{
    char character[RT_UNIT_SIZE];
    int32_t unit;
    rt_writer_add(w, "\"");
    while (*text) {
        text += next_character(text, character, &unit);
        if (unit == '"' || unit == '\\')
            rt_writer_add(w, "\\%s", character);
        else if (unit < ' ' || unit == 0x7f)
            rt_writer_add(w, "\\u%04x", (unsigned)unit);
        else
            rt_writer_add(w, "%s", character);
    }
    rt_writer_add(w, "\"");
}

static void put_number(rt_writer *w, const char *key, double value)
{
    char text[RT_NUMBER_SIZE];
    rt_writer_add(w, "  \"%s\": %s,\n", key, rt_number_write(text, value));
}

static void put_whole(rt_writer *w, const char *key, int value)
{
    rt_writer_add(w, "  \"%s\": %d,\n", key, value);
}

static void put_flag(rt_writer *w, const char *key, bool value)
{
    rt_writer_add(w, "  \"%s\": %s,\n", key, value ? "true" : "false");
}

/* ---- config.json ---- */

static rt_roformer_class class_of(const rt_roformer_options *o)
{
    switch (o->head) {
    case RT_HEAD_SEQUENCE:
        return RT_CLASS_SEQUENCE;
    case RT_HEAD_TOKEN:
        return RT_CLASS_TOKEN;
    default:
        return o->causal ? RT_CLASS_CAUSAL_LM : RT_CLASS_MASKED_LM;
    }
}

static const char *activation_word(rt_activation kind)
{
    for (int i = 0; i < rt_activation_word_count; i++)
        if (rt_activation_words[i].kind == kind)
            return rt_activation_words[i].word;
    return "gelu";
}

static void put_label(rt_writer *w, const rt_huggingface_export *export, int i)
{
    char made[24];
    snprintf(made, sizeof made, "LABEL_%d", i);
    put_string(w, export->labels ? export->labels[i] : made);
}

static void put_labels(rt_writer *w, const rt_roformer_options *o,
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

static void put_theta(rt_writer *w, const rt_roformer_options *o, const double *theta,
                      rt_shape shape)
{
    static const char *const scopes[] = {RT_THETA_SCOPES(RT_CHOICE_WORD)};
    static const char *const forms[] = {RT_THETA_FORMS(RT_CHOICE_WORD)};
    const int *axis = shape.axis;
    char text[RT_NUMBER_SIZE];
    rt_writer_add(w, "  \"" RT_HF_THETA "\": {\n  ");
    put_number(w, "base", o->position.frequencies.base);
    rt_writer_add(w, "    \"form\": \"%s\",\n    \"scope\": \"%s\",\n    \"theta\": [",
                  forms[o->theta.form], scopes[o->theta.scope]);
    for (int l = 0; l < axis[0]; l++) {
        rt_writer_add(w, "%s\n      [", l ? "," : "");
        for (int h = 0; h < axis[1]; h++) {
            rt_writer_add(w, "%s[", h ? ", " : "");
            for (int i = 0; i < axis[2]; i++)
                rt_writer_add(w, "%s%s", i ? ", " : "", rt_number_write(text, *theta++));
            rt_writer_add(w, "]");
        }
        rt_writer_add(w, "]");
    }
    rt_writer_add(w, "\n    ]\n  },\n");
}

static void put_sizes(rt_writer *w, const rt_roformer_options *o,
                      const rt_huggingface_export *export)
{
    put_whole(w, "vocab_size", o->vocab);
    put_whole(w, "hidden_size", o->dim);
    put_whole(w, "embedding_size", o->embedding_dim);
    put_whole(w, "intermediate_size", o->ffn_dim);
    put_whole(w, "num_hidden_layers", o->layers);
    put_whole(w, "num_attention_heads", o->heads);
    put_whole(w, "type_vocab_size", o->token_types ? o->token_types : 1);
    put_whole(w, "max_position_embeddings", rt_huggingface_positions(export));
}

rt_status rt_huggingface_config_text(char **text_new, const rt_roformer *model,
                                     const rt_huggingface_export *export)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    const rt_roformer_options *o = &model->options;
    const rt_special_ids *special =
        export->vocabulary ? &export->vocabulary->special : &rt_default_special_ids;
    rt_writer w = {0};
    rt_shape shape;
    double *theta;
    rt_status status = rt_huggingface_theta_of(model, &theta, &shape);
    if (status.code)
        return status;
    rt_writer_add(&w,
                  "{\n  \"architectures\": [\n    \"%s\"\n  ],\n  \"model_type\": \"roformer\",\n",
                  rt_roformer_class_words[class_of(o)]);
    put_sizes(&w, o, export);
    rt_writer_add(&w, "  \"hidden_act\": \"%s\",\n", activation_word(o->activation));
    put_number(&w, "layer_norm_eps", o->norm_eps);
    put_number(&w, "hidden_dropout_prob", o->dropout);
    put_number(&w, "attention_probs_dropout_prob", o->attention_dropout);
    put_number(&w, "initializer_range", o->init_std > 0 ? o->init_std : RT_INIT_STD);
    put_flag(&w, "rotary_value", o->position.rotate_value);
    put_flag(&w, "is_decoder", o->causal);
    put_flag(&w, "tie_word_embeddings", o->head != RT_HEAD_LM || o->tie_embeddings);
    put_flag(&w, "add_cross_attention", false);
    put_whole(&w, "pad_token_id", special->pad);
    put_labels(&w, o, export);
    if (o->theta.learn)
        put_theta(&w, o, theta, shape);
    if (export->vocabulary)
        rt_writer_add(&w, "  \"" RT_HF_LEVEL "\": \"%s\",\n", levels[export->vocabulary->level]);
    if (export->length)
        put_whole(&w, RT_HF_LENGTH, export->length);
    rt_writer_add(&w, "  \"dtype\": \"float32\"\n}\n");
    rt_free(theta);
    return taken(&w, text_new, RT_HF_CONFIG);
}

/* With the class named, transformers does not take RoFormerTokenizer, which needs other packages.
 */
rt_status rt_huggingface_tokenizer_text(char **text_new, const rt_huggingface_export *export)
{
    rt_writer w = {0};
    rt_writer_add(&w, "{\n  \"tokenizer_class\": \"BertTokenizer\",\n");
    put_flag(&w, "do_lower_case", export->lowercase);
    rt_writer_add(&w, "  \"model_max_length\": %d\n}\n", rt_huggingface_positions(export));
    return taken(&w, text_new, RT_HF_TOKENIZER);
}

/* ---- the model card ---- */

/* A text of others on one line of Markdown, in which it means nothing but itself. */
static void put_plain(rt_writer *w, const char *text)
{
    char character[RT_UNIT_SIZE];
    int32_t unit;
    while (*text) {
        text += next_character(text, character, &unit);
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

/* How a model of transformers is made to turn by theta of layers or heads. */
static const char own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    pairs = model.config.hidden_size // model.config.num_attention_heads // 2\n"
    "    theta = torch.nn.functional.pad(theta, (0, pairs - theta.shape[-1]))\n"
    "\n"
    "    def turn_by(theta):\n"
    "        def hook(module, args, kwargs):\n"
    "            table = args[2] if len(args) > 2 else kwargs[\"sinusoidal_pos\"]\n"
    "            positions = torch.arange(table.shape[-2], dtype=torch.float64)\n"
    "            angles = positions[None, :, None] * theta[:, None, :]\n"
    "            own = torch.cat([angles.sin(), angles.cos()], -1)[None].to(table)\n"
    "            if len(args) > 2:\n"
    "                return (*args[:2], own, *args[3:]), kwargs\n"
    "            return args, {**kwargs, \"sinusoidal_pos\": own}\n"
    "        return hook\n"
    "\n"
    "    for layer, own in zip(model.base_model.encoder.layer, theta):\n"
    "        layer.attention.register_forward_pre_hook(turn_by(own), with_kwargs=True)\n"
    "```\n";

static void put_theta_sentence(rt_writer *w, const rt_roformer_options *o)
{
    static const char *const families[] = {RT_FREQUENCIES(RT_CHOICE_WORD)};
    char base[RT_NUMBER_SIZE];
    const int rotated = 2 * rt_roformer_pairs(o);
    rt_number_write(base, o->position.frequencies.base);
    if (!o->theta.learn && o->position.frequencies.family == RT_FREQUENCIES_GEOMETRIC)
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta_i = %s^(-2i/%d), "
                      "which is fixed.\n",
                      base, rotated);
    else if (!o->theta.learn)
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which is fixed "
                      "(position.frequencies = %s).\n",
                      families[o->position.frequencies.family]);
    else if (o->theta.scope == RT_THETA_MODEL)
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which was learned "
                      "with the weights; `encoder.embed_positions.weight` is its table, so "
                      "transformers rotates by it without any code.\n");
    else
        rt_writer_add(w,
                      "Its queries and keys are rotated by position times theta, which every %s "
                      "has learned for itself. transformers has one table for all: "
                      "`encoder.embed_positions.weight` is made of the mean, and is not what the "
                      "model was trained with. `" RT_HF_THETA
                      "` in config.json has all of them; this makes a loaded model use them:\n\n%s",
                      o->theta.scope == RT_THETA_HEAD ? "head" : "layer", own_theta);
}

static void put_vocabulary_sentence(rt_writer *w, const rt_huggingface_export *export)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    if (!export->vocabulary)
        rt_writer_add(w, "\nIt has no vocabulary: it was trained on token ids.\n");
    else if (export->vocabulary->level == RT_LEVEL_BYTE ||
             export->vocabulary->level == RT_LEVEL_CHAR)
        rt_writer_add(w,
                      "\nIts vocabulary is one of single units (level %s), a line of vocab.txt "
                      "each, which no tokenizer of transformers cuts a text into.\n",
                      levels[export->vocabulary->level]);
}

rt_status rt_huggingface_card_text(char **text_new, const rt_roformer *model,
                                   const rt_huggingface_export *export)
{
    const rt_roformer_options *o = &model->options;
    rt_writer w = {0};
    rt_writer_add(&w, "---\nlibrary_name: transformers\ntags:\n- roformer\n---\n\n# ");
    put_plain(&w, export->title ? export->title : "A RoFormer");
    rt_writer_add(&w, "\n\nA %s with %d layers of width %d and %d heads, trained with rotor. ",
                  rt_roformer_class_words[class_of(o)], o->layers, o->dim, o->heads);
    put_theta_sentence(&w, o);
    put_vocabulary_sentence(&w, export);
    for (int i = 0; i < export->fact_count; i++) {
        rt_writer_add(&w, i ? "- " : "\n- ");
        put_plain(&w, export->facts[i]);
        rt_writer_add(&w, "\n");
    }
    return taken(&w, text_new, "README.md");
}
