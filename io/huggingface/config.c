/* Reads and writes config.json, by the tables of the families. */

#include "io/huggingface/config.h"

#include "core/memory.h"
#include "io/huggingface/folder.h"
#include "models/keys.h"
#include "util/key_value.h"
#include "util/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE(family) +1
enum { MOST_LABELS = 65536, MOST_WORDS = 32, FAMILIES = RT_FAMILIES(ONE) };

/* Returns the value of a word. If it is refused, the message lists the first word of each value. */
static int read_word(const rt_config_row *row, rt_reading *r)
{
    const char *list[16];
    const char *word =
        rt_reading_find(r, row->key) ? rt_reading_word(r, row->key) : row->words->word;
    int count = 0;
    for (const rt_config_word *at = row->words; at->word; at++) {
        const rt_config_word *first = row->words;
        if (!strcmp(at->word, word))
            return at->value;
        while (first->value != at->value)
            first++;
        if (first == at && count < (int)(sizeof list / sizeof *list))
            list[count++] = at->word;
    }
    rt_reading_refuse_word(r, row->key, list, count, row->reason, word);
    return row->words->value;
}

/* Refuses any value but the fixed one; the message shows a value without members. If true is
 * required, null is not the default but refused: Python takes null for false. */
static void check_fixed(const rt_config_row *row, rt_reading *r)
{
    json_auto_t *wanted = json_loads(row->fixed, JSON_DECODE_ANY, NULL);
    const json_t *value =
        json_is_true(wanted) ? json_object_get(r->json, row->key) : rt_reading_find(r, row->key);
    char *shown = NULL;
    if (value && !json_equal(value, wanted)) {
        if (!json_is_object(value) && !json_is_array(value))
            shown = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        rt_reading_refuse(r, "%s%s%.64s: %s", row->key, shown ? " = " : "", shown ? shown : "",
                          row->reason);
    }
    free(shown); /* allocated by Jansson */
}

static void read_row(const rt_config_row *row, rt_reading *r, rt_huggingface *there)
{
    char *options = (char *)&there->options;
    const json_t *value = rt_reading_find(r, row->key);
    int unused, same, initial = (int)row->initial;
    void *at = row->member == RT_NO_MEMBER ? (void *)&unused : options + row->member;
    if (row->needed && !value)
        rt_reading_refuse(r, "%s is missing", row->key);
    switch (row->type) {
    case RT_CONFIG_WHOLE:
        same = row->same_as ? *(const int *)(options + row->same_as) : 0;
        if (same && (json_object_get(r->json, row->key) || !initial))
            initial = same;
        *(int *)at = rt_reading_whole(r, row->key, initial, 1, (int)row->high);
        break;
    case RT_CONFIG_NUMBER:
        *(double *)at = value ? json_number_value(value) : row->initial;
        if (value && !(json_is_number(value) && *(double *)at >= 0 && *(double *)at < row->high))
            rt_reading_refuse(r, "%s must be a number from 0 to less than %g", row->key, row->high);
        break;
    case RT_CONFIG_EPS:
        *(double *)at = rt_reading_above_0(r, row->key, row->initial);
        if (*(double *)at > 1)
            rt_reading_refuse(r, "%s must be at most 1", row->key);
        break;
    case RT_CONFIG_POSITIONS:
        there->max_positions = rt_reading_whole(r, row->key, initial, 1, (int)row->high);
        break;
    case RT_CONFIG_FLAG:
        *(bool *)at = rt_reading_flag(r, row->key, initial);
        break;
    case RT_CONFIG_SWITCH:
        *(int *)at = rt_reading_flag(r, row->key, initial) ? row->on : row->off;
        break;
    case RT_CONFIG_WORD:
        *(int *)at = read_word(row, r);
        break;
    case RT_CONFIG_FIXED:
        check_fixed(row, r);
        break;
    case RT_CONFIG_ABSENT:
        if (value)
            rt_reading_refuse(r, "%s: %s", row->key, row->reason);
        break;
    default:
        break;
    }
}

void rt_config_rows_read(const rt_config_row *rows, rt_reading *r, rt_huggingface *there)
{
    for (const rt_config_row *row = rows; row->key; row++)
        if (row->read)
            row->read(r, there);
        else
            read_row(row, r, there);
}

