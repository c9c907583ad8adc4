#!/usr/bin/env python3
"""Files of each architecture that rotor reads have the losses of the folder that they are made from.

    tests/llama/architectures.py BUILD_FOLDER FIXTURES WORK_FOLDER

The package gguf writes the tensors of a folder of Hugging Face as llama.cpp names and orders them.
"""

import json
import pathlib
import re
import subprocess
import sys

import gguf
import numpy as np

FOLDERS = {"llama/llama": "llama", "llama/llama_llama3": "llama", "families/qwen2": "qwen2",
           "families/qwen3": "qwen3", "families/gpt_neox": "gptneox",
           "families/gpt_neox_serial": "gptneox"}
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "attention.query_key_value": "attn_qkv",
    "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down",
}
OUTER = {"embed_tokens": "token_embd", "embed_in": "token_embd", "lm_head": "output",
         "embed_out": "output", "norm": "output_norm", "final_layer_norm": "output_norm"}


def tensors_of(folder):
    data = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    for name, row in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + place for place in row["data_offsets"])
            yield name, np.frombuffer(data[begin:end], np.float32).reshape(row["shape"])


def llama3_factors(rope, pairs):
    theta = rope["rope_theta"] ** (-np.arange(pairs) / pairs)
    turns = rope["original_max_position_embeddings"] * theta / (2 * np.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    share = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / (share + (1 - share) / rope["factor"])).astype(np.float32)


def write(folder, architecture, path):
    config = json.loads((folder / "config.json").read_text())
    rope = config.get("rope_parameters") or {}
    heads, width = config["num_attention_heads"], config["hidden_size"]
    size = config.get("head_dim") or width // heads
    file = gguf.GGUFWriter(path, architecture)
    file.add_context_length(config["max_position_embeddings"])
    file.add_embedding_length(width)
    file.add_block_count(config["num_hidden_layers"])
    file.add_feed_forward_length(config["intermediate_size"])
    file.add_head_count(heads)
    file.add_head_count_kv(config.get("num_key_value_heads") or heads)
    file.add_key_length(size)
    file.add_value_length(size)
    file.add_rope_freq_base(float(rope.get("rope_theta", 10000)))
    if architecture == "gptneox":
        file.add_layer_norm_eps(config["layer_norm_eps"])
        file.add_parallel_residual(config["use_parallel_residual"])
        file.add_rope_dimension_count(int(size * rope.get("partial_rotary_factor", 0.25)))
    else:
        file.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if rope.get("rope_type") == "llama3":
        file.add_tensor("rope_freqs.weight", llama3_factors(rope, size // 2))
    for name, numbers in tensors_of(folder):
        layer = re.search(r"layers\.(\d+)\.(.+)\.(weight|bias)$", name)
        if not layer:
            inner, end = name.split(".")[-2:]
            file.add_tensor(f"{OUTER[inner]}.{end}", numbers)
            continue
        number, inner, end = layer.groups()
        if inner not in NAMES:
            continue
        if NAMES[inner] == "attn_qkv":  # by head: query, key, value
            numbers = numbers.reshape(heads, 3, size, -1).swapaxes(0, 1).reshape(numbers.shape)
        if architecture == "llama" and NAMES[inner] in ("attn_q", "attn_k"):
            numbers = numbers.reshape(-1, 2, size // 2, width).swapaxes(1, 2).reshape(numbers.shape)
        file.add_tensor(f"blk.{number}.{NAMES[inner]}.{end}", np.ascontiguousarray(numbers))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return config["vocab_size"]


def loss_of(program, model, ids):
    done = subprocess.run(
        [program, "--quiet", "--checkpoint", model, "--eval", "data.task=tokens",
         f"data.file={ids}", "data.length=32", "data.objective=lm", "data.special_tokens=no"],
        capture_output=True, text=True)
    found = re.search(r"eval: loss (\S+),", done.stdout)
    return float(found[1]) if found else sys.exit(f"{model}: {done.stderr}")


def main():
    build, fixtures, work = (pathlib.Path(word) for word in sys.argv[1:])
    for name, architecture in FOLDERS.items():
        folder = fixtures / name / "hf"
        vocab = write(folder, architecture, work / "file.gguf")
        np.save(work / "ids.npy", np.random.default_rng(0).integers(0, vocab, 4000).astype("uint16"))
        wanted, found = (loss_of(build / "train-f64", model, work / "ids.npy")
                         for model in (folder, work / "file.gguf"))
        print(f"{name}: {architecture}: {found}, {wanted} from the folder", flush=True)
        if abs(found - wanted) > 1e-5:
            sys.exit(f"{name}: the losses differ")


if __name__ == "__main__":
    main()
