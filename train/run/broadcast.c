/* Starts a run in the processes of a world. They compare their configurations, programs, processors
 * and data. Process 0 opens the run like a single process, and broadcasts the vocabulary and the
 * labels of its data; the other processes open the same data with them. */

#include "train/run/broadcast.h"

#include "core/memory.h"
#include "core/row_kernels.h"
#include "ops/engine.h"
#include "train/folder/session.h"
#include "train/run/kernels.h"
#include "train/run/stop.h"
#include "util/writer.h"

#include <string.h>

rt_status rt_world_broadcast_text(rt_world *world, char **text)
{
    uint64_t bytes = rt_world_rank(world) == 0 && *text ? strlen(*text) + 1 : 0;
    rt_world_broadcast(world, &bytes, sizeof bytes);
    if (rt_world_rank(world) != 0)
        *text = bytes ? rt_alloc(bytes, 1) : NULL;
    RT_TRY(rt_world_agree(world, bytes && !*text
                                     ? rt_out_of_memory("the vocabulary and labels of a run")
                                     : rt_ok()));
    if (bytes)
        rt_world_broadcast(world, *text, bytes);
    return rt_ok();
}

/* Facts about the model of process 0, beside its texts, and the engine of its run. */
typedef struct meaning {
    rt_vocabulary_kind kind;
    int words, types;
    rt_begin begin, end;
    rt_engine engine;
} meaning;

/* Broadcasts the resolved values of process 0, and its vocabulary and labels as texts or NULL. */
static rt_status pass_meaning(rt_world *world, meaning *m, char **vocabulary, char **labels)
{
    rt_world_broadcast(world, m, sizeof *m);
    RT_TRY(rt_world_broadcast_text(world, vocabulary));
    return rt_world_broadcast_text(world, labels);
}

/* Compares a text between the processes, and frees it. NULL: the heap is exhausted. */
static rt_status compare_text(rt_world *world, rt_code code, const char *what, char *text,
                              const char *advice)
{
    RT_OWNED char *owned = text;
    RT_TRY(rt_world_agree(world, rt_allocated(owned, "a comparison")));
    return rt_world_compare(world, code, what, owned, advice);
}

static const char remedy[] = "run.kernels = portable gives all processors with AVX2 the same";

/* Selects the engine of process 0 in all processes, which must have the same kernels of it.
 * run.engine = auto falls back to OpenBLAS where they differ, or a process lacks oneDNN. */
static rt_status share_engine(const rt_run *r, rt_engine engine)
{
    const rt_run_options *o = &r->config->run;
    rt_status status = rt_world_agree(r->world, rt_engine_use(engine, o->math));
    if (!status.code)
        status = compare_text(r->world, RT_CONFIG, "the kernels of matrix products are",
                              rt_copy_text(rt_engine_kernels()), remedy);
    const bool free = o->engine == RT_LIBRARY_AUTO && o->math == RT_MATH_FLOAT;
    return status.code == RT_CONFIG && free && engine != RT_ENGINE_OPENBLAS
               ? share_engine(r, RT_ENGINE_OPENBLAS)
               : status;
}

rt_status rt_run_broadcast(rt_run *r, rt_status status)
{
    rt_world *world = r->world;
    const rt_vocabulary *vocabulary = status.code ? NULL : r->data->vocabulary;
    const rt_labels *labels = status.code ? NULL : r->data->labels;
    meaning m = {.words = r->meaning.ids,
                 .types = r->meaning.types,
                 .begin = r->config->data.begin,
                 .end = r->config->data.end,
                 .engine = rt_engine_in_use()};
    RT_OWNED char *vocabulary_text = NULL, *labels_text = NULL;
    r->broadcast_done = true;
    if (vocabulary) {
        m.kind = rt_vocabulary_kind_of(vocabulary);
        status = rt_vocabulary_write(vocabulary, &vocabulary_text);
    }
    if (!status.code && labels)
        status = rt_labels_write(labels, &labels_text);
    RT_TRY(rt_world_agree(world, status));
    RT_TRY(pass_meaning(world, &m, &vocabulary_text, &labels_text));
    RT_TRY(share_engine(r, m.engine));
    /* waits until the other processes have opened the data */
    return rt_world_agree(world, rt_ok());
}

