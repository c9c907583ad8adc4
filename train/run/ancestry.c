#include "train/run/ancestry.h"

#include "core/memory.h"
#include "train/folder/run_folder.h"
#include "train/run/broadcast.h"
#include "train/run/found.h"

#include <stdio.h>
#include <string.h>

void rt_ancestry_free(rt_ancestry *a)
{
    rt_free(a->last);
    a->last = NULL;
}

/* ---- a run of its own ---- */

static bool find_own(rt_ancestry *a, const rt_config *config)
{
    rt_run_folder folder;
    return (rt_arguments_use_model(a->arguments) || a->arguments->resume) &&
           !rt_run_folder_name(&folder, config->run.dir, config->run.name).code &&
           !rt_config_load_folder(a->last, folder.path).code;
}

/* ---- the model ---- */

static rt_status find_model(rt_ancestry *a, const char *path)
{
    const rt_arguments none = {0}, named = {.checkpoint = path};
    rt_found found;
    char *errors = NULL;
    rt_status status = rt_find_checkpoint(&found, &named, NULL);
    if (!status.code)
        status = rt_found_configuration(a->last, &found, &none, &errors);
    a->found.imported = found.imported != NULL;
    a->found.wordless = found.imported && !found.imported->vocabulary;
    rt_free(errors);
    rt_found_close(&found);
    return status;
}

static rt_status look(rt_ancestry *a, const rt_config *config)
{
    if (!a->last)
        a->last = rt_alloc(1, sizeof *a->last);
    if (!a->last)
        return rt_out_of_memory("a configuration");
    a->found = (rt_ancestor){.name = a->path, .own = find_own(a, config)};
    snprintf(a->path, sizeof a->path, "%s", config->train.init_from);
    rt_status status = a->found.own ? rt_ok() : find_model(a, a->path);
    if (!status.code)
        a->found.config = a->last;
    if (status.code || a->found.own)
        *a->path = '\0'; /* is not that of the next run */
    return status;
}

rt_status rt_ancestry_find(void *context, const rt_config *config, rt_ancestor *found)
{
    rt_ancestry *a = context;
    const bool known = a->received || (*a->path && !strcmp(a->path, config->train.init_from));
    const rt_status status = known ? rt_ok() : look(a, config);
    *found = a->found;
    return status;
}

/* ---- a world ---- */

typedef struct findings {
    bool own, imported, wordless;
} findings;

/* A configuration is broadcast as a text: programs of other versions have other structures. */
static rt_status parse(rt_ancestry *a, const char *text)
{
    const rt_config_source source = {.path = "the configuration of process 0",
                                     .text = text,
                                     .without_data = true};
    char *errors = NULL;
    a->last = rt_alloc(1, sizeof *a->last);
    rt_status status =
        a->last ? rt_config_load(a->last, &source, &errors) : rt_out_of_memory("a configuration");
    rt_free(errors);
    a->found.config = status.code ? NULL : a->last;
    return status;
}

rt_status rt_ancestry_broadcast(rt_ancestry *a, rt_world *world)
{
    const bool first = rt_world_rank(world) == 0;
    findings h = {a->found.own, a->found.imported, a->found.wordless};
    char *text = first && a->found.config ? rt_config_ini(a->last) : NULL;
    rt_world_broadcast(world, &h, sizeof h);
    rt_status status = rt_pass_text(world, &text);
    if (!first) {
        a->received = true;
        a->found = (rt_ancestor){.name = a->path,
                                 .own = h.own,
                                 .imported = h.imported,
                                 .wordless = h.wordless};
    }
    if (!status.code && !first && text)
        status = parse(a, text);
    rt_free(text);
    return status;
}
