#include "core/random.h"

#include <Random123/philox.h>
#include <math.h>

void rt_random_words(rt_random r, uint64_t index, uint32_t words[4])
{
    philox4x32_ctr_t counter = {{(uint32_t)index, (uint32_t)(index >> 32), r.step, r.stream}};
    philox4x32_key_t key = {{(uint32_t)r.seed, (uint32_t)(r.seed >> 32)}};
    philox4x32_ctr_t result = philox4x32(counter, key);
    for (int i = 0; i < 4; i++)
        words[i] = result.v[i];
}

static double unit_interval(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return (double)bits * 0x1p-53;
}

double rt_random_uniform(rt_random r, uint64_t index)
{
    uint32_t words[4];
    rt_random_words(r, index, words);
    return unit_interval(words[0], words[1]);
}

/* Uses the method of Box and Muller; 1 - u keeps the logarithm finite. */
double rt_random_normal(rt_random r, uint64_t index)
{
    const double two_pi = 6.283185307179586;
    uint32_t words[4];
    rt_random_words(r, index, words);
    double radius = sqrt(-2.0 * log(1.0 - unit_interval(words[0], words[1])));
    return radius * cos(two_pi * unit_interval(words[2], words[3]));
}

uint32_t rt_random_below(rt_random r, uint64_t index, uint32_t n)
{
    return (uint32_t)(rt_random_uniform(r, index) * n);
}
