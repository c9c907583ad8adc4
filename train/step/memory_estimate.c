#include "train/step/memory_estimate.h"

#include "io/checkpoint/image.h"
#include "ops/engine.h"
#include "train/step/private.h"

#include <limits.h>
#include <math.h>
#include <sys/resource.h>

/* ---- labels ---- */

/* Number of tokens that are drawn to count labels, and limit of the length of a drawn sequence. */
enum { SAMPLED = 1 << 14 };

static void draw_one(rt_labelled_batch *row, const rt_config *c, const rt_data *data,
                     uint32_t number)
{
    if (rt_data_is_for_evaluation(data))
        rt_draw_evaluation(row, data, number);
    else
        rt_draw_training(row, data, c->run.seed, 0, number);
}

/* Estimates the mean and the variance of the number of labels of a sequence. */
static rt_status sample_labels(const rt_config *c, const rt_data *data, int length, double *mean,
                               double *variance)
{
    const int tokens = length < SAMPLED ? length : SAMPLED;
    const int room = SAMPLED / tokens, batch = c->train.batch_size;
    const int count = room < batch ? room : batch;
    double sum = 0, squares = 0;
    rt_labelled_batch row;
    rt_status status = rt_labelled_batch_new(&row, 1, tokens, NULL);
    for (int i = 0; i < count && !status.code; i++) {
        draw_one(&row, c, data, (uint32_t)i);
        sum += row.labels;
        squares += (double)row.labels * row.labels;
    }
    rt_labelled_batch_free(&row);
    *mean = sum / count * length / tokens;
    *variance = (squares / count - sum / count * sum / count) * length / tokens;
    return status.code ? status : rt_data_status(data);
}

rt_status rt_most_labels(int *labels, const rt_config *c, const rt_data *data, int rows, int length)
{
    const double tokens = (double)rows * length, deviations = 3;
    double mean = 0, variance = 0;
    *labels = rows;
    if (rt_data_target(data) == RT_TARGET_SEQUENCE)
        return rt_ok();
    if (tokens > INT_MAX)
        return rt_error(RT_SHAPE, "%d sequences of %d tokens are more than %d tokens", rows, length,
                        INT_MAX);
    *labels = (int)tokens;
    if (rt_data_target(data) == RT_TARGET_TOKENS) /* nearly all, in a batch of the longest texts */
        return rt_ok();
    rt_status status = sample_labels(c, data, length, &mean, &variance);
    const double most = ceil(rows * mean + deviations * sqrt(rows * fmax(variance, 0)));
    *labels = (int)fmax(1, fmin(most, tokens));
    return status;
}

/* ---- passes ---- */

/* Runs forward on a batch, and backward if `records`, in a dry graph. */
static rt_status dry_pass(rt_trainer *t, rt_graph *g, rt_labelled_batch *b, bool records)
{
    const rt_config *c = t->config;
    b->batch.length = rt_data_longest(t->data, b->length);
    rt_status status = rt_most_labels(&b->labels, c, t->data, b->batch.rows, b->batch.length);
    if (status.code)
        return status;
    rt_graph_clear(g);
    rt_graph_record(g, records);
    if (records)
        rt_graph_set_random(g, c->run.seed, 0, 0);
    rt_tensor *loss = rt_batch_loss(t->models[0], g, b, 1, NULL);
    return records ? rt_graph_backward(g, loss) : rt_graph_status(g);
}

/* Shards of this process have at most two sizes, each of which fills the chunks of an arena
 * differently. */
static rt_status dry_step(rt_trainer *t, rt_graph *g)
{
    rt_status status = rt_ok();
    int before = 0;
    for (int i = t->first_shard; i < t->end_shard && !status.code; i++) {
        rt_labelled_batch *b = &t->shard[i].sequences;
        if (b->batch.rows != before)
            status = dry_pass(t, g, b, true);
        before = b->batch.rows;
    }
    return status;
}

/* Evaluates at all lengths of a run; *batches is the size of the largest batch. */
static rt_status dry_evaluations(rt_trainer *t, rt_graph *g, size_t *batches)
{
    const rt_config *c = t->config;
    const rt_lengths *lengths = &c->train.eval_lengths;
    rt_status status = rt_ok();
    for (int i = -1; i < lengths->count && !status.code; i++) {
        rt_account account = {{0}};
        rt_labelled_batch part;
        status = rt_labelled_batch_new(&part, c->train.batch_size / t->shards,
                                       i < 0 ? c->data.length : lengths->at[i], &account);
        if (!status.code)
            status = dry_pass(t, g, &part, false);
        rt_labelled_batch_free(&part);
        const size_t bytes = account.bytes[RT_FOR_BATCHES];
        *batches = bytes > *batches ? bytes : *batches;
    }
    return status;
}

