#!/usr/bin/env python3
"""A training step of the model of an INI file in PyTorch, as its users would write it.

    OMP_NUM_THREADS=N bench/peer_pytorch.py CONFIG.ini [--threads N] [--compile] [--seconds S]

Prints one line: the median time of a step, its quartiles, the number of parameters and the peak
resident memory. The model is the one that rotor trains: post-norm encoder, erf GELU, tied decoder,
interleaved RoPE with theta a buffer or learned as its logarithm for each layer; the loss looks at
the labelled positions only; gradients are clipped, AdamW is the fused one.
"""

import argparse
import configparser
import math
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Rotary(nn.Module):
    def __init__(self, size, learn, base=10000.0):
        super().__init__()
        log_theta = -torch.arange(0, size, 2) / size * math.log(base)
        if learn:
            self.log_theta = nn.Parameter(log_theta)
        else:
            self.register_buffer("log_theta", log_theta)

    def forward(self, length):
        angle = torch.arange(length)[:, None] * self.log_theta.exp()
        return angle.cos(), angle.sin()


def rotate(x, cos, sin):  # (B, H, T, D)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Layer(nn.Module):
    def __init__(self, dim, heads, learn):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))
        self.output = nn.Linear(dim, dim)
        self.output_norm = nn.LayerNorm(dim, eps=1e-12)
        self.intermediate = nn.Linear(dim, 4 * dim)
        self.ffn_output = nn.Linear(4 * dim, dim)
        self.ffn_norm = nn.LayerNorm(dim, eps=1e-12)
        self.rotary = Rotary(dim // heads, True) if learn else None

    def forward(self, x, rotation):
        B, T, C = x.shape
        q, k, v = (f(x).view(B, T, self.heads, -1).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        cos, sin = self.rotary(T) if self.rotary else rotation
        context = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = self.output_norm(x + self.output(context.transpose(1, 2).reshape(B, T, C)))
        return self.ffn_norm(x + self.ffn_output(F.gelu(self.intermediate(x))))


class Model(nn.Module):
    def __init__(self, vocab, dim, heads, layers, length, learn):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dim, heads, learn) for _ in range(layers))
        self.transform = nn.Linear(dim, dim)
        self.transform_norm = nn.LayerNorm(dim, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocab))
        if not learn:
            cos, sin = Rotary(dim // heads, False)(length)
            self.register_buffer("cos", cos)
            self.register_buffer("sin", sin)
        self.learn = learn

    def forward(self, ids, where, wanted):
        x = self.norm(self.words(ids))
        rotation = None if self.learn else (self.cos, self.sin)
        for layer in self.layers:
            x = layer(x, rotation)
        x = x.flatten(0, 1)[where]
        x = self.transform_norm(F.gelu(self.transform(x)))
        return F.cross_entropy(F.linear(x, self.words.weight, self.bias), wanted)


def copy_batch(rows, length, vocab):
    n = (length - 2) // 2
    symbols = torch.randint(4, vocab, (rows, n))
    ids = torch.zeros(rows, length, dtype=torch.long)
    ids[:, 0], ids[:, n + 1] = 1, 3
    ids[:, 1:n + 1], ids[:, n + 2:2 * n + 2] = symbols, 2
    where = (ids.flatten() == 2).nonzero().flatten()
    return ids, where, symbols.flatten()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    ini = configparser.ConfigParser(inline_comment_prefixes=(" ;",))
    ini.read(options.config)
    get = lambda section, key, default: ini.get(section, key, fallback=default)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)

    dim, layers, heads = (int(get("model", k, d)) for k, d in
                          (("dim", 64), ("layers", 2), ("heads", 4)))
    length, vocab = (int(get("data", k, 32)) for k in ("length", "vocab"))
    rows = int(get("train", "batch_size", 32))
    model = Model(vocab, dim, heads, layers, length, get("theta", "learn", "no") == "yes")
    count = sum(p.numel() for p in model.parameters())
    step_model = torch.compile(model) if options.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    batches = [copy_batch(rows, length, vocab) for _ in range(16)]

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        step_model(*batches[i % len(batches)]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    for i in range(5):
        step(i)
    times, begin = [], time.perf_counter()
    while len(times) < 10 or time.perf_counter() - begin < options.seconds:
        start = time.perf_counter()
        step(len(times))
        times.append(time.perf_counter() - start)
    low, middle, high = statistics.quantiles(times, n=4)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"step: {1e3 * middle:.3f} ms ({1e3 * low:.3f} to {1e3 * high:.3f}), {count} parameters, "
          f"{memory:.0f} MB")


if __name__ == "__main__":
    main()
