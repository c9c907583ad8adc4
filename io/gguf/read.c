/* Imports a GGUF file: options by the keys of its architecture, and its tokenizer. */

#include "core/memory.h"
#include "io/gguf/gguf.h"
#include "io/gguf/private.h"
#include "io/huggingface/folder.h"
#include "io/huggingface/tokenizer.h"

#include <string.h>

#define TOKENIZER RT_GGUF_TOKENIZER

/* Beginnings of keys of an architecture that change what a model computes, and that rotor does not
 * know. A value of 0 or false has no effect, nor has a scale of 1; attention must be causal. */
static const char *const computing[] = {
    /* clang-format off */
    ".attention.", ".rope.", ".logit_scale", ".residual_scale", ".embedding_scale",
    ".attn_logit_softcapping", ".final_logit_softcapping", ".router_logit_softcapping", ".expert",
    ".moe_", ".leading_dense_block_count", ".interleave_moe_layer_step", ".nextn_predict_layers",
    ".n_deepstack_layers", ".ssm.", ".altup.", ".embedding_length_", ".features_length",
    ".decoder_", ".full_attention_interval", ".activation_sparsity_scale", ".swiglu_clamp_",
    ".swin_norm", ".rescale_every_n_layers", ".token_shift_count", ".time_", NULL
    /* clang-format on */
};

/* Beginnings of keys outside that change nothing here, or are read. */
static const char *const known[] = {"general.", "tokenizer.", "quantize.", "split.", NULL};

/* An import; the first error is kept. */
typedef struct importing {
    rt_gguf file;
    rt_huggingface *there;
    rt_reading r; /* of all keys */
} importing;

/* Returns the text of a key; "" if it is missing. */
static const char *text_of(importing *i, const char *key)
{
    const json_t *value = rt_reading_find(&i->r, key);
    if (value && !json_is_string(value))
        rt_reading_refuse(&i->r, "%s must be a text", key);
    return json_is_string(value) ? json_string_value(value) : "";
}

/* Returns the id of a token of the model; RT_NO_ID if the key is missing. */
static int32_t id_of(importing *i, const char *key)
{
    const json_t *value = rt_reading_find(&i->r, key);
    const json_int_t id = json_integer_value(value), count = i->there->options.vocab;
    if (value && !(json_is_integer(value) && id >= 0 && id < count))
        rt_reading_refuse(&i->r, "%s must be an id below %lld", key, (long long)count);
    return value ? (int32_t)id : RT_NO_ID;
}

static bool begins_with_any(const char *key, const char *const *beginnings)
{
    while (*beginnings && strncmp(key, *beginnings, strlen(*beginnings)) != 0)
        beginnings++;
    return *beginnings != NULL;
}

/* Refuses an unknown key that changes what is computed, or adds it to a warning, which names the
 * first of many. */
static void judge_key(importing *i, const char *name, const char *key, const json_t *value)
{
    rt_writer *warnings = &i->there->files->warnings;
    enum { MOST = 1000 };
    const bool causal = strstr(key, "causal");
    const bool scale = strstr(key, "scale") && strcmp(key, ".attention.scale") != 0;
    const double number = json_is_true(value) ? 1 : json_number_value(value);
    const bool scalar = json_is_number(value) || json_is_boolean(value);
    const bool neutral = scalar && (causal ? number == 1 : number == 0 || (scale && number == 1));
    if (begins_with_any(key, computing) && !neutral)
        rt_reading_refuse(&i->r, "%s changes what the model computes, and is not read",
                          RT_QUOTED(name));
    if (!begins_with_any(key, computing) && warnings->length < MOST)
        rt_writer_add(warnings, "%s%s", warnings->length ? ", " : "", RT_QUOTED(name));
}

