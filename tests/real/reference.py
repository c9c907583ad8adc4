#!/usr/bin/env python3
"""Computes the reference values of scripts/check real, in float64, with torch and transformers.

    tests/real/reference.py MODEL.gguf >tests/real/reference.json

transformers computes norms, cosines and sines in float32 whatever the type of the model, so that
they are replaced here. Its attention "eager" has a softmax in float32, "sdpa" has none. Weights are
dequantized by the package gguf.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import torch
from gguf.quants import dequantize
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama as llama

HERE = pathlib.Path(__file__).parent
STEPS, RATE, TOKENS, PROMPT = 10, 1e-5, 24, "The capital of France is"
NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}


def norm(self, x):
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def rotary(self, x, position_ids):
    pairs = self.config.head_dim // 2
    theta = self.config.rope_parameters["rope_theta"] ** (
        -torch.arange(pairs, dtype=torch.float64) / pairs)
    angles = position_ids[..., None].double() * theta
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def load(path):
    reader = gguf.GGUFReader(path)
    value = {name: field.contents() for name, field in reader.fields.items()}
    heads = value["llama.attention.head_count"]
    config = LlamaConfig(
        vocab_size=value["llama.vocab_size"], hidden_size=value["llama.embedding_length"],
        intermediate_size=value["llama.feed_forward_length"],
        num_hidden_layers=value["llama.block_count"], num_attention_heads=heads,
        num_key_value_heads=value["llama.attention.head_count_kv"],
        head_dim=value["llama.embedding_length"] // heads,
        rms_norm_eps=value["llama.attention.layer_norm_rms_epsilon"], tie_word_embeddings=True,
        max_position_embeddings=value["llama.context_length"],
        rope_parameters={"rope_type": "default", "rope_theta": value["llama.rope.freq_base"]},
        attn_implementation="sdpa")
    llama.LlamaRMSNorm.forward = norm
    llama.LlamaRotaryEmbedding.forward = rotary
    torch.set_default_dtype(torch.float64)
    model = LlamaForCausalLM(config)
    state = {}
    for tensor in reader.tensors:
        shape = tuple(int(n) for n in reversed(tensor.shape))
        numbers = np.asarray(dequantize(tensor.data, tensor.tensor_type)).reshape(shape)
        parts = tensor.name.split(".")
        if parts[0] != "blk":
            name = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}[parts[0]]
        else:
            name = f"model.layers.{parts[1]}.{NAMES[parts[2]]}"
        if parts[-2] in ("attn_q", "attn_k"):  # llama.cpp interleaves the pairs of a head
            pairs = config.head_dim // 2
            numbers = numbers.reshape(-1, pairs, 2, shape[1]).swapaxes(1, 2).reshape(shape)
        state[name + ".weight"] = torch.from_numpy(numbers.astype(np.float64))
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    return model.eval()


def loss_of(model, ids):
    logits = model(torch.tensor([ids])).logits[0, :-1]
    return torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]))


def continued(model, ids):
    for _ in range(TOKENS):
        ids = ids + [model(torch.tensor([ids])).logits[0, -1].argmax().item()]
    return ids


def tuned(model, ids):
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": weights, "weight_decay": 0.01},
                                   {"params": others, "weight_decay": 0.0}], lr=RATE, eps=1e-8)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, ids)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    path = pathlib.Path(sys.argv[1])
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    encode = tokenizer.encode
    model = load(path)
    with torch.no_grad():
        lines = [loss_of(model, encode(line)).item()
                 for line in (HERE / "lines.txt").read_text().splitlines()]
        text = tokenizer.decode(continued(model, encode(PROMPT)))
    window = encode((HERE / "window.txt").read_text())  # of 64 tokens
    print(json.dumps({"lines": lines, "prompt": PROMPT, "text": text,
                      "steps": tuned(model, window)}, indent=1))


if __name__ == "__main__":
    main()
