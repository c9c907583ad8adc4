#include "train/step/memory.h"

#include "io/checkpoint/image.h"
#include "ops/engine.h"
#include "train/step/private.h"
#include "util/number.h"
#include "util/writer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const double giga = 1e9;

/* Stack of a thread without a limit, and of a thread of OpenBLAS, in bytes. */
static const double usual_stack = 8 << 20;

/* Returns the soft limit of a resource; INFINITY without a limit. */
static double limit_of(int resource)
{
    struct rlimit limit;
    const bool known = !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
    return known ? (double)limit.rlim_cur : (double)INFINITY;
}

/* Number of tokens drawn to count labels, if a sequence is not longer. */
enum { SAMPLED = 1 << 14 };

rt_status rt_most_labels(int *labels, const rt_config *c, const rt_data *data, int rows, int length)
{
    const double tokens = (double)rows * length, deviations = 3;
    const int sampled = length < SAMPLED ? SAMPLED / length : 1, batch = c->train.batch_size;
    const int count = sampled < batch ? sampled : batch;
    double sum = 0, squares = 0;
    RT_CLOSED_BY(rt_labelled_batch_free) rt_labelled_batch row = {0};
    *labels = rows;
    if (data->task->target == RT_TARGET_SEQUENCE)
        return rt_ok();
    if (tokens > INT_MAX)
        return rt_error(RT_SHAPE, "%d sequences of %d tokens are more than %d tokens", rows, length,
                        INT_MAX);
    *labels = (int)tokens;
    if (data->task->target == RT_TARGET_TOKENS) /* nearly all, in a batch of the longest texts */
        return rt_ok();
    RT_TRY(rt_labelled_batch_new(&row, 1, length, 0, NULL));
    for (int i = 0; i < count; i++) {
        if (data->evaluation_only)
            rt_draw_evaluation(&row, data, (uint32_t)i);
        else
            rt_draw_training(&row, data, c->run.seed, 0, (uint32_t)i);
        sum += row.labels;
        squares += (double)row.labels * row.labels;
    }
    const double mean = sum / count, variance = squares / count - mean * mean;
    const double most = ceil(rows * mean + deviations * sqrt(rows * fmax(variance, 0)));
    *labels = (int)fmax(1, fmin(most, tokens));
    return rt_data_status(data);
}

/* Runs forward and, if `records`, backward on a batch in a dry graph. */
static rt_status dry_pass(rt_trainer *t, rt_graph *g, rt_labelled_batch *b, bool records)
{
    const rt_config *c = t->config;
    b->batch.length = b->length < t->data->longest ? b->length : t->data->longest;
    RT_TRY(rt_most_labels(&b->labels, c, t->data, b->batch.rows, b->batch.length));
    rt_graph_clear(g);
    rt_graph_record(g, records);
    if (records)
        rt_graph_set_random(g, c->run.seed, 0, 0);
    rt_tensor *loss = rt_batch_loss(t->models[0], g, b, 1, NULL);
    return records ? rt_graph_backward(g, loss) : rt_graph_status(g);
}

/* Evaluates at all lengths of a run; *batches is the size of the largest batch in bytes. */
static rt_status dry_evaluations(rt_trainer *t, rt_graph *g, size_t *batches)
{
    const rt_config *c = t->config;
    const rt_lengths *lengths = &c->train.eval_lengths;
    rt_status status = rt_ok();
    for (int i = -1; i < lengths->count && !status.code; i++) {
        rt_account account = {{0}};
        rt_labelled_batch shard;
        status = rt_trainer_new_batch(t, &shard, c->train.batch_size / t->shards,
                                      i < 0 ? c->data.length : lengths->at[i], &account);
        if (!status.code)
            status = dry_pass(t, g, &shard, false);
        rt_labelled_batch_free(&shard);
        const size_t bytes = account.bytes[RT_FOR_BATCHES];
        *batches = bytes > *batches ? bytes : *batches;
    }
    return status;
}

