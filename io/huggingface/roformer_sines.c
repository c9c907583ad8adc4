/* The table of sines of a RoFormer's folder: read, for the theta that it was made of, unless
 * rotor_theta has them, and written. */

#include "io/huggingface/roformer.h"

#include "core/memory.h"
#include "io/huggingface/sine_table.h"

#include <math.h>

/* ---- reading ---- */

static rt_status read_table(const rt_huggingface *there, rt_sine_table *table)
{
    const rt_weight w = rt_huggingface_tensor(there, RT_HF_TABLE);
    const rt_transformer_options *o = &there->options;
    const int size = rt_transformer_head_dim(o);
    char shape[RT_SHAPE_OF_FILE_SIZE];
    *table = (rt_sine_table){.rows = there->max_positions, .pairs = size / 2};
    if (w.tensor->axes != 2 || w.tensor->shape[0] != (uint64_t)table->rows ||
        w.tensor->shape[1] != (uint64_t)size)
        return rt_error(RT_CHECKPOINT,
                        "%s: %s is %s; max_position_embeddings and the heads' size make it (%d, "
                        "%d)",
                        rt_safetensors_name(w.file), w.tensor->name,
                        rt_safetensor_shape(w.tensor, shape), table->rows, size);
    table->dtype = w.tensor->dtype;
    table->values = rt_alloc_unset((size_t)w.tensor->count, sizeof *table->values);
    if (!table->values)
        return rt_out_of_memory("a table of sines");
    return rt_safetensors_doubles(w.file, w.tensor, 0, (size_t)w.tensor->count, table->values);
}

/* Takes what rotor has written if it makes this table: its numbers say more than the table, and it
 * can have more of them. */
static rt_status take_written(rt_huggingface *there, const rt_sine_table *table)
{
    const rt_written_theta *t = &there->files->written;
    double *mean = rt_alloc((size_t)table->pairs, sizeof *mean);
    if (!mean)
        return rt_out_of_memory("theta");
    rt_mean_theta(t->values, RT_SHAPE_OF(t->layers, t->rows, t->pairs), table->pairs, mean);
    if (!table->values || rt_sine_table_is_of(table, mean))
        rt_huggingface_take_theta(there);
    else
        rt_writer_add(&there->files->warnings, RT_HF_CONFIG
                      ": " RT_HF_THETA " does not match " RT_HF_TABLE "; rotor uses the table\n");
    rt_free(mean);
    return rt_ok();
}

static rt_status take_table(rt_huggingface *there, const rt_sine_table *table)
{
    rt_transformer_options *o = &there->options;
    rt_table_theta found;
    double *theta = rt_alloc((size_t)table->pairs, sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    rt_status status = rt_sine_table_theta(table, RT_HF_TABLE, theta, &found);
    if (!status.code) {
        o->position.fraction = (double)found.rotated / table->pairs;
        o->theta.learn = !(found.base > 0);
        if (found.base > 0)
            o->position.frequencies.base = found.base;
    }
    if (status.code || !o->theta.learn) {
        rt_free(theta);
        return status;
    }
    o->theta.form = RT_THETA_LOG;
    for (int i = 0; i < found.rotated; i++)
        if (!(theta[i] > 0))
            o->theta.form = RT_THETA_RAW;
    there->theta = theta;
    return rt_ok();
}

rt_status rt_roformer_settle_theta(rt_huggingface *there)
{
    const rt_transformer_options *o = &there->options;
    rt_sine_table table = {.pairs = rt_transformer_head_dim(o) / 2};
    rt_status status = rt_ok();
    if (rt_huggingface_tensor(there, RT_HF_TABLE).tensor)
        status = read_table(there, &table);
    if (!status.code && there->files->written.values)
        status = take_written(there, &table);
    if (!status.code && !there->theta && table.values)
        status = take_table(there, &table);
    rt_free(table.values);
    return status;
}

/* ---- writing ---- */

/* The table of sines, (positions, 2 pairs). */
static void fill_sines(const void *context, size_t first, size_t count, float *values)
{
    const rt_export_theta *s = context;
    const size_t pairs = (size_t)s->pairs;
    for (size_t n = 0; n < count; n++) {
        const size_t column = (first + n) % (2 * pairs);
        const double position = (double)((first + n) / (2 * pairs));
        const double angle = position * s->mean[column % pairs];
        values[n] = (float)(column < pairs ? sin(angle) : cos(angle));
    }
}

void rt_roformer_make_table(rt_safetensors_entry *e, const rt_beside *from)
{
    e->axes = 2;
    e->shape[0] = from->positions;
    e->shape[1] = 2 * from->theta->pairs;
    e->fill = fill_sines;
    e->context = from->theta;
}