/* Reads the options of the model. */
static void read_options(importing *i)
{
    enum { MOST_NAMES = 16 };
    const char *name = text_of(i, "general.architecture"), *key, *names[MOST_NAMES];
    const rt_family *const *family = rt_gguf_read;
    rt_huggingface *there = i->there;
    json_auto_t *own = json_object(); /* keys of the architecture, without its name */
    json_t *value;
    int count = 0;
    for (; *family && strcmp((*family)->type, name) != 0; family++)
        names[count++] = (*family)->type;
    if (!*family)
        rt_reading_refuse_word(&i->r, "general.architecture", names, count, "rotor reads no other",
                               name);
    else if (json_integer_value(rt_reading_find(&i->r, "split.count")) > 1)
        rt_reading_refuse(&i->r, "split.count: the model is in several files; rotor reads none");
    if (i->r.status.code)
        return;
    const size_t length = strlen(name);
    there->files->family = *family;
    json_object_foreach(i->file.keys, key, value)
    {
        const bool of_model = !strncmp(key, name, length) && key[length] == '.';
        const char *rest = of_model ? key + length : key;
        if (of_model && json_object_set(own, rest, value))
            i->r.status = rt_out_of_memory("a model");
        if (of_model ? !rt_config_key_sets(*family, rest) : !begins_with_any(key, known))
            judge_key(i, key, rest, value);
    }
    if (there->files->warnings.length)
        rt_writer_add(&there->files->warnings, ": rotor does not know, and ignores, these keys\n");
    rt_reading r = i->r;
    r.json = own;
    r.within = name;
    there->has_head = true;
    there->architecture = (*family)->classes->name;
    rt_config_begin(there);
    rt_config_rows_read((*family)->config, &r, there);
    i->r.status = r.status;
    rt_transformer_options *o = &there->options;
    o->position.pairing = RT_HALF; /* as in Hugging Face, also where the file interleaves */
    o->tie_embeddings = !rt_huggingface_tensor(there, "output.weight");
    o->bias = rt_huggingface_tensor(there, "blk.0.attn_output.bias") ? RT_BIAS_ALL
              : rt_huggingface_tensor(there, "blk.0.attn_q.bias")    ? RT_BIAS_QKV
              : rt_huggingface_tensor(there, "blk.0.ffn_down.bias")  ? RT_BIAS_FFN
                                                                     : RT_BIAS_NONE;
    there->length = there->max_positions < RT_MOST_SIZE ? there->max_positions : RT_MOST_SIZE;
    if (!i->r.status.code)
        rt_transformer_resolve(o);
}

/* Reads the tokens that end a text, and that of padding. */
static void read_ends(importing *i)
{
    static const char *const ends[] = {TOKENIZER "eos_token_id", TOKENIZER "eot_token_id"};
    const int32_t pad = id_of(i, TOKENIZER "padding_token_id");
    rt_huggingface *there = i->there;
    there->padding_id = pad == RT_NO_ID ? RT_NO_PADDING : pad;
    for (int n = 0; n < 2; n++) {
        const int32_t id = id_of(i, ends[n]);
        if (id != RT_NO_ID && !(there->ends.count && there->ends.ids[0] == id))
            there->ends.ids[there->ends.count++] = id;
    }
}

/* ---- tokenizer ---- */

/* Adds the tokens to model.vocab and, those that are no pieces of words, to added_tokens. */
static void sort_tokens(importing *i, json_t *vocab, json_t *added)
{
    const json_t *types = rt_reading_find(&i->r, TOKENIZER "token_type");
    json_t *token;
    size_t id;
    json_array_foreach(rt_reading_find(&i->r, TOKENIZER "tokens"), id, token)
    {
        const json_t *number = json_array_get(types, id);
        const json_int_t type = types ? json_integer_value(number) : RT_GGUF_NORMAL;
        const char *text = json_string_value(token);
        if (!text || !number != !types || type < RT_GGUF_NORMAL || type > RT_GGUF_UNUSED)
            rt_reading_refuse(&i->r, TOKENIZER "token_type of %zu is %lld; 1 to 5 are read", id,
                              (long long)type);
        if (i->r.status.code)
            return;
        if (type == RT_GGUF_UNUSED)
            continue;
        if (json_object_get(vocab, text))
            rt_reading_refuse(&i->r, TOKENIZER "tokens has %s twice", RT_QUOTED(text));
        bool put = !json_object_set_new(vocab, text, json_integer((json_int_t)id));
        if (type != RT_GGUF_NORMAL)
            put &= !json_array_append_new(added,
                                          json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id",
                                                    (json_int_t)id, "content", text, "single_word",
                                                    0, "lstrip", 0, "rstrip", 0, "normalized", 0,
                                                    "special", type != RT_GGUF_ADDED));
        if (!put && !i->r.status.code)
            i->r.status = rt_out_of_memory("a vocabulary");
    }
}

/* Makes a tokenizer.json, which the caller frees, and forgets the lists of the file. */
static char *make_tokenizer(importing *i, const rt_gguf_pattern *pattern)
{
    json_auto_t *vocab = json_object(), *added = json_array(), *none = json_array();
    json_t *merges = rt_reading_find(&i->r, TOKENIZER "merges");
    char *text = NULL;
    sort_tokens(i, vocab, added);
    const rt_tokenizer_parts parts = {.cuts = pattern->cuts,
                                      .cut_count = pattern->count,
                                      .ignore_merges = pattern->ignore_merges,
                                      .vocab = vocab,
                                      .merges = merges ? merges : none,
                                      .added = added};
    if (!i->r.status.code)
        i->r.status = rt_tokenizer_assemble(&text, &parts);
    json_object_clear(i->file.keys);
    return text;
}

