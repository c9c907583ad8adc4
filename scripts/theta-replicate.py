#!/usr/bin/env python3
"""Results of experiments/theta once more, in plain PyTorch and from nothing of rotor's. Not part of
the tests; needs torch.

    scripts/theta-replicate.py [ROW ...]

    reverse     the drift of theta on `reverse`, and what resetting it does
    period      a theta that is found because the data ask for it
    branch      a causal model that learns theta less one with theta fixed, from one trunk
    crossing    the drift in causal models by the turns of a pair, and where it changes its sign
    band        the query and key norms of these models by the turns of a pair
    claim       an eighth of the pairs rotated less all of them, from scratch

The last four train on the licences that every Debian carries, with the seeds 1, 2 and 3.
"""
import copy
import functools
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

FIRST, CLS, MASK, SEP = 4, 1, 2, 3


def turn(x, theta):
    rotated = 2 * len(theta)
    angle = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * theta
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0:rotated:2], x[..., 1:rotated:2]
    pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
    return torch.cat((pairs.flatten(-2), x[..., rotated:]), -1)


class Layer(nn.Module):
    """Post-LN, as BERT: queries and keys are rotated by position times theta."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim, eps=1e-12) for _ in range(2))

    def forward(self, x, theta):
        B, T, C = x.shape
        q, k, v = (f(x).view(B, T, self.heads, -1).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(turn(q, theta), turn(k, theta), v)
        x = self.norms[0](x + self.out(y.transpose(1, 2).reshape(B, T, C)))
        return self.norms[1](x + self.down(F.gelu(self.up(x))))


class Model(nn.Module):
    def __init__(self, vocab, dim, heads, layers, pairs):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim, eps=1e-12)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.dense, self.head_norm = nn.Linear(dim, dim), nn.LayerNorm(dim, eps=1e-12)
        self.bias = nn.Parameter(torch.zeros(vocab))
        for name, p in self.named_parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(p)
        start = -2 * math.log(10000) * torch.arange(pairs) / (2 * pairs)
        self.theta = nn.ParameterList(start.clone() for _ in range(layers))  # ln theta

    def forward(self, ids):
        x = self.norm(self.words(ids))
        for layer, theta in zip(self.layers, self.theta):
            x = layer(x, theta.exp())
        return self.head_norm(F.gelu(self.dense(x))) @ self.words.weight.T + self.bias


def reverse(batch, length=32, vocab=32, generator=None):
    n = (length - 2) // 2
    symbols = torch.randint(FIRST, vocab, (batch, n), generator=generator)
    column = torch.ones(batch, 1, dtype=torch.long)
    ids = torch.cat((CLS * column, symbols, SEP * column, MASK * column.expand(-1, n)), 1)
    labels = torch.full_like(ids, -100)
    labels[:, n + 2:] = symbols.flip(1)
    return ids, labels


def period(batch, P, length=24, vocab=16, generator=None):
    def draw(*shape):
        return torch.randint(FIRST, vocab, shape, generator=generator)

    def chance(*shape):
        return torch.rand(shape, generator=generator)

    place = torch.arange(1, length) % P
    shown = chance(batch, length - 1) < 0.5
    ids = torch.where(shown, draw(batch, P)[:, place], draw(batch, length - 1))
    asked = chance(batch, length - 1) < 0.15
    labels = torch.where(asked, ids, -100)
    how = chance(batch, length - 1)
    hidden = torch.where(how < 0.8, MASK, torch.where(how < 0.9, draw(batch, length - 1), ids))
    ids = torch.where(asked, hidden, ids)
    first = torch.full((batch, 1), CLS)
    return torch.cat((first, ids), 1), torch.cat((torch.full((batch, 1), -100), labels), 1)


# ---- causal models ----

BASE, LENGTH, SEEDS = 10000, 128, (1, 2, 3)


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.scale


class CausalLayer(nn.Module):
    """Norms before attention and SwiGLU, no bias, as LLaMA."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = \
            (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(dim, 3 * dim, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * dim, dim, bias=False)
        self.norms = nn.ModuleList(RMSNorm(dim) for _ in range(2))

    def parts(self, x):
        B, T, C = x.shape
        x = self.norms[0](x)
        return [f(x).view(B, T, self.heads, -1).transpose(1, 2)
                for f in (self.query, self.key, self.value)]

    def forward(self, x, theta):
        q, k, v = self.parts(x)
        y = F.scaled_dot_product_attention(turn(q, theta), turn(k, theta), v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class CausalModel(nn.Module):
    def __init__(self, dim=64, heads=2, layers=2, pairs=16, learn=True):
        super().__init__()
        self.words = nn.Embedding(256, dim)
        self.layers = nn.ModuleList(CausalLayer(dim, heads) for _ in range(layers))
        self.norm = RMSNorm(dim)
        for p in self.parameters():
            if p.ndim > 1:
                nn.init.normal_(p, std=0.02)
        start = -math.log(BASE) * torch.arange(pairs) / pairs
        self.theta = nn.ParameterList(nn.Parameter(start.clone(), requires_grad=learn)
                                      for _ in range(layers))

    def forward(self, ids):
        x = self.words(ids)
        for layer, theta in zip(self.layers, self.theta):
            x = layer(x, theta.exp())
        return self.norm(x) @ self.words.weight.T


@functools.cache
def licences():
    """Bytes to train on, and the last licence to evaluate on."""
    names = ("GPL-1", "GPL-2", "GPL-3", "LGPL-2", "GFDL-1.3", "Artistic", "Apache-2.0", "MPL-2.0")
    texts = [open(f"/usr/share/common-licenses/{name}", "rb").read() for name in names]
    return [torch.tensor(list(part)) for part in (b"".join(texts[:-1]), texts[-1])]


def following(batch, generator=None):
    text = licences()[0]
    begin = torch.randint(len(text) - LENGTH, (batch,), generator=generator)
    ids = text[begin[:, None] + torch.arange(LENGTH + 1)]
    return ids[:, :-1], ids[:, 1:]


@torch.no_grad()
def loss_of(model):
    text = licences()[1]
    ids = text[:len(text) // (LENGTH + 1) * (LENGTH + 1)].view(-1, LENGTH + 1)
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).item()


def train_causal(model, seed, first=1, last=1000):
    torch.manual_seed(1000 * seed + first)
    train(model, following, steps=1000, lr=2e-3, warmup=50, batch=8, first=first, last=last)
    return model


@functools.cache
def causal(seed, learn=False, pairs=16):
    torch.manual_seed(seed)
    return train_causal(CausalModel(pairs=pairs, learn=learn), seed)


def turns(i):
    return BASE ** (-i / 16) * (LENGTH - 1) / (2 * math.pi)


def interval(x):
    """Mean and 95 % interval of three differences."""
    mean = sum(x) / len(x)
    half = 4.303 * math.sqrt(sum((d - mean) ** 2 for d in x) / (len(x) - 1) / len(x))
    return "%+.4f [%+.4f, %+.4f]" % (mean, mean - half, mean + half)


# ---- training ----

def train(model, task, steps, lr, warmup, batch=32, first=1, last=None):
    decays = [p for name, p in model.named_parameters() if p.ndim > 1]
    others = [p for name, p in model.named_parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.01},
                                   {"params": others, "weight_decay": 0.0}], lr=lr)
    for step in range(first, (last or steps) + 1):
        rate = step / warmup if step < warmup else \
            (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
        for group in optimizer.param_groups:
            group["lr"] = lr * rate
        ids, labels = task(batch)
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def evaluate(model, task):
    ids, labels = task(512, generator=torch.Generator().manual_seed(2021))
    logits, asked = model(ids), labels >= 0
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten()).item()
    return loss, (logits.argmax(-1) == labels)[asked].float().mean().item()


