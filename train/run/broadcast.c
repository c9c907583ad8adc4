#include "train/run/broadcast.h"

#include "core/memory.h"
#include "train/run/opening.h"
#include "train/run/stop.h"

#include <string.h>

/* ---- what is passed on ---- */

rt_status rt_pass_text(rt_world *world, char **text)
{
    uint64_t bytes = rt_world_rank(world) == 0 && *text ? strlen(*text) + 1 : 0;
    rt_world_broadcast(world, &bytes, sizeof bytes);
    if (rt_world_rank(world) != 0)
        *text = bytes ? rt_alloc(bytes, 1) : NULL;
    rt_status status =
        rt_world_agree(world, bytes && !*text ? rt_out_of_memory("what a run means") : rt_ok());
    if (!status.code && bytes)
        rt_world_broadcast(world, *text, bytes);
    return status;
}

typedef struct meaning {
    rt_vocabulary_kind kind;
    int words, types;
    rt_begin begin, end;
    char *vocabulary; /* as its file; NULL: there is none */
    char *labels;     /* likewise */
} meaning;

static rt_status meaning_of(const rt_run *r, meaning *m)
{
    const rt_vocabulary *vocabulary = rt_data_vocabulary(r->data);
    const rt_labels *labels = rt_data_labels(r->data);
    rt_status status = rt_ok();
    *m = (meaning){.words = r->words,
                   .types = r->types,
                   .begin = r->config->data.begin,
                   .end = r->config->data.end};
    if (vocabulary) {
        m->kind = rt_vocabulary_kind_of(vocabulary);
        status = rt_vocabulary_write(vocabulary, &m->vocabulary);
    }
    if (!status.code && labels)
        status = rt_labels_write(labels, &m->labels);
    return status;
}

/* The texts are those of each process. */
static rt_status pass_meaning(rt_world *world, meaning *m)
{
    char *own[] = {m->vocabulary, m->labels};
    rt_world_broadcast(world, m, sizeof *m);
    rt_status status = rt_pass_text(world, &own[0]);
    if (!status.code)
        status = rt_pass_text(world, &own[1]);
    m->vocabulary = own[0];
    m->labels = own[1];
    return status;
}

static void free_meaning(meaning *m)
{
    rt_free(m->vocabulary);
    rt_free(m->labels);
}

/* ---- process 0 ---- */

rt_status rt_run_broadcast(rt_run *r, rt_status status)
{
    rt_world *world = r->world;
    meaning m = {.words = 0};
    r->broadcast_done = true;
    if (!status.code)
        status = meaning_of(r, &m);
    status = rt_world_agree(world, status);
    if (!status.code)
        status = pass_meaning(world, &m);
    free_meaning(&m);
    return status.code ? status : rt_world_agree(world, rt_ok()); /* the others' data is open */
}

/* ---- the others ---- */

static rt_status read_meaning(rt_run *r, const meaning *m)
{
    static const char name[] = "the vocabulary of process 0";
    rt_status status = rt_ok();
    r->words = m->words;
    r->types = m->types;
    if (m->vocabulary)
        status = rt_vocabulary_read(&r->vocabulary, m->kind, name,
                                    (const unsigned char *)m->vocabulary, strlen(m->vocabulary));
    if (!status.code && m->labels)
        status =
            rt_labels_read(&r->labels, "the labels of process 0", m->labels, strlen(m->labels));
    return status;
}

static rt_status open_same(rt_run *r, const meaning *m)
{
    rt_config_frame_as(r->config, &(rt_data_options){.begin = m->begin, .end = m->end});
    rt_data_options o = r->config->data;
    *o.vocab_file = '\0'; /* it has been read by process 0 */
    rt_status status = read_meaning(r, m);
    const rt_data_meaning known = {r->vocabulary, r->labels, r->words, r->types};
    rt_opening opening;
    rt_opening_begin(&opening, &o, r->config, r->world, true);
    if (!status.code)
        status = rt_data_open_as(&r->data, &o, known);
    rt_opening_end(&opening);
    return status.code ? status
                       : rt_memory_check(&r->memory, r->config, r->data, r->world, RT_USE_TRAIN, 0);
}

static rt_status open_run(rt_run *r)
{
    rt_world *world = r->world;
    meaning m = {.words = 0};
    rt_status status = rt_world_agree(world, rt_ok());
    if (!status.code)
        status = pass_meaning(world, &m);
    if (!status.code)
        status = rt_world_agree(world, open_same(r, &m));
    free_meaning(&m);
    if (!status.code)
        status = rt_trainer_new_in(&r->trainer, r->config, r->data, world);
    return status;
}

void rt_run_assist(rt_run *r)
{
    rt_status status = open_run(r);
    if (status.code)
        return;
    status = rt_trainer_observe(r->trainer, r->arguments->trap, false);
    rt_trainer_serve(r->trainer, rt_stop_requested);
}
