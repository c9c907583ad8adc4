#!/usr/bin/env python3
"""A decoder with random weights in another library that reads a prompt and goes on, with its cache.

    bench/peer_generate.py [llama|qwen2|gpt_neox] [layers=6 dim=288 heads=6 kv_heads=6 ffn=768
                           vocab=32000 prompt=256 tokens=64]
                           [--library transformers|llama.cpp|llama.cpp-f16]
                           [--bf16] [--threads N] [--seconds S] [--cpu] [--csv]

With transformers: the model of that family in float, or all of it in bf16, without gradients,
attention as transformers chooses it (scaled_dot_product_attention); each token is one call of the
model and an argmax, without what generate() adds. With llama.cpp: its server's engine within this
program, as the packages xllamacpp and gguf have it, with the same shape in float, or with matrices
in float16, and no sampler but the argmax; a token is the difference of two answers, one of a token
and one of all, over the tokens between. --cpu times by the processor's clock, for one thread on a
busy machine. Prints medians.
"""

import argparse
import functools
import os
import statistics
import tempfile
import time

SIZES = {"layers": 6, "dim": 288, "heads": 6, "kv_heads": 6, "ffn": 768, "vocab": 32000,
         "prompt": 256, "tokens": 64}


def of_llama(n):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(**common(n), rms_norm_eps=1e-5, tie_word_embeddings=True,
                                        num_key_value_heads=n["kv_heads"]))


def of_qwen2(n):
    from transformers import Qwen2Config, Qwen2ForCausalLM
    return Qwen2ForCausalLM(Qwen2Config(**common(n), rms_norm_eps=1e-5, tie_word_embeddings=True,
                                        num_key_value_heads=n["kv_heads"]))


def of_gpt_neox(n):
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
    return GPTNeoXForCausalLM(GPTNeoXConfig(**common(n), hidden_act="gelu",
                                            tie_word_embeddings=False))


FAMILIES = {"llama": of_llama, "qwen2": of_qwen2, "gpt_neox": of_gpt_neox}


def common(n):
    return {"vocab_size": n["vocab"], "hidden_size": n["dim"], "intermediate_size": n["ffn"],
            "num_hidden_layers": n["layers"], "num_attention_heads": n["heads"],
            "max_position_embeddings": 4096}


def with_transformers(family, n, threads, now, bf16):
    """A function that does one round: seconds for the prompt, and for a token."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = FAMILIES[family](n).eval()
    if bf16:
        model = model.to(torch.bfloat16)
    ids = torch.tensor([prompt_of(n)])

    @torch.no_grad()
    def one_round():
        start = now()
        out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        prompt = now() - start
        start = now()
        for _ in range(n["tokens"]):
            last = out.logits[:, -1:].argmax(-1)
            out = model(input_ids=last, past_key_values=out.past_key_values, use_cache=True)
        return prompt, (now() - start) / n["tokens"]

    return one_round


def write_gguf(path, n, matrices):
    """A file of llama.cpp with random weights, and a vocabulary that nothing is asked of."""
    import gguf
    import numpy
    random = numpy.random.default_rng(1)
    dim, ffn, vocab = n["dim"], n["ffn"], n["vocab"]
    keys = dim // n["heads"] * n["kv_heads"]
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(4096)
    file.add_embedding_length(dim)
    file.add_block_count(n["layers"])
    file.add_feed_forward_length(ffn)
    file.add_head_count(n["heads"])
    file.add_head_count_kv(n["kv_heads"])
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(dim // n["heads"])
    file.add_vocab_size(vocab)
    file.add_tokenizer_model("llama")
    words = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % byte for byte in range(256)]
    words += [b"word%d" % i for i in range(len(words), vocab)]
    kinds = [2, 3, 3] + [6] * 256  # unknown, control, bytes, and normal ones
    file.add_token_list(words)
    file.add_token_scores([-float(i) for i in range(vocab)])
    file.add_token_types(kinds + [1] * (vocab - len(kinds)))
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)

    def add(name, *shape):
        if len(shape) > 1:
            values = (0.02 * random.standard_normal(shape)).astype(matrices)
        else:
            values = numpy.ones(shape, numpy.float32)
        file.add_tensor(name + ".weight", values)

    add("token_embd", vocab, dim)
    add("output_norm", dim)
    for layer in range(n["layers"]):
        for name, shape in (("attn_norm", (dim,)), ("attn_q", (dim, dim)), ("attn_k", (keys, dim)),
                            ("attn_v", (keys, dim)), ("attn_output", (dim, dim)),
                            ("ffn_norm", (dim,)), ("ffn_gate", (ffn, dim)),
                            ("ffn_up", (ffn, dim)), ("ffn_down", (dim, ffn))):
            add(f"blk.{layer}.{name}", *shape)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def with_llama_cpp(family, n, threads, now, bf16, matrices="float32"):
    if bf16 or family != "llama":
        raise SystemExit("llama.cpp is measured as a Llama in float")
    import xllamacpp
    options = xllamacpp.CommonParams()
    options.n_ctx = n["prompt"] + n["tokens"] + 2
    options.n_parallel = 1
    options.n_gpu_layers = 0
    options.verbosity = -1
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    with tempfile.TemporaryDirectory() as folder:
        options.model.path = os.path.join(folder, "model.gguf")
        write_gguf(options.model.path, n, matrices)
        server = xllamacpp.Server(options)

    def answer(tokens):
        start = now()
        told = server.handle_completions({
            "prompt": prompt_of(n), "n_predict": tokens, "temperature": 0, "samplers": [],
            "cache_prompt": False, "ignore_eos": True})
        seconds = now() - start
        told = told if isinstance(told, dict) else told[0]
        if told["timings"]["prompt_n"] != n["prompt"] or told["timings"]["predicted_n"] != tokens:
            raise SystemExit(f"llama.cpp did something else: {told}")
        return seconds

    def one_round():
        prompt = answer(1)
        return prompt, (answer(1 + n["tokens"]) - prompt) / n["tokens"]

    return one_round


def prompt_of(n):
    return [(i * 1009 + 17) % (n["vocab"] - 300) + 300 for i in range(n["prompt"])]


LIBRARIES = {"transformers": with_transformers, "llama.cpp": with_llama_cpp,
             "llama.cpp-f16": functools.partial(with_llama_cpp, matrices="float16")}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*")
    parser.add_argument("--library", default="transformers", choices=LIBRARIES)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--csv", action="store_true")
    o = parser.parse_args()
    n = dict(SIZES)
    family = o.sizes.pop(0) if o.sizes and o.sizes[0] in FAMILIES else "llama"
    for size in o.sizes:
        name, number = size.split("=")
        if name not in n:
            parser.error(f"{name} is none of {', '.join(n)}")
        n[name] = int(number)
    now = time.process_time if o.cpu else time.perf_counter
    one_round = LIBRARIES[o.library](family, n, o.threads, now, o.bf16)
    one_round()
    rounds, start = [], time.perf_counter()
    while len(rounds) < 5 or time.perf_counter() - start < o.seconds:
        rounds.append(one_round())
    prompt, token = (statistics.median(times) for times in zip(*rounds))
    row = {"runs": len(rounds), "prompt tokens/s": n["prompt"] / prompt, "ms/token": 1e3 * token,
           "tokens/s": 1 / token}
    separator = "," if o.csv else "  "
    print(separator.join(row))
    print(separator.join(f"{x:.3f}".rstrip("0").rstrip(".") for x in row.values()))


if __name__ == "__main__":
    main()
