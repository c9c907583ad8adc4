#include "core/row_kernels.h"

#include <string.h>

rt_row_set rt_row_set_in_use = RT_ROWS_BASELINE;

bool rt_row_set_works(rt_row_set set)
{
    if (set == RT_ROWS_BASELINE)
        return true;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (set == RT_ROWS_AVX2)
        return avx2;
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

rt_row_set rt_row_set_widest(void)
{
    return rt_row_set_works(RT_ROWS_AVX512) ? RT_ROWS_AVX512
           : rt_row_set_works(RT_ROWS_AVX2) ? RT_ROWS_AVX2
                                            : RT_ROWS_BASELINE;
}

__attribute__((constructor)) static void choose_widest(void)
{
    rt_row_set_in_use = rt_row_set_widest();
}

rt_status rt_row_set_use(rt_row_set set)
{
    if (!rt_row_set_works(set))
        return rt_error(RT_CONFIG, "these row kernels need %s, which this processor lacks",
                        rt_row_set_name(set));
    rt_row_set_in_use = set;
    return rt_ok();
}

rt_status rt_row_set_use_named(const char *name)
{
    if (!name || !*name)
        return rt_ok();
    for (int set = RT_ROWS_BASELINE; set <= RT_ROWS_AVX512; set++)
        if (!strcmp(name, rt_row_set_name(set)))
            return rt_row_set_use(set);
    return rt_error(RT_CONFIG, "unknown row kernels; the names are %s, %s and %s",
                    rt_row_set_name(RT_ROWS_BASELINE), rt_row_set_name(RT_ROWS_AVX2),
                    rt_row_set_name(RT_ROWS_AVX512));
}

const char *rt_row_set_name(rt_row_set set)
{
    static const char *const names[] = {RT_ROW_SETS(RT_CHOICE_WORD)};
    return names[set];
}

const char *rt_row_kernels(void)
{
    return rt_row_set_name(rt_row_set_in_use);
}