/* Creates the value of a row; NULL if the heap is exhausted. */
static json_t *value_of(const rt_config_row *row, const rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    const char *at = (const char *)o + (row->member > 0 ? row->member : 0);
    switch (row->type) {
    case RT_CONFIG_WHOLE:
        return json_integer(*(const int *)at);
    case RT_CONFIG_NUMBER:
    case RT_CONFIG_EPS:
        return json_real(*(const double *)at); /* with a point: Python must read a float */
    case RT_CONFIG_POSITIONS:
        return json_integer(w->export->positions);
    case RT_CONFIG_FLAG:
        return json_boolean(*(const bool *)at);
    case RT_CONFIG_SWITCH:
        return json_boolean(*(const int *)at == row->on);
    case RT_CONFIG_WORD:
        return json_string(rt_config_row_word(row, o));
    case RT_CONFIG_FIXED:
        return json_loads(row->fixed, JSON_DECODE_ANY, NULL);
    default:
        return NULL;
    }
}

void rt_config_rows_put(const rt_config_row *rows, rt_config_writing *w)
{
    for (const rt_config_row *row = rows; row->key; row++)
        if (row->put)
            row->put(w);
        else if (row->when ? row->when(w->options) : row->type && row->type < RT_CONFIG_FIXED)
            rt_json_put(&w->object, row->key, value_of(row, w));
}

static void read_class(rt_reading *r, rt_huggingface *there)
{
    const json_t *list = rt_reading_find(r, "architectures");
    const char *name = json_string_value(json_array_get(list, 0)), *names[MOST_WORDS];
    const rt_family_class *c = there->files->family->classes;
    int count = 0;
    for (; c->name && (!name || strcmp(c->name, name)); c++)
        if (count < MOST_WORDS)
            names[count++] = c->name;
    there->architecture = c->name;
    there->has_head = c->has_head;
    there->options.head = c->head;
    if (!c->name)
        rt_reading_refuse_word(r, "architectures", names, count, "rotor reads no other",
                               name ? name : "");
}

/* Keys of all families; most change what a model computes, and rotor supports one value. */
static const rt_config_word problems[] = {{"single_label_classification", 0}, {0}};
#define NO_FOLDING "rotor reads ESM-2, and folds no proteins"
static const rt_config_row all[] = {
    {"model_type", .also = RT_KEYS("architectures", "id2label", "num_labels", "eos_token_id",
                                   RT_HF_LENGTH, RT_HF_BEGIN, RT_HF_END, RT_HF_LEVEL, RT_HF_THETA)},
    {"add_cross_attention", RT_MUST_BE("false"), .reason = RT_NO_CROSS_ATTENTION},
    {"is_encoder_decoder", RT_MUST_BE("false"), .reason = RT_NO_CROSS_ATTENTION},
    {"problem_type", .type = RT_CONFIG_WORD, .member = RT_NO_MEMBER, .words = problems,
     .reason = "rotor has no other"},
    {"pruned_heads", RT_MUST_BE("{}"), .reason = "every layer of rotor has all of its heads"},
    {"num_experts", RT_ABSENT, .reason = "rotor has no mixture of experts"},
    {"num_local_experts", RT_ABSENT, .reason = "rotor has no mixture of experts"},
    {"is_folding_model", RT_MUST_BE("false"), .reason = NO_FOLDING},
    {"esmfold_config", RT_ABSENT, .reason = NO_FOLDING},
    {"quantization_config", RT_ABSENT, .reason = "rotor reads no quantized weights"},
    {"per_layer_config", RT_ABSENT, .reason = "layers of rotor have the same sizes"},
    {0},
};

