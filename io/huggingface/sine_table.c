#include "io/huggingface/sine_table.h"

#include "core/memory.h"
#include "ops/ops.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>

static const double pi = 3.14159265358979323846;

static double sine_at(const rt_sine_table *t, int m, int i)
{
    return t->values[(size_t)m * 2 * (size_t)t->pairs + (size_t)i];
}

static double cosine_at(const rt_sine_table *t, int m, int i)
{
    return sine_at(t, m, t->pairs + i);
}

/* The relative error that rounding makes at most, with something to spare. A table of F64 is one
 * of floats that somebody has converted. */
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

/* Returns the step to which numbers below the smallest normal number of a dtype are rounded. */
static double smallest_step(rt_dtype dtype)
{
    return dtype == RT_DTYPE_F16 ? ldexp(1, -24) : 1e-30;
}

/* ---- whether theta makes the table ---- */

static bool is_rounded(const rt_sine_table *t, double stored, double exact, double slack)
{
    const double allowed = rounding_of(t->dtype) * fabs(exact) + smallest_step(t->dtype) + slack;
    return fabs(stored - exact) <= allowed;
}

static bool is_narrow(const rt_sine_table *t)
{
    return t->dtype == RT_DTYPE_BF16 || t->dtype == RT_DTYPE_F16;
}

/* A narrow table is often rounded from one whose angles were computed as floats. */
static bool pair_is_of(const rt_sine_table *t, int i, double theta)
{
    const double slack = is_narrow(t) ? 2e-7 : 1e-15; /* radians a position */
    for (int m = 0; m < t->rows; m++)
        if (!is_rounded(t, sine_at(t, m, i), sin(m * theta), m * slack) ||
            !is_rounded(t, cosine_at(t, m, i), cos(m * theta), m * slack))
            return false;
    return true;
}

bool rt_sine_table_is_of(const rt_sine_table *table, const double *theta)
{
    for (int i = 0; i < table->pairs; i++)
        if (!pair_is_of(table, i, theta[i]))
            return false;
    return true;
}

/* ---- theta from the table ---- */

static double angle_at(const rt_sine_table *t, int m, int i)
{
    return atan2(sine_at(t, m, i), cosine_at(t, m, i));
}

/* The angle of row m that is nearest to m theta. */
static double unwrapped(const rt_sine_table *t, int m, int i, double theta)
{
    const double angle = angle_at(t, m, i);
    return angle + 2 * pi * round((m * theta - angle) / (2 * pi));
}

/* From the first row, which leaves no doubt of whole turns, to the last, each telling the turns of
 * the next; then the line through all angles, in which their rounding averages out. */
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

/* ---- a base ---- */

static bool is_geometric(const rt_sine_table *t, int rotated, double base, double *theta)
{
    rt_theta_geometric(theta, rotated, base);
    for (int i = 0; i < rotated; i++)
        if (!pair_is_of(t, i, theta[i]))
            return false;
    return true;
}

/* A table that was computed in another way than by rounding what is exact is still that of a base
 * if the theta that were read off it say so. */
static bool is_near(const double *found, const double *theta, int rotated)
{
    for (int i = 0; i < rotated; i++)
        if (!(fabs(found[i] / theta[i] - 1) <= 3e-7))
            return false;
    return true;
}

/* The base that the last pair tells, with so many digits; 0 if that is none. */
static double rounded_base(double base, int digits)
{
    char text[RT_NUMBER_SIZE];
    double rounder;
    snprintf(text, sizeof text, "%.*e", digits - 1, base);
    return isfinite(base) && rt_number_read(text, &rounder) && rounder > 1 ? rounder : 0;
}

/* 10000, or the roundest base that fits. */
static double find_base(const rt_sine_table *t, int rotated, const double *found, double *theta)
{
    const double ten_thousand = 10000;
    const int most_digits = is_narrow(t) ? 3 : 9;
    const double base = rotated > 1 && found[rotated - 1] > 0
                            ? pow(found[rotated - 1], -(double)rotated / (rotated - 1))
                            : 0;
    if (is_geometric(t, rotated, ten_thousand, theta))
        return ten_thousand;
    for (int near = 0; near < 2; near++)
        for (int digits = 0; digits <= most_digits; digits++) {
            const double rounder = digits ? rounded_base(base, digits) : ten_thousand;
            const bool fits = rounder > 1 && is_geometric(t, rotated, rounder, theta);
            if (fits || (near && rounder > 1 && is_near(found, theta, rotated)))
                return rounder;
        }
    return 0;
}

static rt_status check_rotations(const rt_sine_table *t, const char *name, const double *theta)
{
    const double tolerance = fmax(4 * rounding_of(t->dtype), 1e-3);
    for (int m = 0; m < t->rows; m++)
        for (int i = 0; i < t->pairs; i++) {
            const double off = fmax(fabs(sine_at(t, m, i) - sin(m * theta[i])),
                                    fabs(cosine_at(t, m, i) - cos(m * theta[i])));
            if (!(off <= tolerance))
                return rt_error(RT_CHECKPOINT,
                                "%s is not a table of sines and cosines: position %d, pair %d",
                                name, m, i);
        }
    return rt_ok();
}

rt_status rt_sine_table_theta(const rt_sine_table *t, const char *name, double *theta,
                              rt_table_theta *found)
{
    *found = (rt_table_theta){.rotated = t->pairs};
    for (int i = 0; i < t->pairs; i++)
        theta[i] = t->rows > 1 ? theta_of_pair(t, i) : pow(10000, -(double)i / t->pairs);
    rt_status status = check_rotations(t, name, theta);
    if (status.code)
        return status;
    while (found->rotated && fabs(theta[found->rotated - 1]) < 1e-12)
        theta[--found->rotated] = 0;
    double *geometric = rt_alloc((size_t)t->pairs, sizeof *geometric);
    if (!geometric)
        return rt_out_of_memory("theta");
    found->base = find_base(t, found->rotated, theta, geometric);
    for (int i = 0; i < found->rotated && found->base > 0; i++)
        theta[i] = geometric[i];
    rt_free(geometric);
    return rt_ok();
}
