"""Runs and sweeps of rotor: run(folder), sweep(folder), train(config, ...); see docs/python.md."""

import configparser
import csv
import functools
import math
import os
import re
import signal
import sys
from collections import namedtuple
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import h5py
import numpy as np

# values: radians per position by step, layer, head, pair; layers, heads: their numbers, or ["all"].
Theta = namedtuple("Theta", "steps layers heads values initial")
Row = namedtuple("Row", "setting runs data")
Difference = namedtuple("Difference", "key value against n mean low high detectable_90")

# Columns of names, which are texts even if all of them look like numbers.
NAMES = ("label", "true", "predicted", "name", "run", "variant", "host")


class Error(Exception):
    """A message about a file, or of the program: then with its exit code and what it left."""
    exit_code = run = None


def _value(text):
    """Returns a number as int or float, and any other text as it is."""
    if not re.fullmatch(r"-?((0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?|inf|nan)", text):
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _config(path, text=None):
    parser = configparser.RawConfigParser(delimiters="=", comment_prefixes="#;")
    try:
        parser.read_string(text or path.read_text("utf-8", "surrogateescape"))
    except (OSError, configparser.Error) as e:
        raise Error(f"{path}: {getattr(e, 'strerror', None) or e}") from None
    return {f"{s}.{key}": _value(v) for s in parser.sections() for key, v in parser[s].items()}


def _rows(path):
    """Reads the rows of a CSV. A last line without a newline, still being written, is left out."""
    try:
        lines = Path(path).read_text("utf-8", "surrogateescape").split("\n")[:-1]
        rows = list(csv.reader(lines, strict=True)) or [[]]
    except (OSError, csv.Error) as e:
        raise Error(f"{path}: {getattr(e, 'strerror', None) or e}") from None
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise Error(f"{path}:{number}: {len(row)} cells instead of {len(rows[0])}")
    return rows


def table(path, texts=None):
    """Reads a CSV as arrays by column: integers, floats (NaN for empty cells) or texts, which labels
    and other NAMES always are. `texts` are the columns that may have texts; None: any."""
    (names, *rows), columns = _rows(path), {}
    for i, name in enumerate(names):
        cells = [row[i] for row in rows]
        kind = str if name in NAMES else int if cells and all(map(str.isdigit, cells)) else float
        try:
            cells = np.array([cell or "nan" if kind is float else cell for cell in cells], kind)
        except (ValueError, OverflowError) as e:
            if texts is not None and name not in texts:
                raise Error(f"{path}: column {name}: {e}") from None
        columns[name] = np.array(cells)
    return columns


class Checkpoint:
    """path, step, attributes, config, parameters (arrays by name) and theta (a Theta of one step;
    None without a learned θ). The checksum of the file is not verified."""
    def __init__(self, path):
        self.path, self.parameters, self.theta = Path(path), {}, None
        try:
            with h5py.File(self.path, "r") as file:
                words = {**file.attrs, **file["model"].attrs}.items()
                self.attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in words}
                self.step = int(self.attributes["step"])
                self.config = _config(path, file["config"][()].decode())
                file["model"].visititems(lambda name, item: self.parameters.update(
                    {name.replace("/", "."): item[()]} if isinstance(item, h5py.Dataset) else {}))
                if "theta_start" in file:
                    self._take_theta(file["theta_start"][()])
        except (OSError, KeyError, RuntimeError, ValueError) as e:
            raise Error(f"{path}: no checkpoint of rotor, or a damaged one: {e}") from None

    def _take_theta(self, start):
        found = {int(name.split(".")[1]): value for name, value in self.parameters.items()
                 if name.endswith(".attention.theta")} or {"all": self.parameters["theta"]}
        values = np.array([found[n] for n in sorted(found)], float).reshape(1, *start.shape)
        values = np.exp(values) if self.attributes["theta.form"] == "log" else values
        heads = range(start.shape[1]) if self.attributes["theta.scope"] == "head" else ["all"]
        self.theta = Theta(*map(np.array, ([self.step], sorted(found), heads)), values, start)


