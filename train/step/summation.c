#include "train/step/summation.h"

int rt_summation_group(int shards, int workers)
{
    int group = 1;
    while (group < 2 * workers && group < shards)
        group *= 2;
    return group;
}

int rt_summation_blocks(int shards, int group)
{
    int blocks = group;
    for (int done = group; done < shards; done *= 2)
        blocks++;
    return blocks < shards ? blocks : shards;
}

/* The finished parts are to each other as the binary digits of the number of groups. */
int rt_summation_block(int first, int group)
{
    int waiting = 0;
    for (int groups = first / group; groups; groups /= 2)
        waiting += groups % 2;
    return waiting;
}

int rt_summation_plan(rt_summation *sums, int shards, int group, int first)
{
    const int size = shards - first < group ? shards - first : group;
    int top = rt_summation_block(first, group), count = 0;
    for (int step = 1; step < size; step *= 2)
        for (int i = 0; i + step < size; i += 2 * step)
            sums[count++] = (rt_summation){top + i, top + i + step};
    const int last = first + size == shards;
    for (int groups = first / group + 1; top && (last || groups % 2 == 0); groups /= 2, top--)
        sums[count++] = (rt_summation){top - 1, top};
    return count;
}
