#!/usr/bin/env python3
"""A published model, SmolLM2-135M-Instruct, read from its GGUF file, beside float64 references.

    tests/real/compare.py BUILD_FOLDER MODEL.gguf WORK_FOLDER

reference.py made the reference. Losses of lines agree to the printed digits in double, and to 2e-5
in float; so they do after an export to a folder of Hugging Face and to GGUF. The most likely
continuation is the same text, and ten steps of fine-tuning have the same losses to 1e-7.
"""

import csv
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PARAMETERS = 134515008
TUNE = """
[data]
task = text
objective = lm
level = bpe
begin = none
length = 64
eval_fraction = 0
[theta]
learn = no
[optimizer]
lr = 1e-5
schedule = constant
clip_norm = 0
[train]
steps = 10
batch_size = 1
shards = 1
eval_every = 10
[run]
log_every = 1
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def peak(*command):
    """Returns the largest memory of a command in bytes, and what it prints."""
    child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL)
    text = child.stdout.read()
    _, code, usage = os.wait4(child.pid, 0)
    if code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {code}")
    return 1024 * usage.ru_maxrss, text


def losses_of(program, model):
    text = HERE / "lines.txt"
    table = run(program, "--quiet", "--checkpoint", model, "--eval", "--per-line", "--special",
                f"data.file={text}", f"data.eval_file={text}", "data.documents=line",
                "data.length=128")
    rows = table[table.index("line,loss"):].splitlines()
    return [float(row["loss"]) for row in csv.DictReader(rows)]


def compare(name, found, wanted, bound):
    far = max(abs(a - b) for a, b in zip(found, wanted, strict=True))
    print(f"{name}: {len(wanted)} losses differ by at most {far:.1e}", flush=True)
    if not far <= bound:
        sys.exit(f"{name}: that is more than {bound:.1e}")


def main():
    build, model, work = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    wanted = json.loads((HERE / "reference.json").read_text())
    printed = [float(f"{loss:.9g}") for loss in wanted["lines"]]
    compare("train-f64", losses_of(build / "train-f64", model), printed, 0)
    compare("train", losses_of(build / "train", model), wanted["lines"], 2e-5)
    for export in (work / "folder", work / "file.gguf"):
        run(build / "train", "--quiet", "--checkpoint", model, "--export", export)
        compare(f"train-f64 after an export to {export.name}", losses_of(build / "train-f64", export),
                printed, 0)
    predict = (build / "train", "--quiet", "--checkpoint", model, "--predict", wanted["prompt"],
               "--tokens", 24, "--temperature", 0)
    # oneDNN's code and kernels, 7 MB, are no part of reading a model
    memory, text = peak(*predict, "run.engine=openblas")
    for text in (text, run(*predict)):
        if text.rstrip("\n") != wanted["text"]:
            sys.exit(f"the continuation is {text!r}, not {wanted['text']!r}")
    print("the continuation is the same")
    more = memory - 4 * PARAMETERS - peak(build / "train", "--version")[0]
    print(f"it takes {more / 1e6:.1f} MB more than the program and the floats of the model")
    if more > 32e6:
        sys.exit("that is more than 32 MB")
    model_keys = run(build / "train", "--quiet", "--checkpoint", model, "--print-config")
    sections = model_keys[model_keys.index("[model]"):model_keys.index("[theta]")]
    (work / "tune.ini").write_text(sections + TUNE)
    run(build / "train-f64", "tune.ini", "--quiet", f"data.file={HERE / 'window.txt'}",
        f"train.init_from={model}", cwd=work)
    with open(work / "runs/tune/metrics.csv") as rows:
        compare("fine-tuning", [float(row["loss"]) for row in csv.DictReader(rows)],
                wanted["steps"], 1e-7)


if __name__ == "__main__":
    main()