# ---- the rows ----

def row_reverse():
    torch.manual_seed(1)
    model = Model(vocab=32, dim=64, heads=4, layers=2, pairs=8)
    start = [theta.detach().clone() for theta in model.theta]
    train(model, reverse, steps=2000, lr=2e-3, warmup=100)
    print("reverse: loss %.4f, accuracy %.4f" % evaluate(model, reverse))
    for layer, (theta, before) in enumerate(zip(model.theta, start)):
        print(f"  layer {layer}, ln(theta / base):", " ".join("%+.3f" % x for x in (theta - before).tolist()))
    drift = max((theta - before).exp().sub(1).abs().max().item()
                for theta, before in zip(model.theta, start))
    print("  largest relative change %.3f" % drift)
    for theta, before in zip(model.theta, start):
        theta.data.copy_(before)
    print("  theta reset: loss %.4f, accuracy %.4f" % evaluate(model, reverse))


def row_period():
    torch.manual_seed(1)
    for P in (6, 7):
        def task(batch, generator=None):
            return period(batch, P, generator=generator)
        model = Model(vocab=16, dim=32, heads=1, layers=1, pairs=1)
        train(model, task, steps=1500, lr=3e-3, warmup=1)
        theta = model.theta[0].exp().item()
        print("period %d: theta %.4f for %.4f, accuracy %.3f" %
              (P, theta, 2 * math.pi / P, evaluate(model, task)[1]))


