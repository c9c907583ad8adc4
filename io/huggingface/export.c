/* Writes a folder: config.json, the files of the tokenizer, the model card and the tensors. Also
 * reads the chat template of a folder. */

#include "io/huggingface/export.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/folder.h"
#include "io/huggingface/sines.h"
#include "io/huggingface/tokenizer.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/number.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Adds a text from outside on one line of Markdown, escaped. */
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

/* Describes a fixed theta, which ends the sentence about the rotation, or a learned one. */
static void put_theta_sentence(rt_writer *w, const rt_family *family,
                               const rt_transformer_options *o, bool kept, const char *kept_layers)
{
    static const char *const families[] = {RT_FREQUENCIES(RT_CHOICE_WORD)};
    static const char *const scalings[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    static const char shared[] =
        "`rope_parameters` in config.json has it as factors of longrope, so transformers rotates "
        "by it, to the precision of a float, without any code.";
    static const char mean[] =
        "transformers has one theta for all: `rope_parameters` in config.json is made of the mean, "
        "and is not what the model was trained with.";
    const rt_frequency_options *f = &o->position.frequencies;
    const char *own = family->own_theta;
    char base[RT_NUMBER_SIZE];
    bool everywhere = true;
    rt_writer_add(w, "Its queries and keys are rotated by position times theta");
    if (o->theta.learn && o->theta.scope == RT_THETA_MODEL)
        rt_writer_add(w, ", which was %s; %s\n",
                      kept ? "given and not trained" : "learned with the weights",
                      family->shared_theta ? family->shared_theta : shared);
    else if (o->theta.learn)
        rt_writer_add(w,
                      ", which was %s separately for every %s%s%s. %s `" RT_HF_THETA
                      "` in config.json has all of them%s%s%s",
                      kept ? "given and not trained," : "learned",
                      o->theta.scope != RT_THETA_HEAD ? "layer"
                      : o->kv_heads < o->heads        ? "head of keys"
                                                      : "head",
                      kept || !kept_layers ? "" : ", but given and not trained in layers ",
                      kept || !kept_layers ? "" : kept_layers,
                      family->mean_theta ? family->mean_theta : mean,
                      own ? "; this makes a loaded model use them:\n\n```python\n" : "",
                      own ? own : ".\n", own ? "```\n" : "");
    if (o->theta.learn)
        return;
    for (int l = 0; l < o->layers; l++)
        everywhere &= rt_layer_row_of(o, l).has_positions;
    if (f->family == RT_FREQUENCIES_GEOMETRIC)
        rt_writer_add(w, "_i = %s^(-2i/%d), which is fixed", rt_number_write(base, f->base),
                      2 * rt_transformer_pairs(o));
    else
        rt_writer_add(w, ", which is fixed (position.frequencies = %s)", families[f->family]);
    if (rt_layers_differ_in_base(o))
        rt_writer_add(w, ", with the base %s in layers with a window",
                      rt_number_write(base, o->position.local_base));
    if (!everywhere)
        rt_writer_add(w, ", in the layers that have positions");
    if (f->scaling != RT_SCALING_NONE)
        rt_writer_add(w, " and scaled (position.scaling = %s)", scalings[f->scaling]);
    rt_writer_add(w, ".\n");
}

/* Adds a text as code if it has no backtick and no newline. */
static void put_code(rt_writer *w, const char *text)
{
    if (strchr(text, '`') || strchr(text, '\n'))
        put_plain(w, text);
    else
        rt_writer_add(w, "`%s`", text);
}

/* Returns whether the tokenizer of an exported language model puts a token after a text. That of an
 * encoder does, because users of transformers expect it, although rotor trains without this token.
 * A text that a decoder continues has no end. */
static bool keeps_end(const rt_transformer_options *o, const rt_vocabulary *v)
{
    return !o->causal && v->bpe && v->bpe->last != RT_NO_ID;
}

/* Describes how the input of a language model begins, and which tokens the tokenizer of
 * transformers puts around a text, if rotor puts others. */
static void put_begin_sentence(rt_writer *w, const rt_transformer_options *o,
                               const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    const rt_level level = v ? v->level : RT_LEVEL_BYTE;
    const int32_t first = v ? v->special.cls : rt_default_special_ids.cls;
    if (o->head != RT_HEAD_LM)
        return;
    rt_writer_add(w, "\nA text begins with ");
    if (export->bare) {
        rt_writer_add(w, "its own first token: rotor adds none before it");
    } else if (v) {
        rt_writer_add(w, "the token ");
        put_code(w, rt_vocabulary_spell(v, first).bytes);
        rt_writer_add(w, ", which has the id %d", (int)first);
    } else {
        rt_writer_add(w, "the id %d", (int)first);
    }
    if (level == RT_LEVEL_BPE)
        rt_writer_add(w, export->bare ? "; its tokenizer adds none either"
                                      : "; its tokenizer adds it");
    const bool adds_none = export->length; /* after a text, to a model that rotor trained */
    if (level == RT_LEVEL_BPE && adds_none && keeps_end(o, v)) {
        rt_writer_add(w, ", and ");
        put_code(w, rt_vocabulary_spell(v, v->bpe->last).bytes);
        rt_writer_add(w, " after the text, which rotor does not: "
                         "`tokenizer(text)[\"input_ids\"][:-1]`");
    }
    if (adds_none && (level == RT_LEVEL_WORDPIECE || level == RT_LEVEL_RESIDUE))
        rt_writer_add(w,
                      "; its tokenizer adds %s%s%s after it, which rotor does not: "
                      "`tokenizer(text)[\"input_ids\"][%s:-1]`",
                      export->bare ? rt_special_token(level, 1) : "",
                      export->bare ? " before it and " : "", rt_special_token(level, 3),
                      export->bare ? "1" : "");
    rt_writer_add(w, ".\n");
}

static char *card_text(const rt_tensor_list *list, const rt_huggingface_export *export)
{
    const rt_family *family = list->family;
    const rt_transformer_options *o = &list->model->options;
    const rt_vocabulary *v = export->vocabulary;
    const char *class = rt_family_class_of(family, o)->name;
    rt_writer w = {0};
    rt_writer_add(&w, "---\nlibrary_name: transformers\ntags:\n- %s\n---\n\n# ", family->type);
    if (!export->title)
        rt_writer_add(&w, "A%s ", rt_family_article(family->name) + 1);
    put_plain(&w, export->title ? export->title : family->name);
    rt_writer_add(&w, "\n\nA%s %s with %d layers of width %d and %d heads, %s. ",
                  rt_family_article(class) + 1, class, o->layers, o->dim, o->heads,
                  export->length ? RT_CARD_TRAINED : RT_CARD_CONVERTED);
    put_theta_sentence(&w, family, o, export->theta_kept, export->theta_kept_layers);
    if (!v)
        rt_writer_add(&w, "\nIt has no vocabulary: it was trained on token ids.\n");
    else if (v->level == RT_LEVEL_BYTE || v->level == RT_LEVEL_CHAR)
        rt_writer_add(&w,
                      "\nIts tokens are single bytes or characters (level %s), a line of vocab.txt "
                      "each, into which no tokenizer of transformers cuts a text.\n",
                      rt_level_words[v->level]);
    put_begin_sentence(&w, o, export);
    for (int i = 0; i < export->fact_count; i++) {
        rt_writer_add(&w, i ? "- " : "\n- ");
        put_plain(&w, export->facts[i]);
        rt_writer_add(&w, "\n");
    }
    return rt_writer_take(&w);
}

static void fill_values(const void *context, size_t first, size_t count, float *values)
{
    const rt_folder_tensor *t = context;
    const bool plain = t->plain && !t->stacked[0].factors;
    const rt_tensor *whole = &t->stacked[0].parameter->tensor;
    const size_t size = rt_size(whole); /* without the row of an added [PAD] */
    int k;
    for (size_t n = 0; n < count && plain; n++)
        values[n] = first + n < size ? (float)whole->data[first + n] : 0;
    for (size_t n = 0; n < count && !plain; n++) {
        const size_t i = rt_folder_tensor_at(t, first + n, &k);
        const rt_tensor *x = &t->stacked[k].parameter->tensor;
        const real *factors = t->stacked[k].factors;
        const size_t head = factors ? rt_size(x) / (size_t)t->options->heads : 1;
        values[n] = (float)(factors ? factors[i / head] * x->data[i] : x->data[i]);
    }
}

static bool is_written(const rt_folder_tensor *t)
{
    return !t->row->written || t->row->written(t->options);
}

rt_status rt_tensor_list_open(rt_tensor_list *l, const rt_family *family,
                              const rt_transformer *model, int positions)
{
    const rt_parameters *p = &model->parameters;
    const rt_folder_tensor *t;
    *l = (rt_tensor_list){.family = family, .model = model};
    RT_TRY(rt_folder_theta_of(family, model, &l->theta));
    RT_TRY(rt_folder_tensors_new(&l->tensors, family, &model->options, model, positions));
    /* every parameter must be in a tensor that is written, with all parameters of that tensor */
    for (int i = 0; i < p->count; i++) {
        const rt_role role = p->list[i]->role;
        int n = 0;
        while ((t = rt_folder_tensors_find(&l->tensors, p->list[i], n)) && !is_written(t))
            n++;
        bool lacks = !t && role != RT_ROLE_THETA && role != RT_ROLE_FACTOR;
        for (int k = 0; t && k < RT_MOST_STACKED && t->row->here[k]; k++)
            lacks |= !t->stacked[k].parameter;
        if (lacks)
            RT_TRY(rt_family_lacks(family, p->list[i]->name, "no such tensor"));
    }
    l->entries = rt_alloc((size_t)l->tensors.count, sizeof *l->entries);
    for (int i = 0; i < l->tensors.count && l->entries; i++) {
        rt_shape shape = l->tensors.list[i].shape;
        t = l->tensors.list + i;
        if (t->stacked[0].parameter && &t->stacked[0].parameter->tensor == model->embeddings.tokens)
            shape.axis[0] = model->options.vocab; /* perhaps with an added [PAD] */
        const bool extra = !t->stacked[0].parameter;
        if (is_written(t))
            l->entries[l->count++] =
                (rt_safetensors_entry){.name = t->name,
                                       .shape = shape,
                                       .fill = extra ? t->row->fill : fill_values,
                                       .context = extra ? (const void *)&l->theta : t};
    }
    return rt_allocated(l->entries, "a list of tensors");
}

void rt_tensor_list_close(rt_tensor_list *list)
{
    rt_folder_theta_free(&list->theta);
    rt_folder_tensors_free(&list->tensors);
    rt_free(list->entries);
    *list = (rt_tensor_list){0};
}

/* Files that are written, and those of an older model that would contradict them. config.json comes
 * last, because other programs recognize a folder by it. */
static const char *const files[] = {RT_WEIGHTS_FILE,      RT_WEIGHTS_INDEX,
                                    RT_HF_VOCAB,          RT_HF_TOKENIZER,
                                    RT_HF_TOKENIZER_JSON, RT_HF_MAP,
                                    RT_HF_VOCAB_JSON,     RT_HF_MERGES,
                                    RT_HF_ADDED,          RT_HF_GENERATE,
                                    RT_HF_CHAT,           RT_HF_CARD,
                                    RT_HF_CONFIG,         NULL};

/* Checks that the folder can be written to. The name of a file shows that the user expects one. */
static rt_status check_folder(const char *folder, bool overwrite)
{
    static const char *const none[] = {NULL};
    static const char *const endings[] = {".safetensors", ".bin", ".pt",  ".pth",
                                          ".onnx",        ".h5",  ".gguf"};
    struct stat facts;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (rt_path_ends_in(folder, endings[i]) || !strcmp(folder, endings[i]))
            return rt_error(RT_CONFIG,
                            "%s: a model is exported as a folder; name one, for config.json and "
                            "model.safetensors, or a file.gguf",
                            folder);
    if (stat(folder, &facts))
        return errno == ENOENT ? rt_ok()
                               : rt_error(RT_IO, "cannot write %s: %s", folder, strerror(errno));
    if (!S_ISDIR(facts.st_mode))
        return rt_error(RT_CONFIG, "%s: not a folder", folder);
    if (overwrite || rt_folder_holds_only(folder, none))
        return rt_ok();
    return rt_error(RT_CONFIG, "%s: the folder is not empty; give --overwrite to write into it",
                    folder);
}

rt_status rt_huggingface_chat_template(char **template_new, const char *folder)
{
    const bool file = rt_folder_has(folder, RT_HF_CHAT);
    json_auto_t *config = NULL;
    RT_OWNED char *bytes = NULL;
    size_t size = 0;
    rt_status status = file ? rt_folder_read(&bytes, &size, folder, RT_HF_CHAT, RT_TEXT_FILE_BYTES)
                            : rt_json_read_optional(&config, folder, RT_HF_TOKENIZER);
    *template_new = NULL;
    if (status.code)
        return status.code == RT_MEMORY ? status : rt_ok();
    json_auto_t *found = file ? json_stringn(bytes, size) /* NULL if it is not UTF-8 */
                              : json_incref(json_object_get(config, RT_HF_CHAT_KEY));
    if (found && !json_is_null(found) &&
        !(*template_new = rt_json_dump(found, JSON_ENCODE_ANY, "")))
        status = rt_out_of_memory(RT_HF_CHAT);
    return status;
}

/* Finds out whether the folder has a model with the exported vocabulary, or without one and with as
 * many ids: its other files about tokens are then valid for the new model. RT_MEMORY. */
static rt_status find_same_tokens(bool *same, const char *folder, const rt_transformer *model,
                                  const rt_huggingface_export *export)
{
    json_auto_t *config = NULL;
    rt_vocabulary *there = NULL;
    const char *warning;
    *same = false;
    rt_status status = rt_json_read_optional(&config, folder, RT_HF_CONFIG);
    const char *level = json_string_value(json_object_get(config, RT_HF_LEVEL));
    const json_int_t size = json_integer_value(json_object_get(config, "vocab_size"));
    if (!status.code && size == model->options.vocab) {
        status = rt_tokenizer_read(&there, folder, level ? level : "", &warning);
        *same = !status.code && rt_vocabularies_equal(there, export->vocabulary);
    }
    rt_vocabulary_free(there);
    return status.code == RT_MEMORY ? status : rt_ok();
}

/* Copies a file of the folder into the new model, if it exists. */
static rt_status keep_file(const rt_durable_folder *to, const char *name)
{
    char path[RT_PATH_SIZE];
    RT_OWNED char *bytes = NULL;
    size_t size;
    rt_durable_file file;
    if (!rt_folder_has(to->path, name))
        return rt_ok();
    rt_status status = rt_folder_read(&bytes, &size, to->path, name, RT_TEXT_FILE_BYTES);
    if (status.code)
        return status.code == RT_CHECKPOINT ? rt_error(RT_IO, "%s", status.message) : status;
    RT_TRY(rt_path_join(path, to->staging, name));
    RT_TRY(rt_durable_open(&file, path));
    return rt_durable_close(&file, rt_durable_write(&file, bytes, size));
}

static rt_status write_texts(const rt_durable_folder *to, const rt_tensor_list *list,
                             const rt_huggingface_export *export)
{
    const rt_transformer_options *o = &list->model->options;
    const rt_vocabulary *v = export->vocabulary;
    char *text;
    size_t size;
    if (v) {
        const rt_text_frame around = rt_vocabulary_frame(v);
        const bool labels = o->head != RT_HEAD_LM;
        const bool begins = !export->bare && (!labels || around.first != RT_NO_ID);
        const bool ends = labels ? !export->open_ended && around.last != RT_NO_ID : keeps_end(o, v);
        RT_TRY(v->level == RT_LEVEL_BPE ? rt_tokenizer_bpe_file(&text, v, begins, ends)
                                        : rt_vocabulary_write(v, &text));
        RT_TRY(rt_durable_write_and_free(to->staging, rt_vocabulary_file(v), text));
        /* some families of transformers read no vocab.txt */
        if (v->level == RT_LEVEL_WORDPIECE) {
            RT_TRY(rt_tokenizer_pieces_file(&text, v));
            RT_TRY(rt_durable_write_and_free(to->staging, RT_HF_TOKENIZER_JSON, text));
        }
        RT_TRY(
            rt_durable_write_and_free(to->staging, RT_HF_TOKENIZER,
                                      rt_huggingface_tokenizer_text(export, o->token_types > 1)));
    }
    /* a card that rotor did not write is kept */
    const rt_status read = rt_folder_read(&text, &size, to->path, RT_HF_CARD, RT_TEXT_FILE_BYTES);
    const bool own =
        !read.code && (strstr(text, RT_CARD_TRAINED) || strstr(text, RT_CARD_CONVERTED));
    rt_free(text);
    RT_TRY(!own && rt_folder_has(to->path, RT_HF_CARD)
               ? keep_file(to, RT_HF_CARD)
               : rt_durable_write_and_free(to->staging, RT_HF_CARD, card_text(list, export)));
    return rt_durable_write_and_free(to->staging, RT_HF_CONFIG,
                                     rt_config_text(list->family, o, &list->theta, export));
}

/* Writes all files. From an older model with the same tokens, keeps the files that rotor does not
 * write and, unless the export has one, the chat template. */
static rt_status write_files(const rt_durable_folder *to, const rt_family *family,
                             const rt_transformer *model, const rt_huggingface_export *export)
{
    static const char *const kept[] = {RT_HF_GENERATE, RT_HF_MAP, RT_HF_ADDED};
    char path[RT_PATH_SIZE];
    RT_OWNED char *older = NULL;
    rt_huggingface_export all = *export;
    RT_CLOSED_BY(rt_tensor_list_close) rt_tensor_list list = {0};
    bool same;
    if (!all.positions)
        all.positions = all.length;
    RT_TRY(find_same_tokens(&same, to->path, model, export));
    RT_TRY(rt_path_join(path, to->staging, RT_WEIGHTS_FILE));
    RT_TRY(rt_tensor_list_open(&list, family, model, rt_sine_table_rows(&all)));
    RT_TRY(rt_safetensors_write(path, list.entries, list.count));
    for (size_t i = 0; same && i < sizeof kept / sizeof *kept; i++)
        RT_TRY(keep_file(to, kept[i]));
    if (same && !export->chat_template) {
        RT_TRY(keep_file(to, RT_HF_CHAT));
        RT_TRY(rt_huggingface_chat_template(&older, to->path));
        all.chat_template = older;
    }
    return write_texts(to, &list, &all);
}

/* Returns whether the token that pads texts is the one that ends them, in a model that was trained
 * here. A decoder of transformers that labels texts takes the last token that is not padding. */
static bool pads_with_end(const rt_transformer_options *o, const rt_huggingface_export *export)
{
    const rt_vocabulary *v = export->vocabulary;
    return o->kind == RT_KIND_DECODER && o->head == RT_HEAD_SEQUENCE && export->length && v &&
           v->bpe && rt_export_end(export) == v->special.pad;
}

/* Copies a vocabulary of level bpe with the additional token [PAD]. */
static rt_status add_padding(rt_vocabulary **padded_new, const rt_vocabulary *v)
{
    json_auto_t *file = NULL;
    rt_vocabulary_kind kind = rt_vocabulary_kind_of(v);
    RT_OWNED char *text = NULL, *padded = NULL;
    RT_TRY(rt_vocabulary_write(v, &text));
    RT_TRY(rt_json_parse(&file, (rt_json_source){RT_HF_TOKENIZER_JSON, .values = RT_BPE_VALUES,
                                                 .bytes = text, .size = strlen(text)}));
    json_t *tokens = json_object_get(file, "added_tokens");
    rt_json_append(&tokens, json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", v->count, "content",
                                      "[PAD]", "single_word", 0, "lstrip", 0, "rstrip", 0,
                                      "normalized", 0, "special", 1));
    padded = rt_json_dump(file, 0, "");
    RT_TRY(rt_allocated(padded, RT_HF_TOKENIZER_JSON));
    kind.has_known = true;
    kind.known = v->special;
    kind.known.pad = v->count;
    return rt_vocabulary_read(padded_new, kind, RT_HF_TOKENIZER_JSON, (unsigned char *)padded,
                              strlen(padded));
}

