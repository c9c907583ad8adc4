/* Opens a folder: refused formats, files with tensors, size checks; vocabulary, labels and data
 * options for a run. Compares models. */

#include "io/huggingface/folder.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/tokenizers/bpe.h"
#include "io/huggingface/tokenizer.h"
#include "io/model_options.h"
#include "models/keys.h"
#include "util/files.h"
#include "util/key_value.h"
#include "util/writer.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Refuses files of torch.save. The message names the model class of config.json, if it is an
 * identifier, or else a general one. */
static rt_status refuse_pytorch(const char *folder)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    enum { CLASS_SIZE = 64 };
    json_auto_t *config = NULL;
    const rt_status status = rt_json_read_file(&config, folder, RT_HF_CONFIG);
    const json_t *first = json_array_get(json_object_get(config, "architectures"), 0);
    const char *name = status.code ? NULL : json_string_value(first);
    if (!name || !*name || strlen(name) >= CLASS_SIZE || name[strspn(name, letters)])
        name = "AutoModelForCausalLM";
    return rt_error(RT_CHECKPOINT,
                    "%s: the weights are in pytorch_model.bin, which is not read; "
                    "save_pretrained writes model.safetensors. In Python: from transformers "
                    "import %s; %s.from_pretrained('%s').save_pretrained('%s')",
                    folder, name, name, folder, folder);
}

/* Finds the first snapshot with a config.json in a folder of the Hub's cache, models--OWNER--NAME
 * or its folder of snapshots. Returns false if there is none. */
static bool find_snapshot(char path[RT_PATH_SIZE], const char *folder)
{
    static const char inner[] = "/snapshots";
    struct dirent **names = NULL;
    const bool above = rt_folder_has(folder, inner + 1);
    const char *snapshots = RT_PRINTED(RT_PATH_SIZE, "%s%s", folder, above ? inner : "");
    bool found = false;
    const int count =
        above || strstr(folder, inner + 1) ? scandir(snapshots, &names, NULL, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        if (!found && names[i]->d_name[0] != '.')
            found = !rt_path_join(path, snapshots, names[i]->d_name).code &&
                    rt_folder_has(path, RT_HF_CONFIG);
        free(names[i]); /* allocated by scandir */
    }
    free(names);
    return found;
}

static bool has_weights(const char *folder)
{
    return rt_folder_has(folder, RT_WEIGHTS_FILE) || rt_folder_has(folder, RT_WEIGHTS_INDEX);
}

bool rt_is_huggingface(const char *path)
{
    return rt_folder_has(path, RT_HF_CONFIG) && has_weights(path);
}

static rt_status refuse_folder(const char *folder)
{
    char snapshot[RT_PATH_SIZE];
    if (has_weights(folder))
        return rt_folder_has(folder, RT_HF_CONFIG)
                   ? rt_ok()
                   : rt_error(RT_CHECKPOINT, "%s has weights, but no " RT_HF_CONFIG, folder);
    if (rt_folder_has(folder, "pytorch_model.bin") ||
        rt_folder_has(folder, "pytorch_model.bin.index.json"))
        return refuse_pytorch(folder);
    if (rt_folder_has(folder, RT_HF_CONFIG))
        return rt_error(RT_CHECKPOINT, "%s has " RT_HF_CONFIG ", but no " RT_WEIGHTS_FILE, folder);
    if (find_snapshot(snapshot, folder))
        return rt_error(RT_CHECKPOINT, "%s is a folder of the Hub's cache; the model is in %s",
                        folder, snapshot);
    return rt_ok();
}

/* Refuses a file by its first bytes. A safetensors file has JSON after 8 bytes with its size;
 * torch.save writes a zip archive. */
rt_status rt_huggingface_refuse_format(const char *path)
{
    char bytes[64] = {0};
    struct stat facts;
    if (!stat(path, &facts) && S_ISDIR(facts.st_mode))
        return refuse_folder(path);
    FILE *file = rt_open_regular(path);
    if (!file)
        return rt_ok();
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const int length = (int)(rt_path_name(path) - path);
    const char *folder = RT_PRINTED(RT_PATH_SIZE, "%.*s", length ? length : 1, length ? path : ".");
    if (rt_is_lfs_pointer(bytes, size))
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, path);
    if (bytes[0] == '{' || bytes[8] == '{')
        return rt_error(RT_CHECKPOINT,
                        "%s is a file of a model of Hugging Face: name its folder, %s", path,
                        folder);
    return memcmp(bytes, "PK\x03\x04", 4) ? rt_ok() : refuse_pytorch(folder);
}

