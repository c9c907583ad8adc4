#!/usr/bin/env python3
"""Three results of README.md once more, in plain PyTorch and from nothing of rotor's: the drift
of theta on `reverse`, what resetting it does, and a theta that is found because the data ask for
it. Not part of the tests; needs torch.

    scripts/theta-replicate.py [SEED]
"""
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

FIRST, CLS, MASK, SEP = 4, 1, 2, 3


class Layer(nn.Module):
    """Post-LN, as BERT: queries and keys are rotated by position times theta."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.norms = nn.ModuleList(nn.LayerNorm(dim, eps=1e-12) for _ in range(2))

    def turn(self, x, theta):
        rotated = 2 * len(theta)
        angle = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * theta
        cos, sin = angle.cos(), angle.sin()
        even, odd = x[..., 0:rotated:2], x[..., 1:rotated:2]
        pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
        return torch.cat((pairs.flatten(-2), x[..., rotated:]), -1)

    def forward(self, x, theta):
        B, T, C = x.shape
        q, k, v = (f(x).view(B, T, self.heads, -1).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(self.turn(q, theta), self.turn(k, theta), v)
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


def train(model, task, steps, lr, warmup):
    decays = [p for name, p in model.named_parameters() if p.ndim > 1]
    others = [p for name, p in model.named_parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.01},
                                   {"params": others, "weight_decay": 0.0}], lr=lr)
    for step in range(1, steps + 1):
        rate = step / warmup if step < warmup else \
            (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
        for group in optimizer.param_groups:
            group["lr"] = lr * rate
        ids, labels = task(32)
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


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    torch.manual_seed(seed)
    torch.set_num_threads(2)

    model = Model(vocab=32, dim=64, heads=4, layers=2, pairs=8)
    start = [theta.detach().clone() for theta in model.theta]
    train(model, reverse, steps=2000, lr=2e-3, warmup=100)
    print("reverse: loss %.4f, accuracy %.4f" % evaluate(model, reverse))
    for layer, (theta, before) in enumerate(zip(model.theta, start)):
        print(f"  layer {layer}, ln(theta / base):", " ".join("%+.3f" % x for x in (theta - before).tolist()))
    drift = max((theta - before).exp().sub(1).abs().max().item()
                for theta, before in zip(model.theta, start))
    print("  largest relative drift %.3f" % drift)
    for theta, before in zip(model.theta, start):
        theta.data.copy_(before)
    print("  theta reset: loss %.4f, accuracy %.4f" % evaluate(model, reverse))

    for P in (6, 7):
        def task(batch, generator=None):
            return period(batch, P, generator=generator)
        model = Model(vocab=16, dim=32, heads=1, layers=1, pairs=1)
        train(model, task, steps=1500, lr=3e-3, warmup=1)
        theta = model.theta[0].exp().item()
        print("period %d: theta %.4f for %.4f, accuracy %.3f" %
              (P, theta, 2 * math.pi / P, evaluate(model, task)[1]))


if __name__ == "__main__":
    main()
