/* Files of text and of token ids become tokens in a store, or in a file of ids. */

#include "data/corpus.h"

#include "core/memory.h"
#include "data/encode_text.h"
#include "data/source.h"
#include "data/token_cache.h"
#include "data/tokenizers/tokens.h"
#include "util/writer.h"

#include <string.h>

/* Files that are encoded together: consecutive texts, or one file of ids. */
typedef struct group {
    const rt_data_file *file; /* the first file */
    rt_text_files text;
} group;

typedef struct groups {
    rt_data *data;
    group *list;
    size_t count, capacity;
    rt_text_files training_text; /* all texts of data.file, for their characters */
} groups;

static groups groups_of(rt_data *data)
{
    return (groups){.data = data,
                    .training_text = {.key = "data.file",
                                      .field = rt_data_field(&data->options, false)}};
}

static bool is_training(const group *x)
{
    return x->file->part == RT_PART_TRAINING;
}

/* Lists the groups. Consecutive training texts form one group, unless they have weights or some are
 * JSON lines. */
static rt_status list_groups(groups *g, const rt_data_files *files)
{
    const bool by_character = rt_data_takes_characters(g->data);
    for (size_t i = 0; i < files->count; i++) {
        const rt_data_file *file = &files->list[i];
        const bool training = file->part == RT_PART_TRAINING;
        const group *last = g->count ? &g->list[g->count - 1] : NULL;
        if (!last || !training || files->mixture || file->ids || last->file->ids ||
            rt_json_is_lines(file->path) != rt_json_is_lines(last->file->path)) {
            if (!rt_grow(&g->list, &g->capacity, g->count + 1, sizeof *g->list))
                return rt_out_of_memory("the files of data");
            g->list[g->count++] =
                (group){file, {.key = file->key, .field = rt_data_field(&g->data->options, false)}};
        }
        if (!file->ids)
            RT_TRY(rt_text_files_add(&g->list[g->count - 1].text, file->path));
        if (!file->ids && training && by_character)
            RT_TRY(rt_text_files_add(&g->training_text, file->path));
    }
    return rt_ok();
}

static void free_groups(groups *g)
{
    for (size_t i = 0; i < g->count; i++)
        rt_text_files_close(&g->list[i].text);
    rt_text_files_close(&g->training_text);
    rt_free(g->list);
}

/* Lists the groups and finds their vocabulary. Refuses texts whose tokens would need too much
 * memory, before reading them. */
static rt_status open_groups(groups *g, const rt_data_files *files)
{
    const rt_data_options *o = &g->data->options;
    RT_TRY(list_groups(g, files));
    bool large = false; /* the tokens of a text of data.file are cached, and so is its vocabulary */
    for (size_t i = 0; i < g->count; i++) {
        const rt_text_files *text = &g->list[i].text;
        const bool cached = rt_token_cache_takes(o, text->bytes);
        large |= cached && is_training(&g->list[i]);
        if (text->packed > RT_FILES_LIMIT && !cached)
            return rt_error(RT_DATA,
                            "%.800s: %s can be read into memory up to %zu bytes; it has %zu",
                            text->list[0].path, text->key, RT_FILES_LIMIT, text->packed);
    }
    if (g->data->task->token_ids)
        return rt_ok();
    if (rt_data_takes_characters(g->data))
        RT_TRY((large ? rt_token_cache_vocabulary : rt_text_characters)(&g->data->state->vocabulary,
                                                                        &g->training_text, o));
    return rt_data_find_vocabulary(g->data);
}

static rt_status keep_ids(void *list, rt_id_list *ids)
{
    rt_id_list *all = list;
    rt_id_list_reserve(all, all->count + ids->count);
    RT_TRY(rt_allocated(!all->failed, "the text of a file"));
    memcpy((char *)all->ids + all->count * all->width, ids->ids, ids->count * ids->width);
    all->count += ids->count;
    return rt_ok();
}

static rt_status encode_in_memory(rt_data *data, rt_tokens *tokens, rt_text_files *text,
                                  rt_unknown *unknown)
{
    rt_id_list ids = {.width = rt_id_width(data->vocab)};
    rt_text_encoding e = {.text = text,
                          .vocabulary = data->vocabulary,
                          .options = &data->options,
                          .take = keep_ids,
                          .context = &ids};
    /* mostly enough, so that ids are not copied; memory without ids is never touched */
    rt_id_list_reserve(&ids, text->bytes + text->count);
    const rt_status status = rt_text_encode(&e);
    *unknown = e.unknown;
    data->memory += ids.count * ids.width;
    if (!status.code)
        return rt_tokens_add_ids(tokens, ids);
    rt_id_list_free(&ids);
    return status;
}

/* Adds the ids of a text in the cache, which makes them again if the store finds them damaged. */
static rt_status add_cached(rt_data *data, rt_tokens *tokens, rt_text_files *text,
                            rt_unknown *unknown)
{
    rt_cached_ids cached;
    rt_status status = {.code = RT_DATA};
    for (int i = 0; i < 2 && status.code == RT_DATA; i++) {
        RT_TRY(rt_token_cache_find(&cached, text, data->vocabulary, &data->options, i));
        status = rt_tokens_add_file(tokens, cached.file, data->vocab);
    }
    RT_TRY(status);
    *unknown = cached.unknown;
    rt_data_say(&data->options, RT_PRINTED(3 * RT_PATH_SIZE, "%s: the tokens of %.900s are in %s",
                                           text->key, text->list[0].path, cached.file.path));
    return rt_ok();
}