def row_branch():
    """The optimizer starts again in each branch, with the rates of the steps that are left."""
    differences = []
    for seed in SEEDS:
        torch.manual_seed(seed)
        trunk = train_causal(CausalModel(learn=False), seed, last=500)
        loss = {}
        for learn in (False, True):
            branch = copy.deepcopy(trunk)
            for theta in branch.theta:
                theta.requires_grad_(learn)
            loss[learn] = loss_of(train_causal(branch, seed, first=501))
        differences.append(loss[True] - loss[False])
        print("  seed %d: fixed %.4f, learned %.4f" % (seed, loss[False], loss[True]))
    print("branch: learned less fixed", interval(differences))


def row_crossing():
    models = [causal(seed, learn=True) for seed in SEEDS]
    for layer in range(2):
        drift = [sum(m.theta[layer][i].item() + math.log(BASE) * i / 16 for m in models) / len(models)
                 for i in range(16)]
        print("  layer %d, turns and drift:" % layer,
              ", ".join("%.2f %+.3f" % (turns(i), drift[i]) for i in range(15, -1, -1)))
        falls = [i for i in range(15, 0, -1)
                 if turns(i) > 0.15 and drift[i] > 0 >= drift[i - 1]]
        if falls:
            i = falls[0]
            share = drift[i] / (drift[i] - drift[i - 1])
            print("crossing: layer %d, from up to down at %.2f turns" %
                  (layer, turns(i) ** (1 - share) * turns(i - 1) ** share))
        else:
            print("crossing: layer %d, none" % layer)


@torch.no_grad()
def row_band():
    """The norm of each pair's queries times that of its keys on the text of the evaluation."""
    text = licences()[1][:64 * LENGTH].view(64, LENGTH)
    use = torch.zeros(2, 16)
    for model in (causal(seed, learn=True) for seed in SEEDS):
        x = model.words(text)
        for l, (layer, theta) in enumerate(zip(model.layers, model.theta)):
            q, k, _ = (part.unflatten(-1, (-1, 2)).norm(dim=-1).mean((0, 2)) for part in layer.parts(x))
            share = q * k
            use[l] += (share / share.mean(-1, keepdim=True)).mean(0) / len(SEEDS)
            x = layer(x, theta.exp())
    for l in range(2):
        print("  layer %d, turns and use:" % l,
              ", ".join("%.2f %.2f" % (turns(i), use[l, i]) for i in range(15, -1, -1)))
        most = max((i for i in range(16) if turns(i) < 4), key=lambda i: use[l, i])
        print("band: layer %d, below 4 turns most used at %.2f turns, %.2f times the mean" %
              (l, turns(most), use[l, most]))


def row_claim():
    """Two of 16 pairs rotate, with theta = 1 and 0.01."""
    differences = []
    for seed in SEEDS:
        eighth, whole = loss_of(causal(seed, pairs=2)), loss_of(causal(seed))
        differences.append(eighth - whole)
        print("  seed %d: an eighth %.4f, all %.4f" % (seed, eighth, whole))
    print("claim: an eighth less all", interval(differences))


def main():
    torch.set_num_threads(1)
    rows = {name[4:]: row for name, row in globals().items() if name.startswith("row_")}
    for name in sys.argv[1:] or rows:
        if name not in rows:
            sys.exit(f"no row {name}; there are {', '.join(rows)}")
        rows[name]()


if __name__ == "__main__":
    main()