static rt_status open_file(rt_weights *w, const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    RT_TRY(rt_path_join(path, folder, name));
    RT_TRY(rt_safetensors_open(w->files + w->count, path));
    w->count++;
    return rt_ok();
}

static const rt_safetensors *find_file(const rt_weights *w, const char *name)
{
    for (int i = 0; i < w->count; i++)
        if (!strcmp(w->files[i]->name, name))
            return w->files[i];
    return NULL;
}

/* Opens a file of the index, unless it is open. */
static rt_status open_named(rt_weights *w, const char *folder, const char *name)
{
    if (!name || !*name || strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
        return rt_error(RT_CHECKPOINT,
                        "%s: weight_map must name files of the folder itself; got %s",
                        RT_WEIGHTS_INDEX, RT_QUOTED(name ? name : "something else"));
    if (find_file(w, name))
        return rt_ok();
    if (w->count == RT_MOST_WEIGHT_FILES)
        return rt_error(RT_CHECKPOINT, "%s: weight_map names more than %d files", RT_WEIGHTS_INDEX,
                        RT_MOST_WEIGHT_FILES);
    return open_file(w, folder, name);
}

/* Opens the files of the index, which must have exactly the tensors that it assigns to them. */
static rt_status open_index(rt_weights *w, const char *folder)
{
    const char *tensor;
    json_auto_t *index = NULL;
    json_t *value;
    RT_TRY(rt_json_read_file(&index, folder, RT_WEIGHTS_INDEX));
    json_t *map = json_object_get(index, "weight_map");
    if (!json_is_object(map))
        return rt_error(RT_CHECKPOINT, "%s: weight_map must be an object", RT_WEIGHTS_INDEX);
    json_object_foreach(map, tensor, value)
    {
        const char *name = json_string_value(value);
        RT_TRY(open_named(w, folder, name));
        if (!rt_safetensors_find(find_file(w, name), tensor))
            return rt_error(RT_CHECKPOINT, "%s: lacks %s, which %s says is there", name,
                            RT_QUOTED(tensor), RT_WEIGHTS_INDEX);
    }
    for (int i = 0; i < w->count; i++)
        for (size_t n = 0; n < w->files[i]->count; n++) {
            tensor = w->files[i]->tensors[n].name;
            const char *where = json_string_value(json_object_get(map, tensor));
            if (!where || strcmp(where, w->files[i]->name))
                return rt_error(RT_CHECKPOINT, "%s: has %s, which %s does not say",
                                w->files[i]->name, RT_QUOTED(tensor), RT_WEIGHTS_INDEX);
        }
    return rt_ok();
}

rt_status rt_weights_open(rt_weights *w, const char *folder)
{
    *w = (rt_weights){.files = rt_alloc(RT_MOST_WEIGHT_FILES, sizeof(rt_safetensors *))};
    RT_TRY(rt_allocated(w->files, "a list of files"));
    if (!rt_folder_has(folder, RT_WEIGHTS_FILE) && rt_folder_has(folder, RT_WEIGHTS_INDEX))
        return open_index(w, folder);
    return open_file(w, folder, RT_WEIGHTS_FILE);
}

void rt_weights_close(rt_weights *w)
{
    for (int i = 0; i < w->count; i++)
        rt_safetensors_close(w->files[i]);
    rt_free(w->files);
    *w = (rt_weights){0};
}

const char *rt_huggingface_name(const rt_huggingface *there, const char *name)
{
    const char *before = there->files->family->prefix;
    const size_t prefix = strlen(before);
    return !there->files->prefixed && !strncmp(name, before, prefix) ? name + prefix : name;
}

const rt_safetensor *rt_huggingface_tensor(const rt_huggingface *there, const char *name)
{
    const rt_weights *w = &there->files->weights;
    const rt_safetensor *found = NULL;
    for (int i = 0; i < w->count && !found; i++)
        found = rt_safetensors_find(w->files[i], rt_huggingface_name(there, name));
    return found;
}

/* Sets *differ if the folder has both tensors and they differ in shape or numbers, and warns which
 * one is used. */
static rt_status warn_of(rt_huggingface *there, const char *used, const char *tied, bool *differ)
{
    enum { BLOCK = 512 };
    double one[BLOCK], other[BLOCK];
    const rt_safetensor *a = used ? rt_huggingface_tensor(there, used) : NULL;
    const rt_safetensor *b = tied ? rt_huggingface_tensor(there, tied) : NULL;
    *differ = false;
    if (!a || !b)
        return rt_ok();
    bool same =
        a->axes == b->axes && !memcmp(a->shape, b->shape, (size_t)a->axes * sizeof *a->shape);
    for (uint64_t first = 0; first < a->count && same; first += BLOCK) {
        const uint64_t left = a->count - first;
        const size_t block = left < BLOCK ? (size_t)left : BLOCK;
        RT_TRY(rt_safetensors_doubles(a, first, block, one));
        RT_TRY(rt_safetensors_doubles(b, first, block, other));
        same = !memcmp(one, other, block * sizeof *one);
    }
    *differ = !same;
    if (*differ)
        rt_writer_add(&there->files->warnings,
                      RT_HF_CONFIG ": tie_word_embeddings = true, but %s is not %s; the former is "
                                   "used\n",
                      used, tied);
    return rt_ok();
}

/* Determines whether the decoder is tied: not if its matrix differs from the embeddings. */
static rt_status resolve_tied_decoder(rt_huggingface *there)
{
    const rt_family *f = there->files->family;
    rt_transformer_options *o = &there->options;
    bool weights_differ, biases_differ;
    if (o->head != RT_HEAD_LM || !there->has_head || !o->tie_embeddings)
        return rt_ok();
    RT_TRY(warn_of(there, rt_family_tensor(f, o, RT_OUTPUT_NAME, 0),
                   rt_family_tensor(f, o, RT_TOKENS_NAME, 0), &weights_differ));
    RT_TRY(warn_of(there, rt_family_tensor(f, o, RT_OUTPUT_BIAS_NAME, 0),
                   rt_family_tensor(f, o, RT_OUTPUT_BIAS_NAME, 1), &biases_differ));
    if (weights_differ)
        o->tie_embeddings = false;
    return rt_ok();
}

/* Checks the size of a model before it is allocated: whatever config.json says, it cannot have many
 * more numbers than the folder. Only theta is added, and the head that a base model lacks, which is
 * smaller than the encoder. */
static rt_status check_size(const rt_huggingface *there)
{
    enum { GAP = 16 };
    const rt_transformer_options *o = &there->options;
    const int layer_tensors = there->files->family->layer_tensors;
    const rt_weights *w = &there->files->weights;
    uint64_t tensors = 0, there_are = 0;
    size_t size;
    for (int i = 0; i < w->count; i++) {
        tensors += w->files[i]->count;
        for (size_t n = 0; n < w->files[i]->count; n++)
            there_are += w->files[i]->tensors[n].bytes ? w->files[i]->tensors[n].count : 0;
    }
    const char *file = there->files->described;
    if (tensors / (uint64_t)layer_tensors < (uint64_t)o->layers)
        return rt_error(RT_CHECKPOINT,
                        "%s: num_hidden_layers = %d needs %d tensors; there are %" PRIu64, file,
                        o->layers, layer_tensors * o->layers, tensors);
    rt_status status = rt_transformer_size(o, &size);
    if (status.code == RT_ARGUMENT)
        return rt_error(RT_CHECKPOINT, "%s: %s", file, status.message);
    if (!status.code && size / 2 > there_are + GAP * (tensors + 32))
        return rt_error(RT_CHECKPOINT, "%s: the model would have %zu numbers; there are %" PRIu64,
                        file, size, there_are);
    return status;
}

/* Points there->warnings to the lines that were added. */
static rt_status point_to_warnings(rt_huggingface *there)
{
    const rt_writer *w = &there->files->warnings;
    there->warnings = w->bytes ? w->bytes : "";
    return w->failed ? rt_out_of_memory("warnings") : rt_ok();
}

rt_status rt_huggingface_new(rt_huggingface **there_new)
{
    struct {
        rt_huggingface there;
        struct rt_huggingface_files files;
    } *both = rt_alloc(1, sizeof *both);
    *there_new = NULL;
    RT_TRY(rt_allocated(both, "a folder of Hugging Face"));
    both->there.files = &both->files;
    both->files.described = RT_HF_CONFIG;
    *there_new = &both->there;
    return rt_ok();
}

rt_status rt_huggingface_resolve(rt_huggingface *there)
{
    struct rt_huggingface_files *files = there->files;
    const rt_family *family = files->family;
    const char *tokens = rt_family_tensor(family, &there->options, RT_TOKENS_NAME, 0);
    files->prefixed = true;
    files->prefixed = rt_huggingface_tensor(there, tokens) != NULL;
    RT_TRY(family->resolve_theta ? family->resolve_theta(there)
                                 : rt_rope_parameters_resolve(there));
    RT_TRY(resolve_tied_decoder(there));
    RT_TRY(check_size(there));
    return point_to_warnings(there);
}

rt_status rt_huggingface_open(rt_huggingface **there_new, const char *folder)
{
    rt_huggingface *there;
    *there_new = NULL;
    RT_TRY(rt_huggingface_new(&there));
    rt_status status = rt_huggingface_read_config(there, folder);
    if (!status.code)
        status = rt_weights_open(&there->files->weights, folder);
    if (!status.code)
        status = rt_huggingface_resolve(there);
    if (status.code)
        rt_huggingface_close(there);
    else
        *there_new = there;
    return status;
}

void rt_huggingface_close(rt_huggingface *there)
{
    if (!there)
        return;
    rt_weights_close(&there->files->weights);
    rt_writer_free(&there->files->warnings);
    rt_folder_theta_free(&there->files->written);
    for (int i = 0; there->labels && i < there->options.labels; i++)
        rt_free(there->labels[i]);
    rt_free(there->labels);
    rt_free(there->theta);
    rt_vocabulary_free(there->vocabulary);
    rt_labels_free(there->sorted_labels);
    rt_free(there->places);
    rt_free(there->refused);
    rt_free(there);
}

/* Sorts the labels, whose names must differ, and finds the place of each class in the folder. */
static rt_status sort_labels(rt_huggingface *m)
{
    const int count = m->options.labels;
    if (!m->labels)
        return rt_ok();
    RT_OWNED rt_text_span *names = rt_alloc((size_t)count, sizeof *names);
    m->places = rt_alloc((size_t)count, sizeof *m->places);
    RT_TRY(rt_allocated(names && m->places, "labels"));
    for (int i = 0; i < count; i++) {
        names[i] = (rt_text_span){m->labels[i], strlen(m->labels[i])};
        const char *problem = rt_label_problem(names[i]);
        if (problem)
            return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": id2label of %d %s", i, problem);
    }
    rt_status status = rt_labels_of(&m->sorted_labels, RT_HF_CONFIG, names, (size_t)count);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    RT_TRY(status);
    if (m->sorted_labels->count < count)
        return rt_error(RT_CHECKPOINT,
                        RT_HF_CONFIG ": id2label has %d classes, but %d different names", count,
                        m->sorted_labels->count);
    for (int i = 0; i < count; i++) {
        const rt_text_span name = {m->labels[i], strlen(m->labels[i])};
        m->places[rt_labels_find(m->sorted_labels, name)] = i;
    }
    return rt_ok();
}

