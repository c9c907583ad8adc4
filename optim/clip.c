#include "optim/clip.h"

#include "core/row_kernels.h"

#include <math.h>

RT_ROW_FUNCTION(double, rt_sum_of_squares, (const real *restrict x, size_t size), (x, size))
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < size; k++)
        sum += (double)x[k] * (double)x[k];
    return sum;
}

/* The small constant keeps a gradient of norm 0 whole; PyTorch's. */
double rt_clip_factor(double norm, double max_norm)
{
    return max_norm > 0 ? fmin(1, max_norm / (norm + 1e-6)) : 1;
}