/* Keys that change no logits in any family: they concern training, generation and outputs. */
static const char *const unused[] = {
    /* clang-format off */
    "transformers_version", "_name_or_path", "name_or_path", "_commit_hash", "dtype", "torch_dtype",
    "use_cache", "return_dict", "output_hidden_states", "output_attentions", "torchscript",
    "use_bfloat16", "tf_legacy_loss", "gradient_checkpointing", "chunk_size_feed_forward",
    "attn_implementation", "_attn_implementation_autoset", "experts_implementation",
    "classifier_dropout", "label2id", "bos_token_id", "cls_token_id", "sep_token_id",
    "decoder_start_token_id", "tokenizer_class", "prefix", "finetuning_task",
    "task_specific_params", "tie_encoder_decoder", "cross_attention_hidden_size",
    "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "temperature", "top_k",
    "top_p", "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
    "return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id",
    "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens", "epsilon_cutoff", "eta_cutoff", "num_beam_groups",
    "diversity_penalty", NULL
    /* clang-format on */
};

/* Known keys of rope_parameters and rope_scaling. */
static const char *const rope_keys[] = {
    /* clang-format off */
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "factor",
    "original_max_position_embeddings", "attention_factor", "mscale", "mscale_all_dim", "truncate",
    "beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor", "short_factor", "long_factor",
    "full_attention", "sliding_attention", NULL
    /* clang-format on */
};

static void check_heads(rt_reading *r, const rt_transformer_options *o)
{
    const int size = rt_transformer_head_dim(o);
    if (o->heads % (o->kv_heads ? o->kv_heads : o->heads))
        rt_reading_refuse(r, "num_key_value_heads = %d does not divide num_attention_heads = %d",
                          o->kv_heads, o->heads);
    if (o->head_dim && size % 2)
        rt_reading_refuse(r, "head_dim = %d: a head must have pairs to rotate", size);
    else if (!o->head_dim && o->dim % o->heads)
        rt_reading_refuse(r, "hidden_size = %d is not divisible by num_attention_heads = %d",
                          o->dim, o->heads);
    else if (size % 2)
        rt_reading_refuse(r,
                          "hidden_size = %d and num_attention_heads = %d make heads of %d; a head "
                          "must have pairs to rotate",
                          o->dim, o->heads, size);
}

void rt_config_check_head_dim(rt_reading *r, rt_huggingface *there)
{
    const rt_transformer_options *o = &there->options;
    const int size = o->dim / o->heads;
    const int given = rt_reading_size(r, "head_dim", size);
    if (given != size)
        rt_reading_refuse(r,
                          "head_dim = %d: heads of this family have %d features, hidden_size / "
                          "num_attention_heads",
                          given, size);
}

void rt_config_read_padding(rt_reading *r, rt_huggingface *there)
{
    const int id = rt_reading_whole(r, "pad_token_id", -1, -1, there->options.vocab - 1);
    there->padding_id = id < 0 ? RT_NO_PADDING : id;
}

/* The name of a label that has no other, in memory of the enclosing block. */
#define LABEL(i) RT_PRINTED(24, "LABEL_%d", i)

/* Reads id2label, which names each number from 0 on, or else num_labels. */
static void read_labels(rt_reading *r, rt_huggingface *there)
{
    json_t *names = rt_reading_find(r, "id2label");
    const int count = names ? (int)json_object_size(names) : rt_reading_size(r, "num_labels", 2);
    if (names && !json_is_object(names))
        rt_reading_refuse(r, "id2label must be an object");
    if (names && rt_reading_size(r, "num_labels", count) != count)
        rt_reading_refuse(r, "num_labels must be %d, as many as id2label names", count);
    if (count < 1 || count > MOST_LABELS)
        rt_reading_refuse(r, "id2label must name from 1 to %d labels; got %d", MOST_LABELS, count);
    if (there->options.head == RT_HEAD_SEQUENCE && count == 1)
        rt_reading_refuse(r, "id2label has one label, which makes it a regression: rotor has none");
    if (r->status.code)
        return;
    there->labels = rt_alloc((size_t)count, sizeof *there->labels);
    there->options.labels = there->labels ? count : 0;
    for (int i = 0; i < there->options.labels && !r->status.code; i++) {
        const char *name =
            names ? json_string_value(json_object_get(names, RT_PRINTED(16, "%d", i))) : LABEL(i);
        there->labels[i] = name ? rt_copy_text(name) : NULL;
        if (!name)
            rt_reading_refuse(r,
                              "id2label must have a string for each number below %d; not so for %d",
                              count, i);
        else if (!there->labels[i])
            r->status = rt_out_of_memory("labels");
    }
    if (!there->labels)
        r->status = rt_out_of_memory("labels");
}