/* Checks that mask_token_id is the mask of the vocabulary. The latter hides tokens. The former
 * scales embeddings with token_dropout, which therefore requires both to be equal. */
static rt_status check_mask(rt_huggingface *m)
{
    static const char differ[] =
        RT_HF_CONFIG ": mask_token_id is %d, but the mask of the vocabulary has the id %d; %s";
    const rt_transformer_options *o = &m->options;
    const rt_vocabulary *v = m->vocabulary;
    if (!v && o->token_dropout && !o->mask_id)
        return rt_error(RT_CHECKPOINT, RT_HF_CONFIG ": mask_token_id is 0, the id of padding where "
                                                    "the folder has no vocabulary");
    if (!v || o->mask_id <= 0 || v->special.mask == o->mask_id)
        return rt_ok();
    if (o->token_dropout)
        return rt_error(RT_CHECKPOINT, differ, o->mask_id, (int)v->special.mask,
                        "make them equal: with token_dropout = true the model depends on both");
    rt_writer_add(&m->files->warnings, differ, o->mask_id, (int)v->special.mask,
                  "rotor uses that of the vocabulary\n");
    return rt_ok();
}

/* Judges a vocabulary that was read, or refused. A decoder whose tokenizer is refused reads ids
 * only. Determines whether a token is put before a text, and after one with a label: a BPE
 * tokenizer does so if its template has one, others always. For a folder that rotor wrote,
 * config.json says so. */