/* Parses a tokenizer.json, which it frees, unless there is an error. */
static void parse_tokenizer(importing *i, rt_vocabulary_kind kind, char *text)
{
    rt_vocabulary_free(i->there->vocabulary);
    i->there->vocabulary = NULL;
    if (!i->r.status.code)
        i->r.status = rt_vocabulary_read(&i->there->vocabulary, kind, i->file.tensors->name,
                                         (unsigned char *)text, strlen(text));
    rt_free(text);
}

static void read_vocabulary(importing *i, const rt_gguf_pattern *pattern)
{
    const rt_special_ids ids = {.cls = id_of(i, TOKENIZER "bos_token_id"),
                                .sep = id_of(i, TOKENIZER "eos_token_id"),
                                .pad = id_of(i, TOKENIZER "padding_token_id"),
                                .mask = id_of(i, TOKENIZER "mask_token_id"),
                                .unknown = RT_NO_ID};
    const rt_vocabulary_kind kind = {.level = RT_LEVEL_BPE, .has_known = true, .known = ids};
    const bool begins = rt_reading_flag(&i->r, TOKENIZER "add_bos_token", pattern->ignore_merges);
    const bool ends = rt_reading_flag(&i->r, TOKENIZER "add_eos_token", false);
    if (begins && ids.cls == RT_NO_ID)
        rt_reading_refuse(&i->r, TOKENIZER "add_bos_token: there is no bos_token_id");
    if (ends && ids.sep == RT_NO_ID)
        rt_reading_refuse(&i->r, TOKENIZER "add_eos_token: there is no eos_token_id");
    char *text = make_tokenizer(i, pattern);
    parse_tokenizer(i, kind, text);
    if (!i->r.status.code && (begins || ends)) { /* again, with a post-processor */
        i->r.status = rt_tokenizer_bpe_file(&text, i->there->vocabulary, begins, ends);
        parse_tokenizer(i, kind, text);
    }
}

/* Reads the vocabulary; none if the file has no tokenizer. */
static void read_tokenizer(importing *i)
{
    const char *model = text_of(i, TOKENIZER "model"), *pre = text_of(i, TOKENIZER "pre");
    const rt_gguf_pattern *pattern = rt_gguf_patterns;
    if (!*model || !strcmp(model, "none"))
        return;
    while (pattern->name && strcmp(pattern->name, pre) != 0)
        pattern++;
    if (strcmp(model, "gpt2") != 0)
        rt_reading_refuse(&i->r, TOKENIZER "model = %s%s: only gpt2, byte-level BPE, is read",
                          RT_QUOTED(model), strcmp(model, "llama") ? "" : " (SentencePiece)");
    else if (!pattern->name)
        rt_reading_refuse(&i->r, TOKENIZER "pre = %s: rotor has no such pre-tokenizer",
                          RT_QUOTED(pre));
    else
        read_vocabulary(i, pattern);
    if (i->r.status.code == RT_DATA)
        i->r.status.code = RT_CHECKPOINT;
}

rt_status rt_gguf_import(rt_huggingface **there_new, const char *path)
{
    importing i = {.r.status = rt_ok()};
    rt_safetensors **files = rt_alloc(1, sizeof *files);
    *there_new = NULL;
    i.r.status = rt_gguf_open(&i.file, path);
    if (!i.r.status.code)
        i.r.status = files ? rt_huggingface_new(&i.there) : rt_out_of_memory("a list of files");
    if (i.r.status.code) {
        rt_free(files);
        rt_gguf_close(&i.file);
        return i.r.status;
    }
    i.r.file = i.file.tensors->name;
    i.r.json = i.file.keys;
    *files = i.file.tensors;
    i.there->files->weights = (rt_weights){files, 1};
    i.there->files->described = (*files)->name;
    read_options(&i);
    if (!i.r.status.code)
        read_ends(&i);
    if (!i.r.status.code)
        i.r.status = rt_huggingface_resolve(i.there);
    if (!i.r.status.code) {
        read_tokenizer(&i);
        i.r.status = rt_huggingface_prepare(i.there, i.r.status, NULL);
    }
    i.file.tensors = NULL; /* the model has them */
    rt_gguf_close(&i.file);
    if (i.r.status.code)
        rt_huggingface_close(i.there);
    else
        *there_new = i.there;
    return i.r.status;
}

rt_status rt_gguf_chat_template(char **template_new, const char *path)
{
    RT_CLOSED_BY(rt_gguf_close) rt_gguf file = {0};
    *template_new = NULL;
    RT_TRY(rt_gguf_open(&file, path));
    const json_t *text = json_object_get(file.keys, RT_GGUF_CHAT);
    if (!json_is_string(text))
        return rt_ok();
    *template_new = rt_json_dump(text, JSON_ENCODE_ANY, "");
    return rt_allocated(*template_new, "a chat template");
}