int rt_config_key_sets(const rt_family *family, const char *key)
{
    const rt_config_row *const tables[] = {all, family->config};
    int sets = rt_word_index(unused, key) >= 0 || rt_word_index(family->unused, key) >= 0
                   ? RT_KEY_UNUSED
                   : 0;
    for (int t = 0; t < 2; t++)
        for (const rt_config_row *row = tables[t]; row->key; row++)
            if (!strcmp(row->key, key) || rt_word_index(row->also, key) >= 0)
                sets |= row->type == RT_CONFIG_FIXED || row->type == RT_CONFIG_ABSENT
                            ? RT_KEY_REFUSED
                            : RT_KEY_READ;
    return sets;
}

/* Adds the unknown keys of an object to a list; `within` is the prefix of their names. */
static void list_unknown(rt_writer *w, int *count, const rt_family *family, const char *within,
                         json_t *object)
{
    enum { MOST = 20 };
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const char *name = RT_PRINTED(2 * RT_QUOTE_SIZE, "%.64s%.40s", within, key);
        const bool is_rope = !strncmp(key, "rope_", 5) || *within;
        if (*within ? rt_word_index(rope_keys, key) < 0 : !rt_config_key_sets(family, key)) {
            if (++*count <= MOST)
                rt_writer_add(w, "%s%s", *count > 1 ? ", " : "", RT_QUOTED(name));
        } else if (is_rope && json_is_object(value) && strcmp(key, RT_HF_THETA) != 0) {
            list_unknown(w, count, family, RT_PRINTED(2 * RT_QUOTE_SIZE, "%.104s.", name), value);
        }
    }
    if (!*within && *count > MOST)
        rt_writer_add(w, " and %d more", *count - MOST);
}

/* Adds one warning with all unknown keys. */
static void warn_of_unknown(rt_reading *r, rt_huggingface *there)
{
    rt_writer w = {0};
    int count = 0;
    list_unknown(&w, &count, there->files->family, "", (json_t *)r->json);
    RT_OWNED char *names = rt_writer_take(&w);
    if (!names)
        r->status = rt_out_of_memory("a message");
    else if (count)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": rotor does not know, and ignores: %s\n", names);
}

#define KEY "eos_token_id"

/* Reads eos_token_id of generation_config.json or, if it has none, of config.json: an id or a list
 * of ids. An invalid value is ignored with a warning. */
static rt_status read_ends(rt_huggingface *there, const char *folder, const json_t *config)
{
    json_auto_t *own = NULL;
    const rt_status status = rt_json_read_optional(&own, folder, RT_HF_GENERATE);
    const json_t *first = json_object_get(own, KEY), *second = json_object_get(config, KEY);
    const bool given = first && !json_is_null(first);
    const json_t *value = given ? first : second;
    const bool list = json_is_array(value), none = status.code || !value || json_is_null(value);
    const size_t count = none ? 0 : list ? json_array_size(value) : 1;
    bool good = count <= RT_MOST_ENDS;
    for (size_t i = 0; i < count && good; i++) {
        const json_t *id = list ? json_array_get(value, i) : value;
        const json_int_t number = json_integer_value(id);
        if (!json_is_integer(id) || number < 0 || number >= there->options.vocab)
            good = false;
        else
            there->ends.ids[i] = (int32_t)number;
    }
    if (good)
        there->ends.count = (int)count;
    else
        rt_writer_add(&there->files->warnings,
                      "%s: " KEY " must be a whole number from 0 to %d, or a list of at most %d of "
                      "them; it is ignored: no token ends a text\n",
                      given ? RT_HF_GENERATE : RT_HF_CONFIG, there->options.vocab - 1,
                      RT_MOST_ENDS);
    return status;
}

