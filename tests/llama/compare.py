#!/usr/bin/env python3
"""llama.cpp beside rotor: the same logits, and the same text at temperature 0.

    tests/llama/compare.py BUILD_FOLDER FOLDER

Each run of FOLDER/runs is exported as GGUF and read by llama.cpp, as the package xllamacpp has it.
In f32, logarithms of probabilities may differ by 1e-4; in f16, whose weights are others, by 0.02.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

import xllamacpp

BOUNDS = {"f32": 1e-4, "f16": 2e-2}
TEXTS = ["the program", "Licensee 3 may, isn't it?\tTwo  blanks ", "na\u00efve 1234567", "may"]
TOKENS = 12


def serve(path):
    options = xllamacpp.CommonParams()
    options.model.path = path
    options.n_ctx = 256
    options.n_parallel = 1
    options.n_gpu_layers = 0
    options.verbosity = -1
    options.warmup = False
    options.cache_type_k = options.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    options.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(options)


def ask(server, prompt, tokens, **more):
    told = server.handle_completions({
        "prompt": prompt, "n_predict": tokens, "temperature": 0, "cache_prompt": False,
        "ignore_eos": True, **more})
    return told if isinstance(told, dict) else told[0]


def distance(server, prompt, wanted):
    told = ask(server, prompt, 1, n_probs=len(wanted), samplers=["temperature"])
    first = told["choices"][0]["logprobs"]["content"][0]
    found = {row["id"]: row["logprob"] for row in first["top_logprobs"]}
    if len(found) != len(wanted):
        sys.exit(f"{len(found)} tokens, not {len(wanted)}")
    return max(abs(found[i] - value) for i, value in enumerate(wanted) if value > -50)


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def compare_logits(server, build, checkpoint):
    rows = run(f"{build}/tests/llama-logits", checkpoint, text="\n".join(TEXTS) + "\n").splitlines()
    return max(distance(server, text, [float(x) for x in row.split()])
               for text, row in zip(TEXTS, rows, strict=True))


def compare_texts(server, build, checkpoint):
    for text in TEXTS:
        wanted = json.loads(run(f"{build}/train", "--quiet", "--checkpoint", checkpoint, "--predict",
                                text, "--tokens", str(TOKENS), "--temperature", "0",
                                "--jsonl"))["continuation"]
        found = ask(server, text, TOKENS)["choices"][0]["text"]
        if found != wanted:
            sys.exit(f"after {text!r} llama.cpp says {found!r}, not {wanted!r}")


def main():
    build, folder = sys.argv[1:]
    for name in sorted(os.listdir(f"{folder}/runs")):
        checkpoint = sorted(glob.glob(f"{folder}/runs/{name}/checkpoints/step-*.h5"))[-1]
        for dtype, bound in BOUNDS.items():
            with tempfile.TemporaryDirectory() as work:
                path = f"{work}/{dtype}.gguf"
                run(f"{build}/train", "--quiet", "--checkpoint", checkpoint, "--export", path,
                    "--dtype", dtype)
                server = serve(path)
            far = compare_logits(server, build, checkpoint)
            print(f"{name}: {dtype} logits of {len(TEXTS)} texts differ by {far:.1e}", flush=True)
            if not far <= bound:
                sys.exit(f"{name}: {dtype} logits differ by more than {bound}")
            if dtype == "f32":
                compare_texts(server, build, checkpoint)
    print("the texts that follow are the same")


if __name__ == "__main__":
    main()