/* Opens the data with the vocabulary and labels of process 0. */
static rt_status open_received_data(rt_run *r, const meaning *m, const char *vocabulary,
                                    const char *labels)
{
    rt_checkpoint_info *known = &r->found.checkpoint.info; /* owns the vocabulary and the labels */
    rt_status status = rt_ok();
    rt_config_frame_as(r->config, &(rt_data_options){.begin = m->begin, .end = m->end});
    rt_data_options o = r->config->data;
    o.vocab_file = NULL; /* process 0 has read the file */
    if (vocabulary)
        status = rt_vocabulary_read(&known->vocabulary, m->kind, "the vocabulary of process 0",
                                    (const unsigned char *)vocabulary, strlen(vocabulary));
    if (!status.code && labels)
        status = rt_labels_read(&known->labels, "the labels of process 0", labels, strlen(labels));
    r->meaning = (rt_data_of_model){known->vocabulary, known->labels, m->words, m->types, 0, false};
    rt_opening opening;
    rt_opening_begin(&opening, &o, r->config, r->world, true);
    if (!status.code)
        status = rt_data_open(&r->data, &o, r->meaning);
    rt_progress_clear(&opening.progress);
    return status.code ? status
                       : rt_memory_check(&r->memory, r->config, r->data, r->world, RT_USE_TRAIN, 0);
}

void rt_run_serve(rt_run *r)
{
    rt_world *world = r->world;
    meaning m = {.words = 0};
    RT_OWNED char *vocabulary = NULL, *labels = NULL;
    rt_status status = rt_world_agree(world, rt_ok());
    if (!status.code)
        status = pass_meaning(world, &m, &vocabulary, &labels);
    if (!status.code)
        status = share_engine(r, m.engine);
    if (!status.code)
        status = rt_world_agree(world, open_received_data(r, &m, vocabulary, labels));
    if (!status.code)
        status =
            rt_trainer_new(&r->trainer, r->config, r->data, &(rt_trainer_options){.world = world});
    if (status.code)
        return;
    status = rt_trainer_observe(r->trainer, r->arguments->trap, false);
    rt_trainer_serve(r->trainer, rt_stop_requested);
}

/* Returns the settings of all runs of a sweep; "" for a single run, NULL without memory. */
static char *write_sweep(const rt_sweep *sweep)
{
    rt_writer text = {0};
    rt_writer_add(&text, "%s", "");
    for (int run = 0; rt_sweep_requested(sweep) && run < rt_sweep_count(sweep); run++) {
        RT_OWNED char *settings = rt_sweep_overrides(sweep, run);
        text.failed |= !settings;
        rt_writer_add(&text, "%s\n", settings ? settings : "");
    }
    return rt_writer_take(&text);
}

rt_status rt_compare_hosts(const rt_config *config, const rt_sweep *sweep,
                           const rt_arguments *arguments)
{
    rt_world *world = arguments->world;
    rt_writer program = {0};
    rt_writer_add(&program, "%s (%s) %s", ROTOR_VERSION, RT_PRECISION, arguments->revision);
    RT_TRY(compare_text(world, RT_CONFIG, "the program is", rt_writer_take(&program), NULL));
    RT_TRY(compare_text(world, RT_CONFIG, "the configuration is", rt_config_ini(config), NULL));
    RT_TRY(compare_text(world, RT_CONFIG, "the sweep is", write_sweep(sweep), NULL));
    RT_TRY(rt_world_agree(world, rt_kernels_use(config, arguments, "")));
    RT_TRY(compare_text(world, RT_CONFIG, "the row kernels are", rt_copy_text(rt_row_kernels()),
                        remedy));
    return compare_text(world, RT_DATA, "the data is", rt_session_data(&config->data), NULL);
}