class Run:
    """A run: `config`, and tables that are read when they are first asked for, and then kept."""
    def __init__(self, folder):
        self.folder = Path(folder)
        if (self.folder / "runs.csv").exists():
            raise Error(f"{folder} is the folder of a sweep: use rotor.sweep")
        self.config = _config(self.folder / "config.ini")

    @functools.cached_property
    def metrics(self):
        """The columns of metrics.csv; NaN where a step was not evaluated."""
        return table(self.folder / "metrics.csv", texts=())

    @functools.cached_property
    def theta(self):
        """The Theta of theta.csv, NaN for missing rows; None if θ is not learned."""
        if not (self.folder / "theta.csv").exists():
            return None
        rows = table(self.folder / "theta.csv", texts=("layer", "head"))
        (steps, s), (layers, n), (heads, h), (pairs, i) = (
            np.unique(rows[name], return_inverse=True) for name in ("step", "layer", "head", "i"))
        values = np.full((len(steps), len(layers), len(heads), len(pairs)), math.nan)
        initial = np.full(values.shape[1:], math.nan)
        values[s, n, h, i], initial[n, h, i] = rows["theta"], rows["theta_initial"]
        return Theta(steps, layers, heads, values, initial)

    @functools.cached_property
    def result(self):
        """The results by name; {} of a run that has not ended."""
        path = self.folder / "result.csv"
        rows = _rows(path) if path.exists() else []
        return {name: _value(x or "nan") for name, x in rows[1:-1]} if ["end", "0"] in rows else {}

    def checkpoint(self, step=None):
        """Reads the Checkpoint of a step; None: the one of the results, or else the newest."""
        names = [path.stem[5:] for path in self.folder.glob("checkpoints/step-*.h5")]
        steps = sorted(int(name) for name in names if name.isdigit())
        step = self.result.get("model_step", max(steps, default=None)) if step is None else step
        if step not in steps:
            raise Error(f"{self.folder} has no checkpoint of step {step}; it has {steps}")
        return Checkpoint(self.folder / f"checkpoints/step-{step:08d}.h5")


@functools.cache
def _student(n):
    """Returns half the 95 % interval of n differences with deviation 1, and the mean that has 90 %
    power: by t and the noncentral t, as train/report/statistics.c."""
    nu, low, high = n - 1, max(0, 1 - 12 / math.sqrt(2 * n - 2)), 1 + 12 / math.sqrt(2 * n - 2)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    s = low + (nodes + 1) / 2 * (high - low)  # the sample deviation: nu s^2 is chi-squared
    scale = math.log(2) + nu / 2 * math.log(nu / 2) - math.lgamma(nu / 2)
    weights *= np.exp(scale + (nu - 1) * np.log(s) - nu * s * s / 2) * (high - low) / 4

    def tails(t, shift):  # P(|T| > t)
        z = np.concatenate([t * s - shift, t * s + shift]) / math.sqrt(2)
        return np.tile(weights, 2) @ [math.erfc(x) for x in z]

    def bisect(high, is_below, low=0):
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if is_below(middle) else (low, middle)
        return high

    t = bisect(20, lambda t: tails(t, 0) > 0.05)
    return np.array([t, bisect(40, lambda shift: tails(t, shift) < 0.9)]) / math.sqrt(n)


def _inputs(folder):
    """Returns the contents of each file that a run is known to have read, by timing.csv. A trunk is
    left out: a sweep trains it again if it is gone."""
    found = {}
    if (folder / "timing.csv").exists() and (folder / "config.ini").exists():
        trunk = Run(folder).config.get("train.trunk")
        for cell in table(folder / "timing.csv").get("data", []):
            for path, content in re.findall(r"(?:^|; )(.*?) \((\d+ bytes.*?)\)(?=; |$)", str(cell)):
                if path != trunk and content not in found.setdefault(path, []):
                    found[path].append(content)
    return found


