#include "io/huggingface/sines.h"

#include "core/memory.h"
#include "io/huggingface/folder.h"
#include "ops/ops.h"
#include "util/number.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static double sine_at(const rt_sine_table *t, int m, int i)
{
    return t->values[(size_t)m * 2 * (size_t)t->pairs + (size_t)i];
}

static double cosine_at(const rt_sine_table *t, int m, int i)
{
    return sine_at(t, m, t->pairs + i);
}

/* Returns a bound of the relative rounding error. F64 is assumed to be converted from floats. */
static double rounding_of(rt_dtype dtype)
{
    switch (dtype) {
    case RT_DTYPE_BF16:
        return 1.01 / 256;
    case RT_DTYPE_F16:
        return 1.01 / 2048;
    default:
        return 1e-7;
    }
}

static bool is_rounded(const rt_sine_table *t, double stored, double exact, double slack)
{
    /* numbers below the smallest normal one of the dtype are rounded to a fixed step */
    const double step = t->dtype == RT_DTYPE_F16 ? ldexp(1, -24) : 1e-30;
    return fabs(stored - exact) <= rounding_of(t->dtype) * fabs(exact) + step + slack;
}

static bool is_narrow(const rt_sine_table *t)
{
    return t->dtype == RT_DTYPE_BF16 || t->dtype == RT_DTYPE_F16;
}

bool rt_sine_table_is_of(const rt_sine_table *t, int count, const double *theta)
{
    /* radians per position; angles of narrow tables were often computed as floats */
    const double slack = is_narrow(t) ? 2e-7 : 1e-15;
    for (int i = 0; i < count; i++)
        for (int m = 0; m < t->rows; m++)
            if (!is_rounded(t, sine_at(t, m, i), sin(m * theta[i]), m * slack) ||
                !is_rounded(t, cosine_at(t, m, i), cos(m * theta[i]), m * slack))
                return false;
    return true;
}

static double angle_at(const rt_sine_table *t, int m, int i)
{
    return atan2(sine_at(t, m, i), cosine_at(t, m, i));
}

/* Returns the angle of row m that is nearest to m theta. */
static double unwrapped(const rt_sine_table *t, int m, int i, double theta)
{
    const double angle = angle_at(t, m, i);
    return angle + 2 * pi * round((m * theta - angle) / (2 * pi));
}

/* Computes theta of a pair. Row 1 has no whole turns, and the estimate from each row gives those of
 * the next. A line through all angles then averages out their rounding. */
static double theta_of_pair(const rt_sine_table *t, int i)
{
    double theta = angle_at(t, 1, i), product = 0, squares = 0;
    if (theta < -pi / 2)
        theta += 2 * pi;
    for (int m = 2; m < t->rows; m++)
        theta = unwrapped(t, m, i, theta) / m;
    for (int m = 1; m < t->rows; m++) {
        product += m * unwrapped(t, m, i, theta);
        squares += (double)m * m;
    }
    return product / squares;
}

/* Returns whether theta of a table is close to a geometric theta. This accepts tables that were not
 * made by rounding exact values. */
static bool is_near(const double *found, const double *theta, int rotated)
{
    for (int i = 0; i < rotated; i++)
        if (!(fabs(found[i] / theta[i] - 1) <= 3e-7))
            return false;
    return true;
}

/* Returns 10000, or the base with the fewest digits that fits; 0 if none does. */
static double find_base(const rt_sine_table *t, const double *found, double *theta)
{
    const int rotated = t->rotated;
    const int most_digits = is_narrow(t) ? 3 : 9;
    const double base = rotated > 1 && found[rotated - 1] > 0
                            ? pow(found[rotated - 1], -(double)rotated / (rotated - 1))
                            : 0;
    for (int near = 0; near < 2; near++)
        for (int digits = 0; digits <= most_digits; digits++) {
            double rounder = 10000;
            const char *text = RT_PRINTED(RT_NUMBER_SIZE, "%.*e", digits - 1, base);
            if (digits && !(isfinite(base) && rt_number_parse(text, &rounder) && rounder > 1))
                continue;
            rt_theta_geometric(theta, rotated, rounder);
            if (rt_sine_table_is_of(t, rotated, theta) || (near && is_near(found, theta, rotated)))
                return rounder;
        }
    return 0;
}