/* ---- the run ---- */

static rt_status take_passes(rt_dry_run *run, rt_trainer *t)
{
    rt_graph *steps = rt_graph_new_dry(), *alone = rt_graph_new_dry();
    size_t batches = 0;
    rt_status status = steps && alone ? rt_ok() : rt_out_of_memory("a graph");
    if (!status.code) {
        rt_graph_set_recomputes(steps, t->config->train.recompute == RT_RECOMPUTE_LAYERS);
        status = dry_step(t, steps);
        run->step = rt_graph_needs(steps);
    }
    if (!status.code) {
        status = dry_evaluations(t, steps, &batches);
        run->training = rt_graph_needs(steps);
    }
    if (!status.code) {
        status = dry_evaluations(t, alone, &batches);
        run->evaluation = rt_graph_needs(alone);
    }
    run->evaluated = (size_t)run->places * batches;
    rt_graph_free(steps);
    rt_graph_free(alone);
    return status;
}

/* Counts the numbers of this process that have no such state, whose memory is never touched. */
static size_t numbers_without(const rt_trainer *t, int state)
{
    const bool has_all = rt_world_rank(t->world) == 0;
    const int first = has_all ? 0 : rt_shares_first(&t->shares);
    const int end = has_all ? t->stretch_count : first + rt_shares_count(&t->shares);
    size_t numbers = 0;
    for (int i = first; i < end; i++)
        if (state >=
            rt_states_of(t->rule, t->state.model->parameters.list[t->stretches[i].parameter]))
            numbers += t->stretches[i].size;
    return numbers;
}

static void take_bytes(rt_dry_run *run, const rt_trainer *t)
{
    const rt_parameters *p = &t->state.model->parameters;
    run->blocks = t->blocks;
    run->to_use = t->config->run.math == RT_MATH_BF16 ? p->block_size * sizeof(uint16_t) : 0;
    run->parameters = p->count;
    for (int i = 0; i < p->count; i++) {
        const size_t bytes = rt_size(&p->list[i]->tensor) * sizeof(real);
        const size_t chunk = rt_image_chunk_bytes(rt_tensor_shape(&p->list[i]->tensor));
        run->largest = bytes > run->largest ? bytes : run->largest;
        run->chunk = chunk > run->chunk ? chunk : run->chunk;
    }
    for (int i = 0; i < t->rule->state_count; i++)
        run->reserved.bytes[RT_FOR_STATES] -= numbers_without(t, i) * sizeof(real);
}

rt_status rt_dry_run_training(rt_dry_run *run, const rt_config *config, const rt_data *data,
                              rt_world *world, bool passes)
{
    rt_trainer *t;
    *run = (rt_dry_run){.threads = rt_threads_of(config, world),
                        .places = rt_trainer_places(config, world)};
    const rt_trainer_options options = {.world = world, .account = &run->reserved, .threads = 1};
    rt_status status = rt_trainer_new_alone(&t, config, data, &options);
    if (!status.code && passes)
        status = take_passes(run, t);
    if (!status.code)
        take_bytes(run, t);
    rt_trainer_end(t);
    return status;
}

/* ---- bytes of each phase ---- */

/* Bytes of a checkpoint beside the numbers, for each tensor and for the file: measured. */
static const double bytes_of_tensor = 2800, bytes_of_file = 1 << 20;

/* Address space that the C library reserves for the heap of a thread. */
static const double heap_of_thread = 64 << 20;

/* Stack of a thread without a limit. */
static const double usual_stack = 8 << 20;

static double stack_of_thread(void)
{
    struct rlimit limit;
    const bool known = !getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY;
    return known ? (double)limit.rlim_cur : usual_stack;
}

static rt_memory_bytes add_bytes(rt_memory_bytes a, rt_memory_bytes b)
{
    return (rt_memory_bytes){a.resident + b.resident, a.space + b.space};
}

static rt_memory_bytes same_bytes(double bytes)
{
    return (rt_memory_bytes){bytes, bytes};
}

static rt_memory_bytes max_bytes(rt_memory_bytes a, rt_memory_bytes b)
{
    return (rt_memory_bytes){fmax(a.resident, b.resident), fmax(a.space, b.space)};
}

/* Returns the bytes of the graphs of all places, with scratch memory of threads and engine. */
static rt_memory_bytes graph_bytes(const rt_dry_run *r, rt_graph_need of_one)
{
    const double threads = r->threads * ((double)of_one.part + (double)of_one.library);
    return (rt_memory_bytes){r->places * (double)of_one.touched + threads,
                             r->places * (double)of_one.space + threads};
}

