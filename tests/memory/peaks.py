"""How near the memory is that `train --check` reports to what a run takes, phase by phase.

    memory_peaks [quick] [NAME ...]

What a process takes is its largest resident memory, less that of the same phase of a model that
has next to nothing: the program's own. A step is measured until the first evaluation is due, a
checkpoint while it is being written, all else until the program ends. A line for each phase of
each configuration; exit 1 if one that takes over 100 MB differs by more than 10 %."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

train, asked = sys.argv[1], sys.argv[2:]

LM = " model.causal=yes data.task=period data.objective=lm"
SMALL = " run.threads=1 train.batch_size=4"
SIX = "model.layers=6 model.dim=512 model.heads=8 data.length=256 train.batch_size=8 "

# The first is the quick one. Linear attention and sinusoids are in no format of --export.
CONFIGURATIONS = {
    "small": "model.layers=2 model.dim=256 model.heads=4 data.vocab=24000 data.length=32" + SMALL,
    "encoder": SIX + "data.vocab=1024 run.threads=1",
    "threads": SIX + "data.vocab=1024 train.shards=8 run.threads=4",
    "decoder": "model.kind=decoder model.layers=4 model.dim=512 model.heads=8 model.kv_heads=2 "
               "data.vocab=8000 data.length=256 train.batch_size=4 run.threads=2" + LM,
    "vocabulary": "model.layers=2 model.dim=256 model.heads=4 data.vocab=50000 data.length=128 "
                  "data.task=period data.objective=mlm train.batch_size=8 run.threads=2",
    "wide": "model.layers=2 model.dim=2048 model.heads=16 data.vocab=1000 data.length=64" + SMALL,
    "deep": "model.layers=64 model.dim=192 model.heads=4 data.vocab=100 data.length=64 "
            "model.dropout=0.1 train.batch_size=8 run.threads=1",
    "long": "model.layers=2 model.dim=128 model.heads=4 data.vocab=100 data.length=8192 "
            "theta.learn=yes train.batch_size=2 run.threads=1" + LM,
    "linear": "model.layers=4 model.dim=128 model.heads=4 model.attention=linear_elu "
              "data.vocab=100 data.length=4096 train.batch_size=2 run.threads=2 train.eval_lengths=8192",
    "sinusoidal": "model.layers=4 model.dim=512 model.heads=8 position.kind=sinusoidal "
                  "model.norm=pre model.ffn=geglu data.vocab=4000 data.length=256 "
                  "train.batch_size=4 run.threads=1",
    "onednn": "run.engine=onednn " + SIX + "data.vocab=8000 run.threads=2",
    "bf16": "run.engine=onednn run.math=bf16 " + SIX + "data.vocab=8000 run.threads=2",
    "init_from": "model.layers=4 model.dim=768 model.heads=12 data.vocab=8000 "
                 "data.length=64" + SMALL,
}
NOT_EXPORTED = ("linear", "sinusoidal")
PHASES = ("step", "run", "checkpoint", "--resume", "--eval", "--export")


def start(arguments):
    with open("output", "w") as output:
        return subprocess.Popen([train] + arguments.split(), stdout=output, stderr=output)


def field(process, name):
    """Returns a field of /proc in MB; 0 once the process has ended."""
    with open(f"/proc/{process.pid}/status") as status:
        found = re.search(rf"^{name}:\s+(\d+) kB", status.read(), re.M)
    return int(found[1]) * 1024 / 1e6 if found else 0


def read(path):
    with open(path) as file:
        return file.read()


def fail(process):
    """Ends the program: a run that does not end well measures nothing."""
    sys.exit(f"memory_peaks: code {process.returncode}: {read('output')}")


def finish(process, watch=lambda: None):
    """Returns the largest resident memory of a process or a child of its own, in MB."""
    ended = 0
    while not ended:
        watch()
        ended, how, used = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0.002)
    process.returncode = os.waitstatus_to_exitcode(how)
    if process.returncode:
        fail(process)
    return used.ru_maxrss * 1024 / 1e6


def measure(keys, exports):
    once = "base.ini --quiet --overwrite "
    often = "train.steps=1000000 train.eval_every=1000000 train.checkpoint_every=1000000 "
    peaks = {}
    shutil.rmtree("runs/step", ignore_errors=True)
    steps = start(f"{once}run.name=step {often}{keys}")  # of which none is the last
    while not re.search("^3,", "".join(map(read, glob.glob("runs/step/metrics.csv"))), re.M):
        if steps.poll() is not None:
            fail(steps)
        time.sleep(0.002)
    peaks["step"] = field(steps, "VmHWM")
    steps.kill()
    steps.wait()
    run = start(f"{once}run.name=run train.steps=2 {keys}")
    peaks["checkpoint"] = 0

    def watch():
        if glob.glob("runs/run/checkpoints/*.tmp"):
            peaks["checkpoint"] = max(peaks["checkpoint"], field(run, "VmRSS"))

    peaks["run"] = finish(run, watch)
    peaks["--eval"] = finish(start("runs/run/config.ini --quiet --eval"))
    if exports:
        peaks["--export"] = finish(start("runs/run/config.ini --quiet --export out --overwrite"))
    peaks["--resume"] = finish(
        start(f"base.ini --quiet --resume run.name=run train.steps=2 {keys}"))
    return peaks


def estimate(keys):
    finish(start("base.ini --quiet --check run.name=checked " + keys))
    text = read("output")
    said = {phase: float(re.search(rf" {phase} ([\d.]+)", text)[1])
            for phase in PHASES + ("evaluation",) if re.search(rf" {phase} ([\d.]+)", text)}
    said["run"] = max(said["step"], said["evaluation"], said["checkpoint"])
    said["--resume"] = max(said["--resume"], said["--eval"])  # the run has ended: evaluated again
    return said


def compare(name, keys):
    """Prints the rows of a configuration; returns whether all are near enough."""
    good = True
    check = start("base.ini --quiet --check run.name=checked " + keys)
    if check.wait():
        print(f"SKIP memory_peaks: {name} needs oneDNN and a processor with what it asks for")
        return True
    if name == "init_from":
        finish(start("base.ini --quiet --overwrite run.name=first train.steps=1 " + keys))
        keys += f" train.init_from={os.getcwd()}/runs/first/checkpoints/step-00000001.h5"
    # nearly no memory for the same program, libraries and threads
    least = " ".join(["model.layers=1 model.dim=8 model.heads=1 data.vocab=20 data.length=16 "
                      "train.batch_size=8 train.shards=8"] + re.findall(r"run\.\S+", keys))
    estimated, own = estimate(keys), measure(least, True)
    measured = measure(keys, name not in NOT_EXPORTED)
    for phase in PHASES:
        if phase in measured:
            taken = measured[phase] - own[phase]
            ratio = estimated[phase] / taken
            near = taken < 100 or abs(ratio - 1) <= 0.1
            print(f"| {name:10} | {phase:10} | {estimated[phase]:8.0f} | {taken:8.0f} "
                  f"| {ratio:5.2f} |"
                  + ("" if near else " <- more than 10 %"), flush=True)
            good = good and near
    return good


os.environ["ROTOR_NO_REPORT"] = "1"
with tempfile.TemporaryDirectory(prefix="rotor-memory-") as folder:
    os.chdir(folder)
    with open("base.ini", "w") as base:
        base.write("[run]\nlog_every = 1\n[train]\nsteps = 2\neval_batches = 2\n[optimizer]\n"
                   "warmup_steps = 0\n")
    print(f"| {'run':10} | {'phase':10} | estimate | measured | ratio |\n|---|---|---|---|---|")
    names = ["small"] if "quick" in asked else asked or CONFIGURATIONS
    results = [compare(name, CONFIGURATIONS[name]) for name in names]
    os.chdir("/")
sys.exit(not all(results))