static rt_status judge_vocabulary(rt_huggingface *m, rt_status status)
{
    const rt_bpe *bpe = m->vocabulary ? m->vocabulary->bpe : NULL;
    if (!m->own) {
        m->bare = bpe && bpe->first == RT_NO_ID;
        m->open_ended = bpe && bpe->last == RT_NO_ID;
    }
    if (!status.code && !m->bare && m->vocabulary && m->vocabulary->special.cls == RT_NO_ID) {
        rt_vocabulary_free(m->vocabulary);
        m->vocabulary = NULL;
        status = rt_error(RT_CHECKPOINT, "the vocabulary has no token that begins a sequence");
    }
    if (status.code != RT_CHECKPOINT || m->options.kind != RT_KIND_DECODER)
        return status;
    m->refused = rt_copy_text(status.message);
    rt_writer_add(&m->files->warnings, "%s; the model reads token ids, but no texts\n",
                  status.message);
    return rt_allocated(m->refused, "warnings");
}

rt_status rt_huggingface_no_vocabulary(const rt_huggingface *m, const char *path)
{
    return m->refused
               ? rt_error(RT_CHECKPOINT, "%.400s: %.600s; the model reads token ids, not texts",
                          path, m->refused)
               : rt_error(RT_CHECKPOINT,
                          "%s has no tokenizer that rotor reads, such as tokenizer.json: the model "
                          "reads token ids, not texts",
                          path);
}

