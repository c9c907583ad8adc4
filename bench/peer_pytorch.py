#!/usr/bin/env python3
"""A training step of the model of an INI file in PyTorch, as its users would write it.

    OMP_NUM_THREADS=N bench/peer_pytorch.py CONFIG.ini [--threads N] [--compile [MODE]] [--joint]
                                            [--autocast] [--seconds S] [--since T] [--cpu] [--csv]

Prints the median time of a step, its quartiles, the number of parameters, and the peak resident
memory with the part of it that PyTorch takes before there is a model. --joint makes q, k and v of
one linear map. --since T adds the time to the end of the first step, if the program was started at
T seconds of CLOCK_MONOTONIC. --autocast computes the forward pass under
torch.autocast("cpu", bfloat16). --cpu times by the processor's clock, for one thread on a busy
machine.

The model is the one that rotor trains: post-norm encoder, erf GELU, tied decoder, interleaved
RoPE with theta a buffer or learned as its logarithm for each layer; only labelled positions go
through the head. With model.kind = decoder it is LlamaForCausalLM of transformers, and every
position is asked for the next token, and train.recompute = layers turns gradient checkpointing on.
Gradients are clipped, AdamW is the fused one. Batches are made in advance, which rotor does not do:
it draws them within the step. An INI file that asks for another model is refused.
"""

import argparse
import configparser
import math
import resource
import statistics
import sys
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
    def __init__(self, dim, heads, learn, joint):
        super().__init__()
        self.heads = heads
        if joint:
            self.joint = nn.Linear(dim, 3 * dim)
        else:
            self.joint = None
            self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))
        self.output = nn.Linear(dim, dim)
        self.output_norm = nn.LayerNorm(dim, eps=1e-12)
        self.intermediate = nn.Linear(dim, 4 * dim)
        self.ffn_output = nn.Linear(4 * dim, dim)
        self.ffn_norm = nn.LayerNorm(dim, eps=1e-12)
        self.rotary = Rotary(dim // heads, True) if learn else None

    def forward(self, x, rotation):
        B, T, C = x.shape
        projected = (self.joint(x).split(C, -1) if self.joint else
                     (self.query(x), self.key(x), self.value(x)))
        q, k, v = (y.view(B, T, self.heads, -1).transpose(1, 2) for y in projected)
        cos, sin = self.rotary(T) if self.rotary else rotation
        context = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = self.output_norm(x + self.output(context.transpose(1, 2).reshape(B, T, C)))
        return self.ffn_norm(x + self.ffn_output(F.gelu(self.intermediate(x))))


class Model(nn.Module):
    def __init__(self, vocab, dim, heads, layers, length, learn, joint):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dim, heads, learn, joint) for _ in range(layers))
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


def allow(path, ini, keys, given=False):
    """Each key has the only value that the peer has; unless it must be given, that is its default."""
    for section, key, only in keys:
        if ini.get(section, key, fallback=None if given else only) != only:
            sys.exit(f"{path}: {section}.{key} can only be {only} here")


def make_encoder(path, ini, number, joint):
    """The model, and 16 batches of what it takes."""
    allow(path, ini, (("data", "task", "copy"), ("position", "pairing", "interleaved"),
                      ("model", "norm", "post"), ("theta", "scope", "layer"),
                      ("theta", "form", "log"), ("train", "recompute", "none")))
    vocab, length = number("data", "vocab", 32), number("data", "length", 32)
    model = Model(vocab, number("model", "dim", 64), number("model", "heads", 4),
                  number("model", "layers", 2), length,
                  ini.getboolean("theta", "learn", fallback=False), joint)
    return model, [copy_batch(number("train", "batch_size", 32), length, vocab) for _ in range(16)]


class Decoder(nn.Module):
    """Llama of transformers, which gives the loss of a batch."""

    def __init__(self, config):
        super().__init__()
        from transformers import LlamaForCausalLM  # not needed for the other models
        self.llama = LlamaForCausalLM(config)

    def forward(self, ids):
        return self.llama(input_ids=ids, labels=ids, use_cache=False).loss


def make_decoder(path, ini, number, joint):
    allow(path, ini, (("theta", "learn", "no"),))
    allow(path, ini, (("data", "task", "period"), ("data", "objective", "lm"),
                      ("model", "tie_embeddings", "yes")), given=True)
    if joint:
        sys.exit(f"{path}: LlamaForCausalLM has maps of their own for q, k and v")
    from transformers import LlamaConfig
    vocab, length = number("data", "vocab", 32), number("data", "length", 32)
    heads = number("model", "heads", 4)
    config = LlamaConfig(
        vocab_size=vocab, hidden_size=number("model", "dim", 64),
        intermediate_size=number("model", "ffn_dim", 256),
        num_hidden_layers=number("model", "layers", 2), num_attention_heads=heads,
        num_key_value_heads=number("model", "kv_heads", heads), rms_norm_eps=1e-5,
        tie_word_embeddings=True, max_position_embeddings=length)
    rows = number("train", "batch_size", 32)
    model = Decoder(config)
    if ini.get("train", "recompute", fallback="none") == "layers":
        model.llama.gradient_checkpointing_enable()
    return model, [(torch.randint(4, vocab, (rows, length)),) for _ in range(16)]


def resident():
    """The most so far, in MB; compilers that were started are not counted."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make(path, joint):
    ini = configparser.ConfigParser(inline_comment_prefixes=(" ;",))
    with open(path, encoding="utf-8") as file:
        ini.read_file(file)
    allow(path, ini, (("position", "kind", "rope"), ("model", "attention", "softmax"),
                      ("model", "dropout", "0")))

    def number(section, key, default):
        return ini.getint(section, key, fallback=default)

    kinds = {"roformer": make_encoder, "decoder": make_decoder}
    return kinds[ini.get("model", "kind", fallback="roformer")](path, ini, number, joint)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", nargs="?", const="default", metavar="MODE",
                        help="of torch.compile")
    parser.add_argument("--joint", action="store_true")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--since", type=float)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--csv", action="store_true")
    o = parser.parse_args()
    if o.cpu and o.threads > 1:
        parser.error("--cpu tells the time of one thread")
    now = time.process_time if o.cpu else time.perf_counter
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    empty = resident()

    model, batches = make(o.config, o.joint)
    count = sum(p.numel() for p in model.parameters())
    step_model = torch.compile(model, mode=o.compile) if o.compile else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=o.autocast):
            loss = step_model(*batches[i % len(batches)])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    first = 0.0
    for i in range(3):
        step(i)
        if i == 0 and o.since:
            first = time.monotonic() - o.since
    times, begin = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < o.seconds:
        start = now()
        step(len(times))
        times.append(now() - start)
    low, middle, high = (1e3 * q for q in statistics.quantiles(times, n=4))
    if o.csv:
        print("threads,parameters,steps,ms,low,high,MB,MB empty,first s")
        print(f"{torch.get_num_threads()},{count},{len(times)},{middle:.4f},{low:.4f},{high:.4f},"
              f"{resident():.1f},{empty:.1f},{first:.3f}")
    else:
        print(f"step: {middle:.3f} ms ({low:.3f} to {high:.3f}, the middle half of {len(times)}), "
              f"{torch.get_num_threads()} threads, {count} parameters\n"
              f"memory: {resident():.1f} MB resident at most, {empty:.1f} MB before the model")


if __name__ == "__main__":
    main()