/* Runs one step for each size of shard, and all evaluations. This process has shards of at most two
 * sizes, which fill the chunks of an arena differently. */
static rt_status take_passes(rt_memory_need *need, rt_trainer *t)
{
    rt_graph *steps = rt_graph_new_dry(), *alone = rt_graph_new_dry();
    size_t batches = 0;
    int before = 0;
    rt_status status = rt_allocated(steps && alone, "a graph");
    if (!status.code)
        rt_graph_set_recomputes(steps, t->config->train.recompute == RT_RECOMPUTE_LAYERS);
    for (int i = t->first_shard; i < t->end_shard && !status.code; i++) {
        rt_labelled_batch *b = &t->shard[i].sequences;
        if (b->batch.rows != before)
            status = dry_pass(t, steps, b, true);
        before = b->batch.rows;
    }
    if (!status.code) {
        need->step = rt_graph_needs(steps);
        status = dry_evaluations(t, steps, &batches);
        need->training = rt_graph_needs(steps);
    }
    if (!status.code) {
        status = dry_evaluations(t, alone, &batches);
        need->evaluation = rt_graph_needs(alone);
    }
    need->evaluated = (size_t)t->graph_count * batches;
    rt_graph_free(steps);
    rt_graph_free(alone);
    return status;
}

/* Bytes of a checkpoint beside its numbers, for each tensor and for the file, as measured. */
static const double bytes_of_tensor = 2800, bytes_of_file = 1 << 20;

/* Address space that the C library reserves for the heap of a thread, in bytes. */
static const double heap_of_thread = 64 << 20;

/* Returns the bytes of all graphs, with scratch memory of threads and engine. */
static double graph_bytes(const rt_memory_need *r, rt_graph_need of_one, bool space)
{
    return r->graphs * (double)(space ? of_one.space : of_one.touched) +
           r->threads * ((double)of_one.part + (double)of_one.library);
}

/* Computes the bytes of each phase: resident memory or, with `space`, address space. `threads`:
 * address space of the threads, 0 for resident memory. `saves`: the process writes checkpoints.
 *
 * After the trainer has released the working memory of a step (rt_trainer_return_pages), but not
 * its address space, a checkpoint is built in memory, written, read back and compared parameter by
 * parameter.
 *
 * When a checkpoint is used, each parameter is first read into a buffer and checked. The buffer is
 * free before values and states, which are larger, are read. A child process that reads it first
 * shares this memory (io/checkpoint/image.h). The address space is that of the whole trainer, of
 * which only the values and what is counted here are touched. */
static void find_phases(double *at, const rt_memory_need *r, double threads, bool saves, bool space)
{
    const size_t *bytes = r->reserved.bytes;
    const double values = (double)bytes[RT_FOR_VALUES], states = (double)bytes[RT_FOR_STATES];
    const double largest = (double)r->largest;
    /* a checkpoint with optimizer states, in a file or in memory */
    const double file = values + states + 3.0 * r->parameters * bytes_of_tensor + bytes_of_file;
    double kept = threads; /* by a trainer, without its graphs */
    for (int i = 0; i < RT_PURPOSES; i++)
        kept += (double)bytes[i];
    const double trained = kept + graph_bytes(r, r->training, space);
    const double rested = (double)bytes[RT_FOR_GRADIENTS] + r->graphs * (double)r->training.touched;
    const double written = saves ? file + largest + (double)r->chunk : 0;
    const double touched = space ? 0 : 1;
    const double loaded = space ? kept : values;
    const double used = loaded + touched * (double)r->to_use;
    at[RT_PHASE_STEP] = kept + graph_bytes(r, r->step, space);
    at[RT_PHASE_EVALUATION] = trained + (double)r->evaluated;
    at[RT_PHASE_SAVE] = trained + written - (space ? 0 : rested);
    at[RT_PHASE_MODEL] = fmax(loaded + touched * largest, used);
    at[RT_PHASE_USED] = used + graph_bytes(r, r->evaluation, space) + (double)r->evaluated;
    at[RT_PHASE_RESUME] = loaded + touched * states + file + (double)r->chunk;
    at[RT_PHASE_EXPORT] = loaded + file + (double)r->chunk;
    at[RT_PHASE_EVAL] = fmax(at[RT_PHASE_EXPORT], at[RT_PHASE_USED]);
    at[RT_PHASE_DISTANCES] = fmax(at[RT_PHASE_EVAL], at[RT_PHASE_USED] + (double)r->weights);
}

rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_memory_use use)
{
    const bool alone = use == RT_USE_MODEL, saves = alone || rt_world_rank(world) == 0;
    const double limit = limit_of(RLIMIT_STACK), stack = isinf(limit) ? usual_stack : limit;
    const rt_trainer_options options = {.world = alone ? NULL : world,
                                        .account = &need->reserved,
                                        .threads = 1};
    rt_trainer *t;
    *need = (rt_memory_need){.data = data->memory, .opening = data->opening};
    rt_status status = rt_trainer_new_alone(&t, config, data, &options);
    if (!status.code && !alone)
        status = take_passes(need, t);
    if (status.code) {
        rt_trainer_end(t);
        return status;
    }
    const rt_parameters *p = &t->state.model->parameters;
    need->threads = t->threads;
    need->graphs = t->graph_count;
    need->blocks = t->blocks;
    need->to_use = config->run.math == RT_MATH_BF16 ? p->block_size * sizeof(uint16_t) : 0;
    need->parameters = p->count;
    if (config->model.attention == RT_ATTENTION_SOFTMAX)
        need->weights = (size_t)config->model.layers * (size_t)config->model.heads *
                        (size_t)config->data.length *
                        ((size_t)config->data.length * sizeof(real) + sizeof(double));
    for (int i = 0; i < p->count; i++) {
        const size_t bytes = rt_size(&p->list[i]->tensor) * sizeof(real);
        const size_t chunk = rt_image_chunk_bytes(rt_tensor_shape(&p->list[i]->tensor));
        need->largest = bytes > need->largest ? bytes : need->largest;
        need->chunk = chunk > need->chunk ? chunk : need->chunk;
    }
    /* memory of a missing state is never touched; rank 0 has the states of all spans */
    const int first = saves ? 0 : t->shares.first;
    const int end = saves ? t->span_count : first + t->shares.count;
    for (int i = first; i < end; i++) {
        const int states = rt_states_of(t->rule, p->list[t->spans[i].parameter]);
        need->reserved.bytes[RT_FOR_STATES] -=
            (size_t)(t->rule->state_count - states) * t->spans[i].size * sizeof(real);
    }
    rt_trainer_end(t);
    const int others = need->threads - 1;
    need->products = need->threads * (double)RT_OPENBLAS_BUFFER;
    need->heaps = others * heap_of_thread;
    find_phases(need->resident, need, 0, saves, false);
    find_phases(need->space, need, need->products + need->heaps + others * stack, saves, true);
    return rt_ok();
}

