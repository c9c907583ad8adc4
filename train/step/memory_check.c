#include "train/step/memory_check.h"

#include "train/step/batch_loss.h"
#include "train/step/shares.h"
#include "train/step/trainer.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Numbers that forward and backward keep for each token, counted in runs: of width C and of the
 * feed-forward width, in every layer and once more, of width C in every layer for dropout, and of
 * V for each labelled one. */
static const double of_width = 14, of_ffn_width = 2, of_dropout = 5, of_vocab = 3;
static const double once_of_width = 8, once_of_ffn_width = 2;
static const double of_gate = 1; /* of the feed-forward width in every layer, if it has a gate */

/* The buffer of a thread in OpenBLAS. One that gets none asks for it again, for ever. */
static const double blas_buffer = 128 << 20;

/* Blocks of gradients that a process gets from others: its share of each subtree. */
static double received(int shards, const rt_world *world)
{
    const int size = rt_world_size(world);
    int subtrees = 0;
    for (int i = 0; i < size; i++) {
        rt_subtrees own = {.shards = shards};
        rt_summation sums[RT_MOST_SUBTREES];
        if (i == rt_world_rank(world))
            continue;
        for (int k = rt_share_start(shards, size, i); k < rt_share_start(shards, size, i + 1); k++)
            rt_subtrees_take(&own, rt_subtree_of_shard(k, 0), sums);
        subtrees += own.count;
    }
    return (double)subtrees / size;
}

rt_status rt_memory_estimate(rt_memory_need *need, const rt_config *c, const rt_data *data,
                             const rt_world *world)
{
    const rt_roformer_options o = rt_model_options(c, data);
    const int shards = rt_shard_count(c), workers = rt_trainer_workers(c, world);
    const int rank = rt_world_rank(world), first = rt_first_shard_of(c, world, rank);
    const int end = rt_first_shard_of(c, world, rank + 1);
    const double tokens = (double)((c->train.batch_size + shards - 1) / shards) * c->data.length;
    const double ffn = o.ffn_dim ? o.ffn_dim : 4.0 * o.dim;
    size_t parameters;
    rt_status status = rt_roformer_size(&o, &parameters);
    if (status.code)
        return status;
    /* Process 0 has all moments, for its checkpoints. */
    const double moments = rank ? 2.0 / rt_world_size(world) : 2;
    const double rounded = c->run.math == RT_MATH_BF16 ? sizeof(uint16_t) : 0;
    need->values = (double)parameters * (sizeof(real) + rounded);
    need->parameters = need->values + moments * (double)parameters * sizeof(real);
    need->blocks =
        rt_summation_blocks(shards, first, end, rt_summation_group(end - first, workers));
    need->gradients = (double)parameters * need->blocks * sizeof(real);
    if (rt_world_size(world) > 1)
        need->gradients += received(shards, world) * (double)parameters * sizeof(real);
    const double gate = o.ffn == RT_FFN_PLAIN ? 0 : of_gate;
    const double width = of_width + (o.dropout > 0 ? of_dropout : 0);
    need->activations = workers * tokens * sizeof(real) *
                        (o.layers * (width * o.dim + (of_ffn_width + gate) * ffn) +
                         once_of_width * o.dim + once_of_ffn_width * ffn + of_vocab * o.vocab);
    need->products = workers * blas_buffer;
    return rt_ok();
}

/* Bytes of address space that the limit of the process leaves; infinite without one. */
static double space_left(void)
{
    struct rlimit limit;
    long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return (double)INFINITY;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm && fscanf(statm, "%ld", &pages) != 1)
        pages = 0;
    if (statm)
        fclose(statm);
    const double left = (double)limit.rlim_cur - (double)pages * (double)sysconf(_SC_PAGESIZE);
    return left > 0 ? left : 0;
}

static rt_status check_space(const char *what, double bytes, double of_blas)
{
    const double giga = 1e9, left = space_left();
    if (bytes <= left)
        return rt_ok();
    return rt_error(RT_CONFIG,
                    "%s needs about %.2f GB of address space (buffers of OpenBLAS %.2f); the limit "
                    "(ulimit -v) leaves %.2f GB",
                    what, bytes / giga, of_blas / giga, left / giga);
}

rt_status rt_address_space_check(void)
{
    return check_space("the program", blas_buffer, blas_buffer);
}

/* What is mapped already, and what the run adds. */
static rt_status check_limit(const rt_config *config, const rt_memory_need *need)
{
    char what[RT_PATH_SIZE + 16];
    snprintf(what, sizeof what, "%s: the run", config->file);
    return check_space(what,
                       need->parameters + need->gradients + need->activations + need->products,
                       need->products);
}

/* "parameters and moments 1.6, 6 blocks of gradients 3.2, activations 70.2", in gigabytes. */
static void tell_parts(char *text, size_t size, const rt_memory_need *need, rt_memory_use use)
{
    const double giga = 1e9;
    if (use == RT_USE_TRAIN)
        snprintf(text, size,
                 "parameters and moments %.1f, %d blocks of gradients %.1f, activations %.1f",
                 need->parameters / giga, need->blocks, need->gradients / giga,
                 need->activations / giga);
    else
        snprintf(text, size, "parameters %.1f, activations %.1f", need->values / giga,
                 need->activations / giga);
}

rt_status rt_memory_check(const rt_config *config, const rt_data *data, const rt_world *world,
                          rt_memory_use use)
{
    const double giga = 1e9;
    const double there =
        (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / rt_world_on_host(world);
    rt_memory_need need;
    char parts[128];
    rt_status status = rt_memory_estimate(&need, config, data, world);
    if (status.code)
        return rt_error(RT_CONFIG, "%s: the model is too large: %s", config->file, status.message);
    if (use == RT_USE_MODEL)
        need.activations = 0;
    const double all =
        need.activations + (use == RT_USE_TRAIN ? need.parameters + need.gradients : need.values);
    if (there <= 0 || all <= there)
        return check_limit(config, &need);
    tell_parts(parts, sizeof parts, &need, use);
    return rt_error(RT_CONFIG,
                    "%s: the run needs about %.1f GB of memory (%s); this machine has %.1f GB%s",
                    config->file, all / giga, parts, there / giga,
                    rt_world_on_host(world) > 1 ? " for each process" : "");
}