rt_status rt_huggingface_write(const char *folder, const rt_transformer *model,
                               const rt_huggingface_export *export)
{
    rt_transformer padded = *model; /* with a row of zeros, for an added [PAD] */
    rt_huggingface_export all = *export;
    rt_vocabulary *vocabulary = NULL;
    rt_durable_folder to;
    const rt_family *family;
    RT_TRY(rt_family_find(&family, rt_families, &model->options));
    if (family->tokenizer && all.vocabulary && !all.vocabulary->bpe && all.vocabulary->pieces)
        RT_TRY(rt_family_lacks(family,
                               RT_PRINTED(64, "data.level = %s",
                                          rt_level_words[all.vocabulary->level]),
                               family->tokenizer));
    RT_TRY(check_folder(folder, export->overwrite));
    if (pads_with_end(&model->options, export)) {
        RT_TRY(add_padding(&vocabulary, export->vocabulary));
        all.vocabulary = vocabulary;
        if (padded.options.vocab < vocabulary->count)
            padded.options.vocab = vocabulary->count;
    }
    rt_status status = rt_durable_folder_open(&to, folder, files);
    if (!status.code)
        status = write_files(&to, family, &padded, &all);
    rt_vocabulary_free(vocabulary);
    return rt_durable_folder_close(&to, status);
}