void rt_config_begin(rt_huggingface *there)
{
    there->options = (rt_transformer_options){
        .init_std = RT_INIT_STD,
        .position = {.frequencies = {RT_FREQUENCY_DEFAULTS}, .fraction = 1, .every = 1},
        .theta = {.scope = RT_THETA_MODEL},
    };
    for (int i = 0; i < rt_model_keys.count; i++)
        if (rt_model_keys.keys[i].later) /* no format of a folder knows it */
            rt_key_value_set(&rt_model_keys.keys[i], rt_model_keys.keys[i].initial,
                             &there->options);
    rt_option_rows_set(there->files->family, &there->options);
}

static void read_all(rt_reading *r, rt_huggingface *there)
{
    const char *type = rt_reading_word(r, "model_type"), *types[FAMILIES];
    for (int i = 0; i < FAMILIES; i++) {
        types[i] = rt_families[i]->type;
        if (!strcmp(types[i], type))
            there->files->family = rt_families[i];
    }
    if (!there->files->family)
        rt_reading_refuse_word(r, "model_type", types, FAMILIES, "rotor reads no other", type);
    if (r->status.code)
        return;
    rt_config_begin(there);
    rt_config_rows_read(all, r, there);
    read_class(r, there);
    rt_config_rows_read(there->files->family->config, r, there);
    const rt_head head = there->options.head;
    check_heads(r, &there->options);
    rt_transformer_resolve(&there->options);
    there->own = rt_reading_find(r, RT_HF_LENGTH) != NULL;
    there->length =
        rt_reading_size(r, RT_HF_LENGTH,
                        there->max_positions < RT_MOST_SIZE ? there->max_positions : RT_MOST_SIZE);
    there->bare = !strcmp(rt_reading_word(r, RT_HF_BEGIN), "none");
    there->open_ended = !strcmp(rt_reading_word(r, RT_HF_END), "none");
    snprintf(there->level, sizeof there->level, "%s", rt_reading_word(r, RT_HF_LEVEL));
    if (!r->status.code && head != RT_HEAD_LM)
        read_labels(r, there);
    if (!r->status.code)
        warn_of_unknown(r, there);
    if (!r->status.code)
        rt_huggingface_read_theta(r, &there->options, &there->files->written);
}

rt_status rt_huggingface_read_config(rt_huggingface *there, const char *folder)
{
    json_auto_t *json = NULL;
    const rt_status status = rt_json_read_file(&json, folder, RT_HF_CONFIG);
    rt_reading r = {.json = json, .status = status};
    read_all(&r, there);
    if (!r.status.code && there->options.causal)
        r.status = read_ends(there, folder, json);
    return r.status;
}

const json_t *rt_layer_list(rt_reading *r, const char *key, int layers)
{
    const json_t *list = rt_reading_find(r, key);
    if (list && json_array_size(list) != (size_t)layers)
        rt_reading_refuse(r, "%s must be a list of %d, num_hidden_layers", key, layers);
    return list;
}

void rt_layer_types_read(rt_reading *r, rt_huggingface *there, int window, const bool *by_rule)
{
    rt_transformer_options *o = &there->options;
    const json_t *list = rt_layer_list(r, "layer_types", o->layers);
    rt_layer_words types = {.count = o->layers};
    int sliding = 0;
    for (int l = 0; l < o->layers; l++) {
        const char *type = json_string_value(json_array_get(list, (size_t)l));
        const bool slides = list ? type && !strcmp(type, "sliding_attention") : by_rule[l];
        types.at[l] = slides ? RT_LAYER_SLIDING : RT_LAYER_FULL;
        sliding += slides;
        if (list && !slides && (!type || strcmp(type, "full_attention") != 0))
            rt_reading_refuse(r,
                              "layer_types must have full_attention or sliding_attention for each "
                              "of %d layers: rotor has no other; that of layer %d is %s",
                              (int)json_array_size(list), l,
                              RT_QUOTED(type ? type : "something else"));
    }
    if (sliding && !window)
        rt_reading_refuse(r, "layer_types has sliding_attention, but use_sliding_window and "
                             "sliding_window give no window");
    o->window = sliding ? window : 0;
    if (sliding && sliding < o->layers) /* else all layers have a window, or none */
        o->layer_types = types;
}

void rt_layer_types_put(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    json_t *types = json_array();
    for (int l = 0; l < o->layers; l++)
        rt_json_append(&types, json_string(rt_layer_row_of(o, l).window > 0 ? "sliding_attention"
                                                                            : "full_attention"));
    rt_json_put(&w->object, "layer_types", types);
}