rt_status rt_huggingface_prepare(rt_huggingface *m, rt_status read, const char *warning)
{
    /* least max_position_embeddings that counts as a length, except in folders that rotor wrote */
    enum { LEAST_POSITIONS = 8 };
    RT_TRY(judge_vocabulary(m, read));
    if (m->vocabulary && m->vocabulary->count > m->options.vocab)
        return rt_error(RT_CHECKPOINT, "%s: vocab_size is %d; the vocabulary has %d tokens",
                        m->files->described, m->options.vocab, m->vocabulary->count);
    RT_TRY(check_mask(m));
    for (int i = 0; m->vocabulary && i < m->ends.count; i++)
        if (m->ends.ids[i] < m->vocabulary->count)
            m->vocabulary->ends.ids[m->vocabulary->ends.count++] = m->ends.ids[i];
        else
            rt_writer_add(&m->files->warnings, "the vocabulary lacks a token of eos_token_id: that "
                                               "token ends no text\n");
    RT_TRY(sort_labels(m));
    if (warning)
        rt_writer_add(&m->files->warnings, "%s\n", warning);
    RT_TRY(point_to_warnings(m));
    const bool known = m->own || m->length >= LEAST_POSITIONS;
    m->data = rt_data_options_of(&m->options, m->vocabulary, known ? m->length : 0,
                                 m->bare ? RT_BEGIN_NONE : RT_BEGIN_AUTO);
    if (m->open_ended)
        m->data.end = RT_BEGIN_NONE;
    if (!m->vocabulary && m->options.mask_id > 0)
        m->data.mask_id = m->options.mask_id;
    return rt_ok();
}

rt_status rt_huggingface_import(rt_huggingface **imported_new, const char *folder)
{
    rt_huggingface *m;
    const char *warning = NULL;
    *imported_new = NULL;
    RT_TRY(rt_huggingface_open(&m, folder));
    rt_status status = rt_tokenizer_read(&m->vocabulary, folder, m->level, &warning);
    status = rt_huggingface_prepare(m, status, warning);
    if (status.code)
        rt_huggingface_close(m);
    else
        *imported_new = m;
    return status;
}

/* Keys that change what a model computes. Layers and widths are not among them, because weights of
 * other sizes do not fit. */
static const char *const computing[] = {"model.norm",       "model.norm_eps",
                                        "model.activation", "model.attention",
                                        "model.ffn",        "model.causal",
                                        "model.residual",   "model.token_dropout",
                                        "model.classifier", "model.window",
                                        "model.layer_types"};

const char *rt_huggingface_difference(const rt_huggingface *m, const rt_transformer_options *o,
                                      bool theta)
{
    const rt_transformer_options *there = &m->options;
    const bool labels = there->head == o->head && o->head != RT_HEAD_LM;
    for (size_t i = 0; i < sizeof computing / sizeof *computing; i++) {
        const char *name = computing[i];
        if (!rt_key_value_equal(rt_keys_find(&rt_model_keys, name), there, o) &&
            (labels || strcmp(name, "model.classifier") != 0))
            return name;
    }
    for (int l = 0; l < o->layers; l++) /* by a list or by position.every */
        if (rt_layer_row_of(there, l).has_positions != rt_layer_row_of(o, l).has_positions)
            return o->position.every > 1 ? "position.every" : "position.layers";
    if (o->position.xpos > 0)
        return "position.xpos";
    if (there->position.rotate_value != o->position.rotate_value)
        return "position.rotate_value";
    return theta || o->theta.learn ? NULL : "the fixed theta";
}
