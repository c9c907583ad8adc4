#include "train/step/memory_need.h"

#include "ops/engine.h"

#include <math.h>
#include <sys/resource.h>

/* What a checkpoint has for each tensor of a model beside its numbers, and in all: measured. */
static const double of_tensor = 2800, of_file = 1 << 20;

/* HDF5 writes and reads pieces of at most so many bytes, and copies each once. */
static const double largest_piece = 16 << 20;

/* What the C library reserves for the blocks of a thread. */
static const double heap_of_thread = 64 << 20;

/* Of a thread without a limit, or with one that would be unreasonable. */
static const double usual_stack = 8 << 20;

static double stack_of_thread(void)
{
    struct rlimit limit;
    const bool known = !getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur != RLIM_INFINITY;
    return known ? (double)limit.rlim_cur : usual_stack;
}

static rt_memory_bytes plus(rt_memory_bytes a, rt_memory_bytes b)
{
    return (rt_memory_bytes){a.resident + b.resident, a.space + b.space};
}

static rt_memory_bytes both(double bytes)
{
    return (rt_memory_bytes){bytes, bytes};
}

static rt_memory_bytes larger(rt_memory_bytes a, rt_memory_bytes b)
{
    return (rt_memory_bytes){fmax(a.resident, b.resident), fmax(a.space, b.space)};
}

/* The graphs of all places, with what threads and the engine on each take for them. */
static rt_memory_bytes graphs(const rt_dry_run *r, rt_graph_need of_one)
{
    const double threads = r->threads * ((double)of_one.part + (double)of_one.library);
    return (rt_memory_bytes){r->places * (double)of_one.touched + threads,
                             r->places * (double)of_one.space + threads};
}

/* A checkpoint with the moments of the optimiser, in a file or in memory. */
static double checkpoint_of(const rt_dry_run *r)
{
    return (double)r->values + (double)r->moments + 3.0 * r->parameters * of_tensor + of_file;
}

static double piece_of(const rt_dry_run *r)
{
    return fmin((double)r->largest, largest_piece);
}

/* What every trainer has. */
static double trainer_of(const rt_dry_run *r)
{
    return (double)r->values + (double)r->rounded + (double)r->moments + (double)r->gradients +
           (double)r->received + (double)r->batches + (double)r->rooms +
           (double)r->blocks * (double)r->tables;
}

/* What an evaluation alone touches. */
static double touched_to_evaluate(const rt_dry_run *r)
{
    return (double)r->values + (double)r->to_use + (double)r->places * (double)r->tables;
}

/* The phases of a training. A checkpoint is built in memory, for which the trainer has given back
 * what a step works in (rt_trainer_rest), but not its addresses. */
static void find_training(rt_memory_need *need, rt_memory_bytes threads, bool saves)
{
    const rt_dry_run *r = &need->run;
    const rt_memory_bytes kept = plus(both(trainer_of(r)), threads);
    const rt_memory_bytes trained = plus(kept, graphs(r, r->training));
    const double rested = (double)r->gradients + r->places * (double)r->training.touched;
    const double written = saves ? checkpoint_of(r) + 2 * piece_of(r) : 0;
    need->at[RT_PHASE_STEP] = plus(kept, graphs(r, r->step));
    need->at[RT_PHASE_EVALUATION] = plus(trained, both((double)r->evaluated));
    need->at[RT_PHASE_SAVE] = plus(trained, (rt_memory_bytes){written - rested, written});
}

/* Who goes on has its checkpoint in memory until all is taken from it. Who only uses the model has
 * a child read it, which finds a list of the values in the file (io/checkpoint/image.h); then
 * there are the list and the values. */
static void find_uses(rt_memory_need *need, rt_memory_bytes threads)
{
    const rt_dry_run *r = &need->run;
    const double file = checkpoint_of(r), values = (double)r->values;
    const rt_memory_bytes made = plus(threads, (rt_memory_bytes){0, trainer_of(r)});
    need->model = plus(made, (rt_memory_bytes){touched_to_evaluate(r), 0});
    need->used = plus(plus(need->model, graphs(r, r->evaluation)), both((double)r->evaluated));
    need->at[RT_PHASE_RESUME] = plus(plus(made, (rt_memory_bytes){values + (double)r->moments, 0}),
                                     both(file + 2 * piece_of(r)));
    need->at[RT_PHASE_EXPORT] =
        larger(both(file + values + 2 * piece_of(r)), plus(need->model, both(values)));
    need->at[RT_PHASE_EVAL] = larger(need->at[RT_PHASE_EXPORT], need->used);
}

rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *config, const rt_data *data,
                             rt_world *world, rt_memory_use use)
{
    *need = (rt_memory_need){0};
    rt_status status = use == RT_USE_MODEL ? rt_dry_run_model(&need->run, config, data)
                                           : rt_dry_run_training(&need->run, config, data, world);
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