class Sweep:
    """A sweep that has ended: `keys` that it varies, and `rows`. The runs of a Row differ only in
    the seed: `setting` has the values of the other keys, "" for several that have no effect, `runs`
    the results by seed, and `data` the contents of the files that they have read, by path."""
    def __init__(self, folder):
        self.folder, rows, self._data, self._row, known = Path(folder), {}, {}, {}, []
        self._names, *self._cells = _rows(self.folder / "runs.csv")
        self.keys = self._names[1 : self._names.index("exit_code")]
        for cells in self._cells:
            inputs = _inputs(self.folder / cells[0])
            n = next((n for n, data in enumerate(known)
                      if all(data.get(path, x) == x for path, x in inputs.items())), len(known))
            known[n:] = known[n:] or [{}]
            known[n].update(inputs)
            self._data[cells[0]] = n
            run = {name: cell if name in NAMES or (name in self.keys and not cell) else
                   _value(cell or "nan") for name, cell in zip(self._names, cells)}
            others, trained = self._others(cells, "run.seed"), (self._effective(cells[0]), n)
            row = rows.get(trained) or rows.get(others) or Row({}, {}, {})
            rows[others] = rows[trained if trained[0] else others] = self._row[cells[0]] = row
            row.data.update(inputs)
            for key in self.keys:
                if key != "run.seed" and row.setting.setdefault(key, run[key]) != run[key]:
                    row.setting[key] = "" if key != "variant" else row.setting[key]
            seed = run.get("run.seed")
            if seed not in row.runs or row.runs[seed]["exit_code"] not in (0, 7):
                row.runs[seed] = run
        self.rows = list({id(row): row for row in self._row.values()}.values())

    def _effective(self, name):
        """Returns what a run was trained with: equal for runs that differ in keys without effect."""
        file = self.folder / name / "config.ini"
        own = {"run.name", "run.dir", "run.threads"} - set(self.keys)
        return file.exists() and frozenset((k, v) for k, v in _config(file).items() if k not in own)

    def _others(self, cells, key):
        """Returns what runs must share to be compared: the other keys, and the contents of files."""
        others = [cell for other, cell in zip(self.keys, cells[1:]) if other != key]
        return *others, self._data[cells[0]]

    def paired(self, result=None):
        """Returns a Difference for each value of a key: the rows of paired.csv. Of a `result`, such
        as "eval_accuracy", likewise, for all runs that differ in the key alone, which has an effect,
        and did not diverge."""
        if not result:
            return [Difference(*row[:3], *(_value(x or "nan") for x in row[3:]))
                    for row in _rows(self.folder / "paired.csv")[1:]]
        found, column = [], self._names.index(result)
        limit = self._names.index("diverged_above") if "diverged_above" in self._names else None
        for i, key in enumerate(self.keys, 1):
            runs, seed = {}, self._names.index("run.seed") if "run.seed" in self.keys else i
            for cells in self._cells if key != "run.seed" else []:
                of_value = runs.setdefault(cells[i], {})
                if limit is None or not cells[limit]:
                    of_value.setdefault(self._others(cells, key), cells)
            for value, a in list(runs.items())[1:]:
                against, b = next(iter(runs.items()))
                pairs = {}  # the first of each seed and two rows
                for others, cells in a.items():
                    other = b.get(others, cells)
                    rows = self._row[cells[0]], self._row[other[0]]
                    d = float(cells[column] or "nan") - float(other[column] or "nan")
                    if rows[0] is not rows[1] and math.isfinite(d):
                        pairs.setdefault((cells[seed], *map(id, rows)), d)
                x, seeds = np.array(list(pairs.values())), {s for s, *_ in pairs}
                mean = x.mean() if x.size else math.nan
                half, power = _student(x.size) * x.std(ddof=1) if len(seeds) > 1 else [math.nan] * 2
                found.append(Difference(key, value, against, x.size, mean, mean - half,
                                        mean + half, power))
        return found


run, sweep = Run, Sweep


def _setting(value):
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(map(_setting, value))
    return ("yes" if value else "no") if isinstance(value, (bool, np.bool_)) else str(value)


def train(config, *, program=None, resume=False, overwrite=False, progress=False, **overrides):
    """Trains, and returns the run or the sweep; raises Error with the message of the program. "__"
    is the point: train__steps=9, sweep__run__seed=[1, 2] (sweep.run.seed=1,2); True is yes. The
    program is `program`, $ROTOR_PROGRAM, that of this build or installation, or rotor on the PATH.
    An interrupt is raised once it has saved a checkpoint, from which resume=True continues."""
    places = [place / name for place in Path(__file__).resolve().parents
              for name in ("build/train", "bin/rotor")]
    own = next((place for place in places if place.is_file()), "rotor")
    flags = {"--quiet": not progress, "--resume": resume, "--overwrite": overwrite}
    command = [program or os.environ.get("ROTOR_PROGRAM") or own, config,
               *(f"{key.replace('__', '.')}={_setting(x)}" for key, x in overrides.items()),
               *(flag for flag, given in flags.items() if given)]
    try:  # in a process group of its own, which gets no interrupt besides the one below
        process = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=None if progress else PIPE,
                        process_group=0, text=True, errors="surrogateescape")
    except OSError as e:
        raise Error(f"{command[0]} cannot be started: {e.strerror}") from None
    try:
        output, messages = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise
    ended = re.findall(r"^(run|sweep): (.*)$", output, re.MULTILINE)
    left = globals()[ended[-1][0]](ended[-1][1]) if ended else None
    if process.returncode:
        where = f"output.log of its runs in {left.folder}" if isinstance(left, Sweep) else "above"
        error = Error((messages or f"exit code {process.returncode}: see {where}").strip())
        error.exit_code, error.run = process.returncode, left
        raise error
    print(messages or "", end="", file=sys.stderr)
    return left
