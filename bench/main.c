#include "bench/measure.h"

#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: bench COMMAND [NAME=NUMBER ...]\n"
    "\n"
    "Measures speed, on one thread but for step. Times are medians after a warm-up, with the ends\n"
    "of the middle half; shares are of what a product or a copy reached in the same run, in "
    "turns.\n"
    "\n"
    "  peak                                      a product of matrices of 1024^3\n"
    "  step CONFIG.ini [section.key=value ...]   a training step\n"
    "  rope B= T= H= D=                          theta learned\n"
    "  attention B= T= H= D=                     softmax attention\n"
    "  linear-attention H= D= from= to=          every form, the length doubled\n"
    "  linear rows= in= out=                     a linear map\n"
    "  layernorm, gelu, softmax, xent rows= columns=\n"
    "  adamw size=                               the update of the parameters\n";

int main(int argc, char **argv)
{
    rt_status status = rt_ok();
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? 2 : 0;
    }
    if (!strcmp(argv[1], "peak"))
        printf("peak: %.1f GFLOP/s (gemm %d^3, one thread, %s, OpenBLAS kernels %s)\n",
               bench_peak(), BENCH_PEAK_SIZE, RT_PRECISION, rt_blas_kernels());
    else if (!strcmp(argv[1], "step"))
        status = bench_step(argc - 2, argv + 2);
    else if (!strcmp(argv[1], "linear-attention"))
        status = bench_linear_attention(argc - 2, argv + 2);
    else
        status = bench_op(argv[1], argc - 2, argv + 2);
    if (status.code)
        fprintf(stderr, "bench: %s\n", status.message);
    return status.code == RT_CONFIG ? 2 : status.code != RT_OK;
}