static double bytes_for(const rt_dry_run *r, rt_purpose purpose)
{
    return (double)r->reserved.bytes[purpose];
}

/* Returns the bytes of a checkpoint with optimizer states, in a file or in memory. */
static double checkpoint_bytes(const rt_dry_run *r)
{
    return bytes_for(r, RT_FOR_VALUES) + bytes_for(r, RT_FOR_STATES) +
           3.0 * r->parameters * bytes_of_tensor + bytes_of_file;
}

/* Returns the bytes of a trainer without its graphs. */
static double trainer_bytes(const rt_dry_run *r)
{
    double bytes = (r->blocks - 1) * bytes_for(r, RT_FOR_TABLES);
    for (int i = 0; i < RT_PURPOSES; i++)
        bytes += bytes_for(r, (rt_purpose)i);
    return bytes;
}

/* Fills the phases of a training. A checkpoint is built in memory, written, and then read back into
 * memory and compared parameter by parameter, after the trainer has returned the working memory of
 * a step (rt_trainer_rest), but not its address space. */
static void find_training(rt_memory_need *need, rt_memory_bytes threads, bool saves)
{
    const rt_dry_run *r = &need->run;
    const rt_memory_bytes kept = add_bytes(same_bytes(trainer_bytes(r)), threads);
    const rt_memory_bytes trained = add_bytes(kept, graph_bytes(r, r->training));
    const double rested = bytes_for(r, RT_FOR_GRADIENTS) + r->places * (double)r->training.touched;
    const double written = saves ? checkpoint_bytes(r) + (double)r->largest + (double)r->chunk : 0;
    need->at[RT_PHASE_STEP] = add_bytes(kept, graph_bytes(r, r->step));
    need->at[RT_PHASE_EVALUATION] = add_bytes(trained, same_bytes((double)r->evaluated));
    need->at[RT_PHASE_SAVE] = add_bytes(trained, (rt_memory_bytes){written - rested, written});
}

/* Fills the uses of a checkpoint, of which every parameter is first read into a buffer and checked.
 * A resumed run holds the checkpoint in memory until the values and the states are read. A use of
 * the model lets a child process read it, which returns a list of the values
 * (io/checkpoint/image.h); then the process holds the list and the values. */
static void find_uses(rt_memory_need *need, rt_memory_bytes threads)
{
    const rt_dry_run *r = &need->run;
    const double file = checkpoint_bytes(r), values = bytes_for(r, RT_FOR_VALUES);
    const double states = bytes_for(r, RT_FOR_STATES), chunk = (double)r->chunk;
    const double tables = (double)r->places * bytes_for(r, RT_FOR_TABLES);
    const rt_memory_bytes made = add_bytes(threads, (rt_memory_bytes){tables, trainer_bytes(r)});
    const rt_memory_bytes loaded = add_bytes(made, (rt_memory_bytes){values, 0});
    const rt_memory_bytes listed = same_bytes(values + (double)r->largest);
    const rt_memory_bytes child = same_bytes(file + values + chunk);
    const rt_memory_bytes used = add_bytes(loaded, (rt_memory_bytes){(double)r->to_use, 0});
    need->model = max_bytes(add_bytes(loaded, (rt_memory_bytes){(double)r->largest, 0}), used);
    need->used =
        add_bytes(add_bytes(used, graph_bytes(r, r->evaluation)), same_bytes((double)r->evaluated));
    need->at[RT_PHASE_RESUME] =
        add_bytes(add_bytes(loaded, (rt_memory_bytes){fmax(states, (double)r->largest), 0}),
                  same_bytes(file + chunk));
    need->at[RT_PHASE_EXPORT] = max_bytes(child, add_bytes(loaded, listed));
    need->at[RT_PHASE_EVAL] = max_bytes(need->at[RT_PHASE_EXPORT], need->used);
}

rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_memory_use use)
{
    *need = (rt_memory_need){0};
    rt_status status = rt_dry_run_training(&need->run, config, data,
                                           use == RT_USE_MODEL ? NULL : world, use != RT_USE_MODEL);
    if (status.code)
        return status;
    const int others = need->run.threads - 1;
    need->products = need->run.threads * (double)RT_OPENBLAS_BUFFER;
    need->reserved = others * heap_of_thread;
    const rt_memory_bytes threads = {0,
                                     need->products + need->reserved + others * stack_of_thread()};
    find_training(need, threads, rt_world_rank(world) == 0);
    find_uses(need, threads);
    return status;
}
