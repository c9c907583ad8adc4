#!/usr/bin/env python3
"""A decoder of Hugging Face's transformers that reads a prompt and goes on, with its cache.

    bench/peer_generate.py [layers=6 dim=288 heads=6 kv_heads=6 ffn=768 vocab=32000 prompt=256
                           tokens=64] [--threads N] [--seconds S] [--cpu] [--csv]

LlamaForCausalLM in float with random weights and a tied head, no gradients, attention as
transformers chooses it (scaled_dot_product_attention). Each token is one call of the model and an
argmax, without what generate() adds. --cpu times by the processor's clock, for one thread on a busy
machine. Prints medians.
"""

import argparse
import statistics
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {"layers": 6, "dim": 288, "heads": 6, "kv_heads": 6, "ffn": 768, "vocab": 32000,
         "prompt": 256, "tokens": 64}


def make(n):
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=n["vocab"], hidden_size=n["dim"], intermediate_size=n["ffn"],
        num_hidden_layers=n["layers"], num_attention_heads=n["heads"],
        num_key_value_heads=n["kv_heads"], rms_norm_eps=1e-5, tie_word_embeddings=True,
        max_position_embeddings=4096)
    return LlamaForCausalLM(config).eval()


@torch.no_grad()
def one_round(model, ids, tokens, now):
    start = now()
    out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
    prompt = now() - start
    start = now()
    for _ in range(tokens):
        last = out.logits[:, -1:].argmax(-1)
        out = model(input_ids=last, past_key_values=out.past_key_values, use_cache=True)
    return prompt, (now() - start) / tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--csv", action="store_true")
    o = parser.parse_args()
    n = dict(SIZES)
    for size in o.sizes:
        name, number = size.split("=")
        if name not in n:
            parser.error(f"{name} is none of {', '.join(n)}")
        n[name] = int(number)
    torch.set_num_threads(o.threads)
    model = make(n)
    ids = (torch.arange(n["prompt"]) * 1009 + 17)[None] % n["vocab"]
    now = time.process_time if o.cpu else time.perf_counter
    one_round(model, ids, n["tokens"], now)
    rounds, start = [], time.perf_counter()
    while len(rounds) < 5 or time.perf_counter() - start < o.seconds:
        rounds.append(one_round(model, ids, n["tokens"], now))
    prompt, token = (statistics.median(times) for times in zip(*rounds))
    row = {"runs": len(rounds), "prompt tokens/s": n["prompt"] / prompt, "ms/token": 1e3 * token,
           "tokens/s": 1 / token}
    separator = "," if o.csv else "  "
    print(separator.join(row))
    print(separator.join(f"{x:.3f}".rstrip("0").rstrip(".") for x in row.values()))


if __name__ == "__main__":
    main()
