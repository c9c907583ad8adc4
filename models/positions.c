#include "models/positions.h"

#include <math.h>

void rt_sinusoidal_frequencies(double *w, int C, double base)
{
    for (int i = 0; i < (C + 1) / 2; i++)
        w[i] = pow(base, -2.0 * i / C);
}

void rt_sinusoidal_table(real *table, int stride, const double *position, size_t rows,
                         rt_sinusoids of)
{
    const int sines = (of.C + 1) / 2;
    for (int i = 0; i < sines; i++) {
        const int sine = of.layout == RT_INTERLEAVED ? 2 * i : i;
        const int cosine = of.layout == RT_INTERLEAVED ? sine + 1 : sines + i;
        for (size_t r = 0; r < rows; r++) {
            real *row = table + r * (size_t)stride;
            const double angle = position[r] * of.w[i];
            row[sine] = (real)sin(angle);
            if (2 * i + 1 < of.C)
                row[cosine] = (real)cos(angle);
        }
    }
}

void rt_alibi_slopes(double *slopes, int heads)
{
    int n = 1;
    while (2 * n <= heads)
        n *= 2;
    for (int k = 0; k < heads; k++)
        slopes[k] = k < n ? pow(2, -8.0 * (k + 1) / n) : pow(2, -4.0 * (2 * (k - n) + 1) / n);
}

/* Returns the bucket of a distance of at least 0: the first half of the buckets holds one distance
 * each, the others grow by equal factors and end at RT_T5_REACH. */
static int t5_bucket(int distance, int buckets)
{
    const int exact = buckets / 2;
    if (distance < exact)
        return distance;
    const double ratio = log((double)distance / exact) / log((double)RT_T5_REACH / exact);
    const int bucket = exact + (int)(ratio * (buckets - exact) + 1e-9); /* 2.9999... is 3 */
    return bucket < buckets ? bucket : buckets - 1;
}

rt_distances rt_t5_distances(int16_t *class_of, bool causal)
{
    const int side = causal ? RT_T5_BUCKETS : RT_T5_BUCKETS / 2;
    for (int d = -RT_T5_REACH; d <= RT_T5_REACH; d++) {
        const int behind = d < 0 ? t5_bucket(-d, side) : 0;
        const int ahead = d > 0 && !causal ? side + t5_bucket(d, side) : 0;
        class_of[d + RT_T5_REACH] = (int16_t)(behind + ahead);
    }
    return (rt_distances){RT_T5_REACH, RT_T5_BUCKETS, class_of};
}

rt_distances rt_shaw_distances(int16_t *class_of)
{
    for (int c = 0; c <= 2 * RT_SHAW_REACH; c++)
        class_of[c] = (int16_t)c;
    return (rt_distances){RT_SHAW_REACH, 2 * RT_SHAW_REACH + 1, class_of};
}

double rt_decay(const double *theta, int pairs, double r, double xpos)
{
    double real_part = 0, imaginary_part = 0, sum = 0;
    for (int i = 0; i < pairs; i++) {
        const double factor = xpos > 0 ? pow(rt_xpos_zeta(i, pairs), r / xpos) : 1;
        real_part += factor * cos(r * theta[i]);
        imaginary_part += factor * sin(r * theta[i]);
        sum += hypot(real_part, imaginary_part);
    }
    return sum / pairs;
}