/* Folders of the control groups of a version, and name of the file with a group's limit. */
static const struct hierarchy {
    int version;
    const char *folder, *file;
} hierarchies[] = {{1, "/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                   {2, "/sys/fs/cgroup", "memory.max"},
                   {2, "/sys/fs/cgroup/unified", "memory.max"}};

/* Reads the limits of a group and of all groups above it. In a container, the folders of outer
 * groups are missing, and the root is the group of the container. Where there is no limit, version
 * 1 reports a number near 2^63, version 2 a word. */
static void read_group_limits(rt_memory_limits *limits, const char *root, const struct hierarchy *h,
                              const char *group)
{
    char path[RT_PATH_SIZE];
    for (int length = (int)strlen(group); length >= 0; length--) {
        double limit;
        if (length && group[length] && group[length] != '/')
            continue;
        const int size =
            snprintf(path, sizeof path, "%s%s%.*s/%s", root, h->folder, length, group, h->file);
        FILE *file = size < RT_PATH_SIZE ? fopen(path, "r") : NULL;
        const bool is_number = file && fscanf(file, "%lf", &limit) == 1;
        if (file)
            fclose(file);
        if (!is_number || limit >= fmin(limits->group, 0x1p62))
            continue;
        limits->group = limit;
        snprintf(limits->group_file, sizeof limits->group_file, "%s", path);
    }
}

/* Reads /proc/self/statm (proc(5)), in pages: address space, resident memory, data with stack. */
void rt_memory_limits_read(rt_memory_limits *limits, const char *root)
{
    const double page = (double)sysconf(_SC_PAGESIZE);
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * page;
    double pages[6] = {0};
    FILE *file = fopen("/proc/self/statm", "r");
    for (int i = 0; file && i < 6 && fscanf(file, "%lf", &pages[i]) == 1;)
        i++;
    if (file)
        fclose(file);
    *limits = (rt_memory_limits){.machine = machine > 0 ? machine : (double)INFINITY,
                                 .group = (double)INFINITY,
                                 .addresses = limit_of(RLIMIT_AS) - pages[0] * page,
                                 .data = limit_of(RLIMIT_DATA) - pages[5] * page,
                                 .resident = pages[1] * page,
                                 .addresses_used = pages[0] * page};
    /* groups of the process, in lines "5:cpu,memory:/a/b" or, in version 2, "0::/a/b" */
    char line[RT_PATH_SIZE];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    file = fopen(line, "r");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group)
            continue;
        line[strcspn(line, "\n")] = '\0';
        *group++ = '\0';
        const int version = !*controllers ? 2 : rt_list_has(controllers, "memory") ? 1 : 0;
        for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
            if (hierarchies[i].version == version)
                read_group_limits(limits, root, hierarchies + i, group);
    }
    if (file)
        fclose(file);
}

/* Returns the number of threads that OpenBLAS will start in this environment. */
static int openblas_threads(char **environment)
{
    static const char *const names[] = {"OPENBLAS_NUM_THREADS=", "GOTO_NUM_THREADS=",
                                        "OMP_NUM_THREADS="};
    const int processors = rt_processors(NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (char **entry = environment; *entry; entry++) {
            const size_t length = strlen(names[i]);
            const bool is_set = !strncmp(*entry, names[i], length);
            const long threads = is_set ? strtol(*entry + length, NULL, 10) : 0;
            if (threads > 0)
                return threads < processors ? (int)threads : processors;
        }
    return processors;
}

rt_status rt_address_space_check(char **environment)
{
    const int threads = environment ? openblas_threads(environment) : 1;
    const double buffers = threads * (double)RT_OPENBLAS_BUFFER;
    const double needed = buffers + (environment ? threads * usual_stack : 0);
    rt_memory_limits limits;
    rt_memory_limits_read(&limits, "");
    const double left = fmax(limits.addresses, 0);
    if (needed <= left)
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "the program needs about %.2f GB of address space (buffers of OpenBLAS %.2f); "
                    "the limit (ulimit -v) leaves %.2f GB%s",
                    needed / giga, buffers / giga, left / giga,
                    threads > 1 ? "; OPENBLAS_NUM_THREADS=1 in the environment makes it less" : "");
}

/* Returns the largest need of a use beyond the memory of the process, in bytes, and its phase. */
static double largest_need(const double *at, rt_memory_use use, double freed,
                           rt_memory_phase *phase)
{
    const int first = use == RT_USE_EVALUATE    ? RT_PHASE_USED
                      : use == RT_USE_DISTANCES ? RT_PHASE_DISTANCES
                                                : RT_PHASE_STEP;
    const int last = first != RT_PHASE_STEP ? first
                     : use == RT_USE_RESUME ? RT_PHASE_RESUME
                                            : RT_PHASE_SAVE;
    double most = at[RT_PHASE_MODEL];
    *phase = RT_PHASE_MODEL;
    for (int i = first; i <= last && use != RT_USE_MODEL; i++)
        if (at[i] - freed > most) {
            most = at[i] - freed;
            *phase = (rt_memory_phase)i;
        }
    return most;
}