/* Opens a file of token ids. Warns if a .bin file without a header seems to hold ids of 4 or 8
 * bytes: the upper halves are small, the lower ones are not. */
static rt_status add_ids(rt_data *data, rt_tokens *tokens, const rt_data_file *file)
{
    enum { LEAST = 16, MOST = 4096, SMALL = 16 };
    const size_t first = tokens->count;
    const rt_token_input in = {.format = file->ids,
                               .key = file->key,
                               .path = file->path,
                               .dataset = file->dataset};
    int32_t ids[MOST];
    bool upper_small = true, lower_small = true;
    const rt_status status = rt_tokens_add_file(tokens, in, data->vocab);
    const size_t there = tokens->count - first, count = there < MOST ? there : MOST;
    if (status.code || file->ids != &rt_bin_format || count < LEAST ||
        !rt_tokens_read(tokens, first, count, ids))
        return status;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= SMALL)
            *(i % 2 ? &upper_small : &lower_small) = false;
    if (!upper_small || lower_small)
        return status;
    rt_data_say(&data->options,
                RT_PRINTED(RT_PATH_SIZE + 256,
                           "warning: %s: every second id is below 16; a .bin file without a header "
                           "holds ids of 2 bytes: write ids of 4 bytes into a .npy file (%s)",
                           file->path, file->key));
    return status;
}

rt_status rt_corpus_open(rt_data *data, const rt_data_files *files, rt_tokens *tokens,
                         rt_corpus_taker *take, void *context)
{
    RT_CLOSED_BY(free_groups) groups g = groups_of(data);
    size_t before[RT_PARTS] = {0}; /* bytes of the texts of each part */
    RT_TRY(open_groups(&g, files));
    for (size_t i = 0, first = 0; i < g.count; i++) {
        group *x = &g.list[i];
        const rt_data_file *file = x->file;
        const int part = file->part;
        const size_t start = tokens->count;
        rt_unknown unknown = {0};
        const bool cached = rt_token_cache_takes(&data->options, x->text.bytes);
        RT_TRY(file->ids
                   ? add_ids(data, tokens, file)
                   : (cached ? add_cached : encode_in_memory)(data, tokens, &x->text, &unknown));
        if (!is_training(x) && unknown.count && unknown.count >= tokens->count - start)
            return rt_error(RT_DATA, "%.600s: data.eval_file has no token of the vocabulary",
                            file->path);
        rt_unknown_add(&data->unknown[part], &unknown, before[part]);
        before[part] += x->text.bytes;
        const bool one = is_training(x) && !files->mixture; /* all of data.file is one text */
        if (one && i + 1 < g.count && is_training(x + 1))
            continue;
        const char *name = RT_PRINTED(2 * RT_PATH_SIZE, "%s%s%s", file->path,
                                      *file->dataset ? ":" : "", file->dataset);
        const rt_corpus_text text = {one ? data->options.file : name, part, first,
                                     tokens->count - first, file->weight};
        RT_TRY(take(context, &text));
        first = tokens->count;
    }
    return rt_ok();
}

static rt_status copy_ids(rt_data *data, const rt_data_file *file, rt_token_writer *w)
{
    enum { BLOCK = 1 << 14 };
    int32_t block[BLOCK];
    RT_CLOSED_BY(rt_id_list_free) rt_id_list ids = {.width = w->width};
    RT_CLOSED_BY(rt_tokens_close) rt_tokens tokens = {0};
    RT_TRY(add_ids(data, &tokens, file));
    for (size_t first = 0, n; first < tokens.count; first += n) {
        const size_t left = tokens.count - first;
        n = left < BLOCK ? left : BLOCK;
        if (!rt_tokens_read(&tokens, first, n, block))
            return rt_tokens_status(&tokens);
        ids.count = 0;
        for (size_t i = 0; i < n; i++)
            rt_id_list_add(&ids, block[i]);
        RT_TRY(rt_allocated(!ids.failed, "a block of token ids"));
        RT_TRY(rt_token_writer_take(w, &ids));
    }
    return rt_ok();
}

rt_status rt_corpus_write(rt_data *data, const rt_data_files *files, const char *path,
                          size_t *count)
{
    RT_CLOSED_BY(free_groups) groups g = groups_of(data);
    rt_token_writer w;
    if (files->mixture)
        return rt_error(RT_CONFIG, "data.file is a mixture with weights: write a file of tokens "
                                   "for each of its files");
    RT_TRY(open_groups(&g, files));
    rt_status status = rt_token_writer_open(&w, path, rt_token_format_of(path), data->vocab);
    for (size_t i = 0; i < g.count && !status.code; i++) {
        rt_text_encoding e = {.text = &g.list[i].text,
                              .vocabulary = data->vocabulary,
                              .options = &data->options,
                              .watched = true,
                              .take = rt_token_writer_take,
                              .context = &w};
        status = g.list[i].file->ids ? copy_ids(data, g.list[i].file, &w) : rt_text_encode(&e);
    }
    status = rt_token_writer_close(&w, status);
    *count = w.count;
    return status;
}
