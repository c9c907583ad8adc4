/* Of a tokenizer.json: the merges. */

#include "data/tokenizers/bpe_file.h"

#include "core/memory.h"
#include "data/tokenizers/simple_tokens.h"

#include <string.h>

/* The two pieces of a merge, as lists of two or as texts with a space between. */
typedef struct sides {
    const char *left, *right;
    size_t left_size, right_size;
} sides;

static bool find_sides(const json_t *merge, sides *s)
{
    const char *text = json_string_value(merge);
    const char *space = text ? strchr(text, ' ') : NULL;
    if (text && (!space || strchr(space + 1, ' ')))
        return false;
    s->left = text ? text : json_string_value(json_array_get(merge, 0));
    s->right = text ? space + 1 : json_string_value(json_array_get(merge, 1));
    if (!s->left || !s->right || (!text && json_array_size(merge) != 2))
        return false;
    s->left_size = text ? (size_t)(space - text) : strlen(s->left);
    s->right_size = strlen(s->right);
    return true;
}

/* Room for the pieces of a merge. */
typedef struct room {
    char *text;
    size_t size;
} room;

static rt_status find_id(const rt_bpe_reading *r, size_t number, const char *piece, int32_t *id)
{
    char word[RT_WORD_NAME_SIZE];
    const json_t *found = json_object_get(r->vocab, piece);
    *id = found ? (int32_t)json_integer_value(found) : 0;
    return found ? rt_ok()
                 : rt_error(RT_DATA, "%s: model.merges[%zu]: %s is not in model.vocab", r->name,
                            number, rt_word_name(piece, strlen(piece), word));
}

static rt_status read_merge(const rt_bpe_reading *r, size_t number, const sides *s, room *to,
                            rt_merge *merge)
{
    const size_t size = s->left_size + s->right_size + 1;
    if (size > to->size) {
        rt_free(to->text);
        to->size = 2 * size;
        to->text = rt_alloc_unset(to->size, 1);
    }
    if (!to->text)
        return rt_out_of_memory("a vocabulary");
    merge->rank = (int32_t)number;
    memcpy(to->text, s->left, s->left_size);
    to->text[s->left_size] = '\0';
    rt_status status = find_id(r, number, to->text, &merge->left);
    memcpy(to->text + s->left_size, s->right, s->right_size + 1);
    if (!status.code)
        status = find_id(r, number, to->text + s->left_size, &merge->right);
    return status.code ? status : find_id(r, number, to->text, &merge->joined);
}

/* The heading of a merges.txt may stand in the list, and has no rank. */
static bool is_heading(const json_t *merge)
{
    const char *text = json_string_value(merge);
    return text && !strncmp(text, "#version", 8);
}

static rt_status read_list(const rt_bpe_reading *r, const json_t *found, rt_merges *merges)
{
    room to = {NULL, 0};
    const json_t *merge;
    size_t i;
    rt_status status = rt_ok();
    json_array_foreach(found, i, merge)
    {
        sides s;
        if (is_heading(merge))
            continue;
        if (find_sides(merge, &s))
            status = read_merge(r, i, &s, &to, &merges->list[merges->count++]);
        else
            status = rt_error(RT_DATA,
                              "%s: model.merges[%zu] must be two pieces, as a list or with a "
                              "space between",
                              r->name, i);
        if (status.code)
            break;
    }
    rt_free(to.text);
    return status;
}

rt_status rt_bpe_read_merges(rt_bpe_reading *r)
{
    const json_t *found = json_object_get(json_object_get(r->json, "model"), "merges");
    rt_merges *merges = &r->v->bpe->merges;
    if (!json_is_array(found))
        return rt_error(RT_DATA, "%s: model.merges must be a list", r->name);
    merges->list = rt_alloc(json_array_size(found), sizeof *merges->list);
    if (!merges->list)
        return rt_out_of_memory("a vocabulary");
    rt_status status = read_list(r, found, merges);
    if (!status.code && !rt_merges_complete(merges))
        status = rt_out_of_memory("a vocabulary");
    return status;
}