/* Writes an id; null without a vocabulary, because plain ids have no meaning for transformers. */
static void put_id(rt_config_writing *w, const char *key, int id)
{
    const bool known = w->export->vocabulary && id >= 0;
    rt_json_put(&w->object, key, known ? json_integer(id) : json_null());
}

int32_t rt_export_end(const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    return v && !export->open_ended ? rt_vocabulary_frame(v).last : RT_NO_ID;
}

void rt_config_put_special_ids(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const rt_special_ids *special = v ? &v->special : &rt_default_special_ids;
    const bool encoder = w->options->kind != RT_KIND_DECODER;
    const int count = v && !encoder ? v->ends.count : 0;
    double ends[RT_MOST_ENDS];
    for (int i = 0; i < count; i++)
        ends[i] = v->ends.ids[i];
    put_id(w, "bos_token_id", special->cls);
    if (encoder)
        put_id(w, "cls_token_id", special->cls);
    if (count > 1)
        rt_json_put(&w->object, "eos_token_id", rt_json_numbers(ends, count));
    else
        put_id(w, "eos_token_id", encoder ? special->sep : count ? v->ends.ids[0] : RT_NO_ID);
    if (encoder)
        put_id(w, "sep_token_id", special->sep);
    /* with it, transformers finds the last token of a text to label */
    const bool labels = !encoder && w->options->head == RT_HEAD_SEQUENCE && w->export->length;
    const bool pads =
        labels ? rt_export_end(w->export) != special->pad : rt_vocabulary_pads(special);
    if (labels && pads)
        rt_json_put(&w->object, "pad_token_id", json_integer(special->pad));
    else
        put_id(w, "pad_token_id", pads ? special->pad : RT_NO_ID);
}

char *rt_config_text(const rt_family *family, const rt_transformer_options *o,
                     const rt_folder_theta *theta, const rt_huggingface_export *export)
{
    rt_config_writing w = {json_object(), family, o, export, theta};
    rt_json_put(&w.object, "architectures", json_pack("[s]", rt_family_class_of(family, o)->name));
    rt_json_put(&w.object, "model_type", json_string(family->type));
    rt_config_rows_put(family->config, &w);
    if (o->head != RT_HEAD_LM) {
        json_t *names = json_object(), *ids = json_object();
        for (int i = 0; i < o->labels; i++) {
            json_t *name = rt_json_string(export->labels ? export->labels[i] : LABEL(i));
            rt_json_put(&ids, name ? json_string_value(name) : "", json_integer(i));
            rt_json_put(&names, RT_PRINTED(16, "%d", i), name);
        }
        rt_json_put(&w.object, "id2label", names);
        rt_json_put(&w.object, "label2id", ids);
    }
    if (o->head == RT_HEAD_SEQUENCE)
        rt_json_put(&w.object, "problem_type", json_string("single_label_classification"));
    if (o->theta.learn)
        rt_put_theta(&w);
    if (export->vocabulary)
        rt_json_put(&w.object, RT_HF_LEVEL, json_string(rt_level_words[export->vocabulary->level]));
    if (export->bare)
        rt_json_put(&w.object, RT_HF_BEGIN, json_string("none"));
    if (export->open_ended)
        rt_json_put(&w.object, RT_HF_END, json_string("none"));
    if (export->length)
        rt_json_put(&w.object, RT_HF_LENGTH, json_integer(export->length));
    rt_json_put(&w.object, "dtype", json_string("float32"));
    char *text = rt_json_text(w.object);
    json_decref(w.object);
    return text;
}

const rt_config_word rt_hf_activations[] = {
    {"gelu", RT_GELU},
    {"gelu_new", RT_GELU_TANH},
    {"relu", RT_RELU},
    {"tanh", RT_TANH},
    {"sigmoid", RT_SIGMOID},
    {"silu", RT_SILU},
    {"gelu_python", RT_GELU},
    {"gelu_pytorch_tanh", RT_GELU_TANH},
    {"gelu_fast", RT_GELU_TANH},
    {"swish", RT_SILU},
    {0},
};