/* Formats the parts of a need in gigabytes: "parameters and moments 1.6, 6 blocks of gradients 3.2,
 * activations 70.2". */
static void format_parts(char *text, size_t size, const rt_memory_need *r, rt_memory_use use,
                         rt_memory_phase phase)
{
    const bool alone = use >= RT_USE_EVALUATE;
    const size_t *bytes = r->reserved.bytes;
    const double parameters =
        (double)bytes[RT_FOR_VALUES] + (double)(alone ? r->to_use : bytes[RT_FOR_ROUNDED]);
    const double gradients = (double)bytes[RT_FOR_GRADIENTS] + (double)bytes[RT_FOR_RECEIVED];
    const double graphs = r->graphs * (double)r->training.touched;
    const double step = r->resident[RT_PHASE_STEP];
    if (alone)
        snprintf(text, size, "parameters %.1f, activations %.1f%s", parameters / giga,
                 use == RT_USE_MODEL ? 0 : r->graphs * (double)r->evaluation.touched / giga,
                 use == RT_USE_DISTANCES
                     ? RT_PRINTED(40, ", weights of attention %.1f", (double)r->weights / giga)
                     : "");
    else if (phase == RT_PHASE_RESUME)
        snprintf(text, size, "to read its checkpoint; a step %.1f", step / giga);
    else
        snprintf(text, size,
                 "parameters and moments %.1f, %d block%s of gradients %.1f, activations %.1f%s",
                 (parameters + (double)bytes[RT_FOR_STATES]) / giga, r->blocks,
                 r->blocks > 1 ? "s" : "", gradients / giga, graphs / giga,
                 phase == RT_PHASE_SAVE ? ", and a checkpoint that is being written" : "");
}

rt_status rt_memory_check(rt_memory_need *need, const rt_config *config, const rt_data *data,
                          rt_world *world, rt_memory_use use, double freed)
{
    char parts[160], group[RT_PATH_SIZE + 32];
    const int processes = rt_world_on_host(world, false);
    rt_memory_phase phase, ignored;
    rt_memory_limits limits;
    const rt_status status = rt_memory_estimate(need, config, data, world, use);
    if (status.code == RT_ARGUMENT || status.code == RT_MEMORY)
        return rt_error(RT_CONFIG, "%s: the model is too large: %s", config->file, status.message);
    if (status.code == RT_SHAPE)
        return rt_error(RT_CONFIG,
                        "%s: a step is too large: %s; a smaller data.length, vocabulary, or "
                        "train.batch_size / train.shards makes it smaller",
                        config->file, status.message);
    RT_TRY(status);
    rt_memory_limits_read(&limits, "");
    const double space = largest_need(need->space, use, freed, &ignored);
    const double resident = limits.resident + largest_need(need->resident, use, freed, &phase);
    const double machine = limits.machine / processes, shared = limits.group / processes;
    const bool is_data = space <= limits.addresses; /* its limit is the one that is left */
    const double needed = is_data ? space - need->heaps : space;
    const double left = is_data ? limits.data : limits.addresses;
    format_parts(parts, sizeof parts, need, use, phase);
    snprintf(group, sizeof group, "the control group (%s)", limits.group_file);
    if (resident > machine || resident > shared)
        return rt_error(RT_CONFIG,
                        "%s: the run needs about %.2f GB of memory (%s); %s has %.2f GB%s",
                        config->file, resident / giga, parts,
                        resident > machine ? "this machine" : group,
                        (resident > machine ? machine : shared) / giga,
                        processes > 1 ? " for each process" : "");
    if (needed > left)
        return rt_error(RT_CONFIG,
                        "%s: the run needs about %.2f GB of %s (buffers of OpenBLAS %.2f); the "
                        "limit (%s) leaves %.2f GB",
                        config->file, needed / giga, is_data ? "data" : "address space",
                        need->products / giga, is_data ? "ulimit -d" : "ulimit -v",
                        fmax(left, 0) / giga);
    return rt_ok();
}
