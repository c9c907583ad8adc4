#!/usr/bin/env python3
"""Single ops in PyTorch, forward and backward, on one thread.

    OMP_NUM_THREADS=1 bench/peer_ops.py attention|rope [B=8 T=512 H=8 D=64] [--compile [MODE]]
                                        [--seconds S] [--cpu] [--csv]

attention: F.scaled_dot_product_attention (B=1 T=4096 H=1 D=64), with its kernel that keeps no
           T x T matrix. T stands before D in memory, which is what it likes best.
rope: interleaved rotation of (B, T, H, D) (B=8 T=512 H=8 D=64) with theta learned, the cosines
      and sines from its logarithm in every pass.

The gradient of the result is given, and the gradients of the inputs are fresh memory. Prints
the median time of forward, of backward and of both, and the peak resident memory.
"""

import argparse
import math
import resource
import statistics
import time

import torch
from torch.nn import functional as F

SIZES = {"attention": {"B": 1, "T": 4096, "H": 1, "D": 64},
         "rope": {"B": 8, "T": 512, "H": 8, "D": 64}}


def rope(x, log_theta):  # (B, T, H, D)
    angle = torch.arange(x.shape[1])[:, None, None] * log_theta.exp()
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def inputs_of(op, size):
    B, T, H, D = (size[name] for name in "BTHD")
    if op == "attention":
        return [torch.rand(B, H, T, D) - 0.5 for _ in range(3)]
    return [torch.rand(B, T, H, D) - 0.5, -torch.arange(0, D, 2) / D * math.log(10000)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("op", choices=SIZES)
    parser.add_argument("sizes", nargs="*")
    parser.add_argument("--compile", nargs="?", const="default", metavar="MODE",
                        help="of torch.compile")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--csv", action="store_true")
    o = parser.parse_args()
    size = dict(SIZES[o.op])
    for name, number in (text.split("=") for text in o.sizes):
        if name not in size:
            parser.error(f"no size is called {name}")
        size[name] = int(number)
    now = time.process_time if o.cpu else time.perf_counter
    torch.set_num_threads(1)
    torch.manual_seed(1)

    inputs = [x.requires_grad_() for x in inputs_of(o.op, size)]
    run = F.scaled_dot_product_attention if o.op == "attention" else rope
    run = torch.compile(run, mode=o.compile) if o.compile else run
    upstream = torch.rand_like(inputs[0])
    times = []

    def step():
        for x in inputs:
            x.grad = None
        start = now()
        out = run(*inputs)
        middle = now()
        out.backward(upstream)
        end = now()
        times.append((middle - start, end - middle, end - start))

    for _ in range(3):
        step()
    times.clear()
    begin = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < o.seconds:
        step()
    forward, backward, both = (1e3 * statistics.median(column) for column in zip(*times))
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if o.csv:
        print("runs,forward,backward,both,MB")
        print(f"{len(times)},{forward:.4f},{backward:.4f},{both:.4f},{resident:.1f}")
    else:
        print(f"{o.op}: forward {forward:.3f} ms, backward {backward:.3f} ms, both {both:.3f} ms, "
              f"medians of {len(times)}; {resident:.0f} MB resident at most")


if __name__ == "__main__":
    main()