rt_status rt_sine_table_theta(rt_sine_table *t, const char *name, double *theta)
{
    const double tolerance = fmax(4 * rounding_of(t->dtype), 1e-3);
    for (int i = 0; i < t->pairs; i++)
        theta[i] = t->rows > 1 ? theta_of_pair(t, i) : pow(10000, -(double)i / t->pairs);
    for (int m = 0; m < t->rows; m++)
        for (int i = 0; i < t->pairs; i++) {
            const double off = fmax(fabs(sine_at(t, m, i) - sin(m * theta[i])),
                                    fabs(cosine_at(t, m, i) - cos(m * theta[i])));
            if (!(off <= tolerance))
                return rt_error(RT_CHECKPOINT,
                                "%s is not a table of sines and cosines: position %d, pair %d",
                                name, m, i);
        }
    t->rotated = t->pairs;
    while (t->rotated && fabs(theta[t->rotated - 1]) < 1e-12)
        theta[--t->rotated] = 0;
    RT_OWNED double *geometric = rt_alloc((size_t)t->pairs, sizeof *geometric);
    RT_TRY(rt_allocated(geometric, "theta"));
    t->base = find_base(t, theta, geometric);
    for (int i = 0; i < t->rotated && t->base > 0; i++)
        theta[i] = geometric[i];
    return rt_ok();
}

static rt_status read_table(const rt_huggingface *there, rt_sine_table *table, double **values_new)
{
    const rt_safetensor *t = rt_huggingface_tensor(there, RT_HF_TABLE);
    const int size = 2 * table->pairs;
    char shape[RT_SHAPE_OF_FILE_SIZE];
    if (t->axes != 2 || t->shape[0] != (uint64_t)table->rows || t->shape[1] != (uint64_t)size)
        return rt_error(RT_CHECKPOINT,
                        "%s: %s is %s; max_position_embeddings and the heads' size make it (%d, "
                        "%d)",
                        t->file->name, t->name, rt_safetensor_shape(t, shape), table->rows, size);
    table->dtype = t->dtype;
    table->values = *values_new = rt_alloc_unset((size_t)t->count, sizeof *table->values);
    RT_TRY(rt_allocated(table->values, "a table of sines"));
    return rt_safetensors_doubles(t, 0, (size_t)t->count, table->values);
}

/* Prefers rotor_theta if it makes this table: it is more precise and may have more values.
 * Otherwise uses the base that made the table or, if none did, learns the theta of the table. */
rt_status rt_sine_table_resolve(rt_huggingface *there)
{
    const rt_folder_theta *written = &there->files->written;
    rt_transformer_options *o = &there->options;
    rt_sine_table table = {.rows = there->max_positions, .pairs = rt_transformer_head_dim(o) / 2};
    const bool given = rt_huggingface_tensor(there, RT_HF_TABLE) != NULL;
    RT_OWNED double *theta = rt_alloc((size_t)table.pairs, sizeof *theta);
    RT_OWNED double *values = NULL;
    RT_TRY(rt_allocated(theta, "theta"));
    if (given)
        RT_TRY(read_table(there, &table, &values));
    if (written->own) {
        rt_folder_theta_mean(written, o, RT_THETA_OF_ALL, table.pairs, theta);
        rt_huggingface_choose_theta(there,
                                    !given || rt_sine_table_is_of(&table, table.pairs, theta),
                                    RT_HF_TABLE, "the table");
    }
    if (!given || there->theta)
        return rt_ok();
    RT_TRY(rt_sine_table_theta(&table, RT_HF_TABLE, theta));
    o->position.fraction = (double)table.rotated / table.pairs;
    o->theta.learn = !(table.base > 0);
    if (table.base > 0)
        o->position.frequencies.base = table.base;
    if (o->theta.learn) {
        o->theta.form = RT_THETA_LOG;
        for (int i = 0; i < table.rotated; i++)
            if (!(theta[i] > 0))
                o->theta.form = RT_THETA_RAW;
        there->theta = theta;
        theta = NULL;
    }
    return rt_ok();
}

void rt_sine_table_fill(const void *context, size_t first, size_t count, float *values)
{
    const rt_folder_theta *s = context;
    const size_t pairs = (size_t)s->pairs;
    for (size_t n = 0; n < count; n++) {
        const size_t column = (first + n) % (2 * pairs);
        const double position = (double)((first + n) / (2 * pairs));
        const double angle = position * s->mean[column % pairs];
        values[n] = (float)(column < pairs ? sin(angle) : cos(angle));
    }
}

/* Returns at least the default of transformers, for texts longer than those of training. */
int rt_sine_table_rows(const rt_huggingface_export *export)
{
    enum { INITIAL = 1536 };
    const int rows = export->positions > INITIAL ? export->positions : INITIAL;
    return export->table_rows ? export->table_rows : rows;
}
