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

/* Adds the text as code, if possible. */
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

/* Describes the tokens that the tokenizer of level bpe puts around a text. */
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

/* Describes the tokens that transformers' tokenizer puts around a text, if rotor puts others. */
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

/* Describes how a text begins that is to be continued, or whose masks are to be filled. */
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

/* ---- the tensors of a model, by the rows of its family: where numbers come from ---- */

/* The parts of a tensor. */
typedef struct source {
    char name[RT_NAME_SIZE]; /* there */
    int parts, columns;      /* of the tensor */
    rt_tensor_map maps[RT_MOST_PARTS];
    const real *values[RT_MOST_PARTS];
    const real *factors[RT_MOST_PARTS]; /* of the heads that the rows make; or NULL */
    int head_size;
} source;

/* Factors of heads go into the queries that they multiply. */
static real value_of(const source *s, int part, size_t index)
{
    const real *factors = s->factors[part];
    const size_t row = index / (size_t)s->maps[part].columns;
    return factors ? factors[row / (size_t)s->head_size] * s->values[part][index]
                   : s->values[part][index];
}

static void fill_values(const void *context, size_t first, size_t count, float *values)
{
    const source *s = context;
    const size_t columns = (size_t)s->columns;
    const bool plain = s->parts == 1 && rt_tensor_map_is_plain(s->maps);
    for (size_t n = 0; n < count && plain; n++)
        values[n] = (float)value_of(s, 0, first + n);
    for (size_t n = 0; n < count && !plain; n++) {
        const size_t row = (first + n) / columns, column = (first + n) % columns;
        size_t index = 0;
        int part = 0;
        while (part + 1 < s->parts && !rt_tensor_map_index(s->maps + part, row, column, &index))
            part++;
        if (part + 1 == s->parts)
            rt_tensor_map_index(s->maps + part, row, column, &index);
        values[n] = (float)value_of(s, part, index);
    }
}

/* ---- the list ---- */

/* Entries and what they are made of; with `at` NULL they are only counted. */
typedef struct listing {
    const rt_family *family;
    const rt_transformer *model;
    rt_beside beside;
    rt_safetensors_entry *at;
    source *sources;
    int count;
} listing;

static rt_status refuse(const listing *l, const char *parameter)
{
    return rt_error(RT_CONFIG, "%s cannot be exported: %s %s of %s has no such tensor", parameter,
                    rt_family_article(l->family->name), l->family->name,
                    rt_family_library(l->family));
}

static const real *factors_of(const rt_transformer *m, const rt_parameter *p)
{
    const rt_transformer_layer *layer = p->part == RT_PART_LAYER ? m->layers + p->layer : NULL;
    const bool queries =
        layer && (&p->tensor == layer->query.weight || &p->tensor == layer->query.bias);
    return queries && layer->head_scale ? layer->head_scale->data : NULL;
}

static rt_status add_tensor(listing *l, const rt_tensor_place *place, const rt_parameter *p)
{
    const int i = l->count++;
    if (!l->at)
        return rt_ok();
    source *s = l->sources + i;
    rt_tensor_place part = *place;
    memcpy(s->name, place->name, sizeof s->name);
    for (; part.part < RT_MOST_PARTS && part.row->here[part.part]; part.part++) {
        const rt_parameter *sibling = rt_tensor_part(place, l->model, p, part.part);
        if (!sibling)
            return refuse(l, p->name);
        s->maps[s->parts] =
            rt_tensor_map_of(&part, l->family, &l->model->options, l->model, sibling);
        s->factors[s->parts] = factors_of(l->model, sibling);
        s->values[s->parts++] = sibling->tensor.data;
    }
    const rt_shape shape = rt_tensor_map_shape(s->maps, p);
    s->columns = shape.ndim > 1 ? shape.axis[1] : 1;
    s->head_size = l->model->options.head_dim;
    l->at[i] = (rt_safetensors_entry){.name = s->name,
                                      .axes = shape.ndim,
                                      .fill = fill_values,
                                      .context = s};
    memcpy(l->at[i].shape, shape.axis, sizeof l->at[i].shape);
    return rt_ok();
}

/* The tensors that begin with a parameter; it is in one that is written. */
static rt_status add_tensors(listing *l, const rt_parameter *p)
{
    const rt_transformer_options *o = &l->model->options;
    rt_tensor_place place;
    rt_status status = rt_ok();
    bool found = false;
    for (int n = 0; !status.code && rt_tensor_place_of(&place, l->family, o, p->name, n); n++) {
        const bool written = !place.row->written || place.row->written(o);
        found |= written;
        if (written && place.part == 0)
            status = add_tensor(l, &place, p);
    }
    return status.code || found ? status : refuse(l, p->name);
}

/* Once, or for a layer. */
static void add_made(listing *l, const rt_tensor_row *row, int layer)
{
    const int i = l->count++;
    if (!l->at)
        return;
    rt_tensor_row_name(row, layer, l->sources[i].name);
    l->at[i] = (rt_safetensors_entry){.name = l->sources[i].name};
    row->make(l->at + i, &l->beside);
}

/* Adds the tensors that are no parameters of the model. */
static void add_beside(listing *l)
{
    const rt_parameters *p = &l->model->parameters;
    for (const rt_tensor_row *row = l->family->tensors; row->there; row++) {
        if (!row->make || (row->when && !row->when(&l->model->options)) ||
            (row->here[0] && rt_parameters_find(p, row->here[0])))
            continue;
        const int times = rt_tensor_row_is_of_layers(row) ? l->model->options.layers : 1;
        for (int layer = 0; layer < times; layer++)
            add_made(l, row, layer);
    }
}

static rt_status list_all(listing *l)
{
    const rt_parameters *p = &l->model->parameters;
    rt_status status = rt_ok();
    l->count = 0;
    for (int i = 0; i < p->count && !status.code; i++)
        if (p->list[i]->role != RT_ROLE_THETA && p->list[i]->role != RT_ROLE_FACTOR)
            status = add_tensors(l, p->list[i]);
    if (!status.code)
        add_beside(l);
    return status;
}

rt_status rt_tensor_list_open(rt_tensor_list *list, const rt_family *family,
                              const rt_transformer *model, int positions)
{
    listing l = {family, model, {&model->options, positions, &list->theta}, NULL, NULL, 0};
    *list = (rt_tensor_list){0};
    rt_status status = rt_export_theta_of(family, model, &list->theta);
    if (!status.code)
        status = list_all(&l);
    if (!status.code) {
        l.sources = list->sources = rt_alloc((size_t)l.count + 1, sizeof *l.sources);
        l.at = list->entries = rt_alloc((size_t)l.count + 1, sizeof *l.at);
        status = l.sources && l.at ? list_all(&l) : rt_out_of_memory("a list of tensors");
    }
    list->count = l.count;
    return status;
}

void rt_tensor_list_close(rt_tensor_list *list)
{
    rt_export_theta_free(&list->theta);
    rt_free(list->sources);
    rt_free(list->entries);
    *list = (rt_tensor_list){0};
}

rt_status rt_huggingface_write_weights(const char *path, const rt_family *family,
                                       const rt_transformer *model,
                                       const rt_huggingface_export *export)
{
    rt_tensor_list list;
    rt_status status = rt_tensor_list_open(&list, family, model, rt_roformer_rows(export));
    if (!status.code)
        status = rt_safetensors_write(path, list.entries, list.count);
    rt_tensor_list_close(&list);
    return status;
}
