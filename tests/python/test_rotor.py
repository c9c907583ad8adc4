"""Compares python/rotor.py with the files of small trainings, read here by other means, with --eval, and
with the report of a sweep: tests/python/run BUILD_FOLDER."""

import collections
import csv
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

import h5py
import numpy as np

SOURCES = Path(__file__).resolve().parents[2]
TRAIN = Path(sys.argv.pop(1)).resolve() / "train"
sys.path.insert(0, str(SOURCES / "python"))
import rotor  # noqa: E402

SMALL = """
[model]
layers = 1
dim = 16
heads = 2
[data]
length = 12
vocab = 12
[train]
steps = 8
eval_every = 4
eval_batches = 1
[run]
log_every = 2
"""


def read(path):
    """Returns the rows of a table as dicts of texts."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(cell):
    return float(cell) if cell else math.nan


def same(a, b, most=2e-9):
    """Returns whether two numbers agree to the nine digits of a table, or are both NaN."""
    return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= most * max(abs(a), abs(b))


class Test(unittest.TestCase):
    def expect_same(self, got, wanted, what, most=2e-9):
        self.assertTrue(same(got, wanted, most), f"{what}: {got!r}, not {wanted!r}")

    def expect_error(self, text, code, call, *arguments, **named):
        with self.assertRaises(rotor.Error) as raised:
            call(*arguments, **named)
        self.assertRegex(str(raised.exception), text)
        self.assertEqual(raised.exception.exit_code, code)
        return raised.exception

    def copy(self, name, folder):
        shutil.copytree(Path("runs") / folder, Path("runs") / name)
        return Path("runs") / name

    # A run

    def expect_theta(self, theta, rows, what):
        """Expects each row of a table of theta, and no other number."""
        for row in rows:
            at = (list(theta.layers.astype(str)).index(row["layer"]),
                  list(theta.heads.astype(str)).index(row["head"]), int(row["i"]))
            s = list(theta.steps).index(int(row["step"]))
            self.expect_same(theta.values[s][at], float(row["theta"]), f"{what}, {row}", 2e-8)
            self.expect_same(theta.initial[at], float(row["theta_initial"]), f"{what}, {row}", 1e-8)
        self.assertEqual(theta.values.size, len(rows), what)
        self.assertEqual(theta.initial.size * len(theta.steps), len(rows), what)

    def test_a_run_has_the_numbers_of_its_files(self):
        run = rotor.run("runs/head")
        metrics = read("runs/head/metrics.csv")
        self.assertEqual(list(run.metrics), list(metrics[0]))
        for name, column in run.metrics.items():
            self.assertEqual(len(column), len(metrics))
            for got, row in zip(column, metrics):
                self.expect_same(float(got), number(row[name]), name)
        self.assertEqual(list(run.metrics["step"]), [2, 4, 6, 8])
        self.assertEqual(run.metrics["step"].dtype.kind, "i")
        self.assertEqual(list(np.isnan(run.metrics["eval_loss"])), [True, False, True, False])
        rows = [row for row in read("runs/head/result.csv") if row["name"] != "end"]
        self.assertEqual(list(run.result), [row["name"] for row in rows])
        for row in rows:
            self.expect_same(run.result[row["name"]], number(row["value"]), row["name"])
        self.assertIs(type(run.result["steps"]), int)
        usage = rotor.table("runs/head/usage.csv")
        for i, row in enumerate(read("runs/head/usage.csv")):
            for name, cell in row.items():
                self.expect_same(float(usage[name][i]), number(cell), f"usage.csv, {name}")
        self.assertIn("theta.learn=yes", rotor.table("runs/head/timing.csv")["command"][0])

    def test_the_configuration_has_the_values_of_config_ini(self):
        config, lines = rotor.run("runs/head").config, 0
        section = ""
        for line in Path("runs/head/config.ini").read_text(encoding="utf-8").splitlines():
            section = line[1:-1] if line.startswith("[") else section
            if re.match(r"[a-z]", line):
                key, value = line.split(" = ")
                got, lines = config[f"{section}.{key}"], lines + 1
                if isinstance(got, str):
                    self.assertEqual(got, value)
                else:
                    self.assertEqual(got, float(value))
        self.assertEqual(len(config), lines)
        self.assertEqual(config["train.steps"], 8)
        self.assertIs(type(config["train.steps"]), int)
        self.assertEqual(config["optimizer.eps"], 1e-8)
        self.assertEqual(config["theta.learn"], "yes")
        self.assertEqual(rotor.run("runs/007").config["run.name"], "007")

    def test_the_evaluation_of_the_program_is_that_of_the_run(self):
        for name in "head", "patience":
            run = rotor.run(f"runs/{name}")
            said = subprocess.run([TRAIN, f"runs/{name}/config.ini", "--eval"], capture_output=True,
                                  text=True, check=True).stdout
            step, loss, accuracy = re.search(
                r"step (\d+)\neval: loss ([0-9.]+), accuracy ([0-9.]+)", said).groups()
            self.expect_same(run.result["eval_loss"], float(loss), "loss", 1e-5)
            self.assertAlmostEqual(run.result["eval_accuracy"], float(accuracy), 3)
            self.assertEqual(run.checkpoint().step, int(step), name)
        self.assertLess(run.checkpoint().step, run.result["steps"])

    def test_theta_has_the_numbers_of_its_table_for_each_scope_and_form(self):
        for name, shape in {"head": (1, 2, 4), "model": (1, 1, 4), "layer": (2, 1, 4),
                            "raw": (1, 2, 4), "every": (2, 2, 4), "kv": (1, 1, 4),
                            "mixed": (1, 2, 16)}.items():
            run, rows = rotor.run(f"runs/{name}"), read(f"runs/{name}/theta.csv")
            self.assertEqual(run.theta.values.shape[1:], shape, name)
            self.expect_theta(run.theta, rows, name)
            last = [row for row in rows if row["step"] == str(run.theta.steps[-1])]
            self.expect_theta(run.checkpoint().theta, last, f"checkpoint of {name}")
            first = run.checkpoint(int(run.theta.steps[1]))
            self.expect_theta(first.theta, [row for row in rows if row["step"] == str(first.step)],
                              f"earlier checkpoint of {name}")

    def test_a_fixed_theta_is_none(self):
        run = rotor.run("runs/fixed")
        self.assertIsNone(run.theta)
        self.assertIsNone(run.checkpoint().theta)

    def test_a_checkpoint_has_the_parameters_of_its_file(self):
        checkpoint = rotor.run("runs/head").checkpoint(4)
        self.assertEqual(checkpoint.step, 4)
        names = []
        with h5py.File("runs/head/checkpoints/step-00000004.h5") as file:
            file["model"].visit(names.append)
            names = [name for name in names if isinstance(file["model"][name], h5py.Dataset)]
            for name in names:
                got = checkpoint.parameters[name.replace("/", ".")]
                self.assertTrue(np.array_equal(got, file["model"][name][...]), name)
        self.assertEqual(len(checkpoint.parameters), len(names))
        self.assertEqual(checkpoint.parameters["layers.0.attention.query.weight"].shape, (16, 16))
        self.assertEqual(checkpoint.attributes["position.pairing"], "interleaved")
        self.assertEqual(checkpoint.attributes["format"], "rotor")
        self.assertEqual(checkpoint.config, rotor.run("runs/head").config)

    # Runs that are not whole

    def test_a_run_that_has_not_ended_has_no_result(self):
        folder = self.copy("unfinished", "head")
        whole = (folder / "result.csv").read_text()
        (folder / "result.csv").write_text(whole[: whole.index("end,0")])
        self.assertEqual(rotor.run(folder).result, {})
        (folder / "result.csv").unlink()
        self.assertEqual(rotor.run(folder).result, {})
        self.assertEqual(rotor.run(folder).checkpoint().step, 8)

    def test_names_are_texts_even_if_they_look_like_numbers(self):
        labels = ["001", "01", "1", "1e3", "nan"]
        Path("confusion.csv").write_text("true,predicted,count\n" + "".join(
            f"{label},{label},{i}\n" for i, label in enumerate(labels)))
        table = rotor.table("confusion.csv")
        for name in "true", "predicted":
            self.assertEqual(list(table[name]), labels)
        self.assertEqual(list(table["count"]), list(range(5)))
        Path("seeds.csv").write_text("run,run.seed\n7,18446744073709551615\n")
        self.assertEqual([list(x) for x in rotor.table("seeds.csv").values()],
                         [["7"], ["18446744073709551615"]])
        folder = Path("numbered")
        folder.mkdir()
        (folder / "runs.csv").write_text("run,variant,exit_code\n1,1,0\n01,01,0\n1e3,1e3,0\n")
        rows = rotor.sweep(folder).rows
        self.assertEqual([row.setting["variant"] for row in rows], ["1", "01", "1e3"])
        self.assertEqual([x["run"] for row in rows for x in row.runs.values()], ["1", "01", "1e3"])

    def test_a_last_line_that_is_being_written_is_left_out(self):
        folder = self.copy("writing", "head")
        for name in "metrics.csv", "theta.csv":
            with open(folder / name, "a") as file:
                file.write("10,0,0")
        run = rotor.run(folder)
        self.assertEqual(list(run.metrics["step"]), [2, 4, 6, 8])
        self.assertEqual(list(run.theta.steps), list(rotor.run("runs/head").theta.steps))
        rows = (folder / "theta.csv").read_text().splitlines()
        (folder / "theta.csv").write_text("\n".join(rows[:-2]) + "\n")
        theta = rotor.run(folder).theta
        self.assertEqual(int(np.isnan(theta.values).sum()), 1)
        self.assertTrue(math.isnan(theta.values[-1, -1, -1, -1]))

    def test_damaged_tables_are_named(self):
        folder = self.copy("damaged", "head")
        lines = (folder / "metrics.csv").read_text().splitlines(True)
        for damage, message in (
                ([lines[0], lines[1], "4,1536\n"], r"metrics.csv:3: 2 cells instead of 9"),
                ([lines[0], lines[1].replace("0.", "0x", 1)], r"metrics.csv: column \w+: .*0x"),
                ([lines[0], '2,"' + lines[1][2:]], r"metrics.csv: unexpected end")):
            (folder / "metrics.csv").write_text("".join(damage))
            self.expect_error(message, None, lambda: rotor.run(folder).metrics)
        (folder / "metrics.csv").unlink()
        self.expect_error("metrics.csv: No such file", None, lambda: rotor.run(folder).metrics)
        (folder / "theta.csv").write_text("step,layer,head,i,theta,theta_initial\n0,0,0,0,x,1\n")
        self.expect_error("theta.csv: column theta: .*x", None, lambda: rotor.run(folder).theta)
        (folder / "metrics.csv").write_text(lines[0])
        self.assertEqual(len(rotor.run(folder).metrics["loss"]), 0)
        (folder / "config.ini").write_text("steps = 8\n")
        self.expect_error("config.ini: .*no section", None, rotor.run, folder)

    def test_a_checkpoint_that_is_missing_or_damaged_is_named(self):
        folder = self.copy("unsaved", "head")
        (folder / "checkpoints" / "step-8 (copy).h5").write_text("")
        self.expect_error(r"no checkpoint of step 5; it has \[4, 8\]", None,
                          rotor.run(folder).checkpoint, 5)
        self.expect_error("no checkpoint of step 0", None, rotor.run(folder).checkpoint, 0)
        path = folder / "checkpoints" / "step-00000008.h5"
        path.write_bytes(path.read_bytes()[:3000])
        self.expect_error("step-00000008.h5: no checkpoint of rotor, or a damaged one", None,
                          rotor.run(folder).checkpoint)
        with h5py.File(path, "w") as file:
            file["x"] = 1
        self.expect_error("no checkpoint of rotor", None, rotor.run(folder).checkpoint)
        shutil.rmtree(folder / "checkpoints")
        self.expect_error(r"no checkpoint of step None; it has \[\]", None,
                          rotor.run(folder).checkpoint)
        self.expect_error("no checkpoint of rotor", None, rotor.Checkpoint, "none.h5")

    def test_folders_of_another_kind_are_refused(self):
        self.expect_error("runs/none/config.ini: No such file", None, rotor.run, "runs/none")
        self.expect_error("the folder of a sweep: use rotor.sweep", None, rotor.run, "runs/study")
        self.expect_error("runs/head/runs.csv: No such file", None, rotor.sweep, "runs/head")

    # A sweep

    def test_a_sweep_has_the_numbers_of_its_tables(self):
        for name in "study", "variants", "failed":
            sweep, rows = rotor.sweep(f"runs/{name}"), read(f"runs/{name}/runs.csv")
            found = {run["run"]: (row, seed, run) for row in sweep.rows
                     for seed, run in row.runs.items()}
            self.assertEqual(sorted(found), sorted(row["run"] for row in rows))
            for wanted in rows:
                row, seed, run = found[wanted["run"]]
                self.assertEqual(str(seed), wanted.get("run.seed", "None"))
                for key, value in row.setting.items():
                    self.assertEqual(value if isinstance(value, str) else float(value),
                                     wanted[key] if isinstance(value, str) else float(wanted[key]))
                for column in list(wanted)[1 + len(sweep.keys):]:
                    self.expect_same(run[column], number(wanted[column]), f"{wanted['run']}, {column}")
            means = read(f"runs/{name}/sweep.csv")
            self.assertEqual(len(means), len(sweep.rows))
            for row, wanted in zip(sweep.rows, means):
                self.assertEqual(len(row.runs), int(wanted["runs"]))
                losses = np.array([run["eval_loss"] for run in row.runs.values()])
                losses = losses[~np.isnan(losses)]
                self.assertEqual(len(losses), int(wanted["eval_loss_n"]))
                mean = losses.mean() if len(losses) else math.nan
                self.expect_same(mean, number(wanted["eval_loss_mean"]), "mean")
        variants = rotor.sweep("runs/variants")
        self.assertEqual([row.setting for row in variants.rows], [{"variant": "plain"},
                                                                  {"variant": "pre"}])
        self.assertEqual(sweep.keys, ["run.seed", "optimizer.lr"])
        self.assertEqual([row.setting for row in sweep.rows], [{"optimizer.lr": 1e-3},
                                                               {"optimizer.lr": 1e30}])
        self.assertEqual(list(sweep.rows[0].runs), [1, 2])
        self.assertEqual([run["exit_code"] for run in sweep.rows[1].runs.values()], [5, 5])
        self.assertTrue(math.isnan(sweep.rows[1].runs[1]["eval_loss"]))
        one = rotor.run(sweep.folder / sweep.rows[0].runs[1]["run"])
        self.assertEqual(one.result["eval_loss"], sweep.rows[0].runs[1]["eval_loss"])

    def test_paired_differences_are_those_of_the_table_and_of_the_report(self):
        pairs = collections.Counter()
        for name in "study", "variants", "failed", "idle":
            sweep, wanted = rotor.sweep(f"runs/{name}"), read(f"runs/{name}/paired.csv")
            for result in None, "eval_loss":
                got = sweep.paired(result)
                self.assertEqual(len(got), len(wanted))
                for d, row in zip(got, wanted):
                    self.assertEqual([d.key, d.value, d.against, d.n],
                                     [row["key"], row["value"], row["against"], int(row["n"])])
                    pairs[name, d.n] += 1
                    for field in "mean", "low", "high", "detectable_90":
                        self.expect_same(getattr(d, field), number(row[field]),
                                         f"{name}, {d.key} = {d.value}, {field}", 1e-8)
        self.assertEqual(pairs, {("study", 6): 4, ("variants", 1): 2, ("failed", 0): 2,
                                 ("idle", 4): 2, ("idle", 2): 2})
        report = Path("runs/study/report.html").read_text(encoding="utf-8")
        for d in rotor.sweep("runs/study").paired("eval_loss"):
            for cell in (f"{d.mean:+.3g}", f"{d.low:+.3g} to {d.high:+.3g}",
                         f"{d.detectable_90:.3g}", str(d.n)):
                self.assertIn(f"<td>{cell}</td>", report)

    def test_runs_that_a_key_cannot_change_are_one(self):
        rows = rotor.sweep("runs/idle").rows
        self.assertEqual([(row.setting["optimizer.momentum"], len(row.runs)) for row in rows],
                         [("", 2), (0.5, 2), (0.9, 2)])
        for row, wanted in zip(rows, read("runs/idle/sweep.csv"), strict=True):
            self.assertEqual(str(row.setting["optimizer.momentum"]), wanted["optimizer.momentum"])
            losses = [run["eval_loss"] for run in row.runs.values()]
            self.expect_same(np.mean(losses), number(wanted["eval_loss_mean"]), "mean", 1e-8)

    def test_differences_of_any_result_are_paired_by_seed(self):
        folder = Path("runs/written")
        folder.mkdir()
        (folder / "runs.csv").write_text(
            "run,data.file,run.seed,exit_code,eval_accuracy\n"
            '1,"a, b",1,0,0.5\n2,"a, b",2,0,0.25\n3,"a, b",3,,\n4,,2,0,0.75\n5,,1,0,0.5\n6,,3,0,1\n')
        sweep = rotor.sweep(folder)
        self.assertEqual([row.setting for row in sweep.rows], [{"data.file": "a, b"}, {"data.file": ""}])
        (d,) = sweep.paired("eval_accuracy")  # 0 and 0.5; t with one degree of freedom is 12.7062
        self.assertEqual((d.key, d.value, d.against, d.n, d.mean), ("data.file", "", "a, b", 2, 0.25))
        self.expect_same(d.low, 0.25 - 12.7062 * 0.25, "low", 1e-5)
        self.expect_same(d.high, 0.25 + 12.7062 * 0.25, "high", 1e-5)
        self.expect_same(d.detectable_90, 20.9644 * 0.25, "detectable", 1e-5)
        self.assertTrue(math.isnan(sweep.rows[0].runs[3]["exit_code"]))
        (folder / "runs.csv").write_text("run,model.dim,model.norm,exit_code,eval_accuracy\n"
                                         "1,8,pre,0,0.5\n2,16,pre,0,1\n3,8,post,0,0\n4,16,post,0,1\n")
        d = rotor.sweep(folder).paired("eval_accuracy")[0]  # two pairs of one seed have no interval
        self.assertEqual((d.key, d.n, d.mean), ("model.dim", 2, 0.75))
        self.assertTrue(math.isnan(d.low) and math.isnan(d.high) and math.isnan(d.detectable_90))
        # a run that diverged has no pair
        (folder / "runs.csv").write_text(
            "run,model.dim,run.seed,exit_code,eval_loss,diverged_above\n"
            "1,8,1,0,9e9,4\n2,16,1,0,2,\n3,8,2,0,1,\n4,16,2,0,2,\n")
        self.assertEqual(rotor.sweep(folder).paired("eval_loss")[0][3:5], (1, 1))

    def test_runs_on_changed_data_are_in_rows_of_their_own(self):
        lines = ["the cat sat on the mat, and the dog ran around it\n"] * 40
        Path("text.ini").write_text(SMALL.replace("vocab = 12\n", ""))
        options = {"run__name": "changed", "data__task": "text", "data__file": "changed.txt",
                   "data__level": "byte", "sweep__theta__learn": ["no", "yes"]}
        Path("changed.txt").write_text("".join(lines))
        rotor.train("text.ini", sweep__run__seed=[1, 2], **options)
        self.assertEqual([len(row.runs) for row in rotor.sweep("runs/changed").rows], [2, 2])
        Path("changed.txt").write_text("".join(lines[1:]))
        sweep = rotor.train("text.ini", sweep__run__seed=[1, 2, 3], **options)
        self.assertEqual([list(row.runs) for row in sweep.rows], [[1, 2], [1, 2], [3], [3]])
        self.assertEqual([row.setting["theta.learn"] for row in sweep.rows], ["no", "yes"] * 2)
        self.assertEqual(len(read("runs/changed/sweep.csv")), 4)
        path = str(Path("changed.txt").resolve())
        for row, count in zip(sweep.rows, (40, 40, 39, 39)):
            self.assertRegex(row.data[path][0], rf"^{count * len(lines[0])} bytes, XXH128 [0-9a-f]+$")
        for got, wanted in zip(sweep.paired("eval_loss"), sweep.paired()):
            self.expect_same(got.mean, wanted.mean, "mean", 1e-8)
            self.assertEqual(got.n, wanted.n)
        # another content under one key: no pair
        sweep._cells = [cells for cells in sweep._cells
                        if (cells[sweep.keys.index("run.seed") + 1] == "3") == ("yes" in cells)]
        self.assertEqual([d.n for d in sweep.paired("eval_loss") if d.key == "theta.learn"], [0])

    def test_student_has_the_quantiles_of_tables(self):
        for n, t in {2: 12.7062, 3: 4.30265, 4: 3.18245, 11: 2.22814, 31: 2.04227}.items():
            self.expect_same(rotor._student(n)[0] * math.sqrt(n), t, f"t of {n - 1}", 2e-6)

    # Training

    def test_overrides_reach_the_program(self):
        rotor.train("small.ini", run__name="typed", train__steps=1)
        run = rotor.train(Path("small.ini"), run__name="typed", model__norm="pre", overwrite=True,
                          model__tie_embeddings=False, train__eval_lengths=(16, 20),
                          optimizer__lr=np.float64(0.002), train__steps=np.int64(2))
        self.assertEqual([run.config[key] for key in (
            "model.norm", "model.tie_embeddings", "train.eval_lengths", "optimizer.lr", "train.steps")],
            ["pre", "no", "16,20", 0.002, 2])
        self.assertEqual(str(run.folder), "runs/typed")

    def test_errors_of_the_program_are_raised(self):
        self.expect_error("runs/head already holds a run: give --resume", 2, rotor.train, "small.ini",
                          run__name="head")
        self.expect_error("data.length must be .*; got 'abc'$", 2, rotor.train, "small.ini",
                          data__length="abc")
        self.expect_error("unknown section 'nonsense'", 2, rotor.train, "small.ini", nonsense__x=1)
        self.expect_error("none.ini", 2, rotor.train, "none.ini")
        self.expect_error("/none/train cannot be started: No such file", None, rotor.train,
                          "small.ini", program="/none/train")
        error = self.expect_error("accuracy .* is below train.target_accuracy", 7, rotor.train,
                                  "small.ini", run__name="target", train__target_accuracy=1)
        self.assertEqual(error.run.result["exit_code"], 7)
        self.expect_error("loss is -?(nan|inf)", 5, rotor.train, "small.ini", run__name="diverged",
                          optimizer__kind="sgd", optimizer__clip_norm=0, optimizer__lr=1e30)
        self.assertEqual(rotor.run("runs/diverged").result["exit_code"], 5)
        self.assertEqual(FAILED.exit_code, 5)
        self.assertEqual(str(FAILED), "exit code 5: see output.log of its runs in runs/failed")
        self.assertEqual(len(FAILED.run.rows), 2)

    def test_the_program_is_the_argument_or_that_of_the_environment(self):
        Path("say").write_text("#!/bin/sh\nread -r _ _ _ _ group _ </proc/$$/stat\n"
                               "[ $group = $$ ] && echo \"$0 $* in a group of its own\" >&2\nexit 9\n")
        Path("say").chmod(0o755)
        try:
            os.environ["ROTOR_PROGRAM"] = "./say"
            self.expect_error("^./say small.ini --quiet --resume in a group of its own$", 9,
                              rotor.train, "small.ini", resume=True)
            self.assertTrue(rotor.train("small.ini", program=TRAIN, run__name="argument", train__steps=1))
            self.expect_error("^exit code 9: see above$", 9, rotor.train, "small.ini", progress=True)
        finally:
            os.environ["ROTOR_PROGRAM"] = str(TRAIN)

    def test_an_interrupt_saves_a_checkpoint_from_which_resume_continues(self):
        # No checkpoint but the one of the interrupt, which goes to the whole group, as in a terminal.
        script = ("import rotor\ntry:\n    rotor.train('small.ini', run__name='long', train__steps=5000,"
                  " train__eval_every=5000, train__checkpoint_every=5000)\nexcept KeyboardInterrupt:\n"
                  "    print(rotor.run('runs/long').checkpoint().step)\n")
        path = Path("runs/long/metrics.csv")
        # In the background of a shell interrupts are ignored, unless one asks for them.
        with subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                              start_new_session=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCES / "python")}) as process:
            while process.poll() is None and not (path.exists() and path.read_text().count("\n") > 2):
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGINT)
            step = int(process.communicate()[0])
        self.assertEqual(rotor.run("runs/long").result, {})
        run = rotor.train("small.ini", run__name="long", train__steps=step + 2, resume=True,
                          train__eval_every=5000, train__checkpoint_every=5000,
                          optimizer__schedule_steps=5000)
        self.assertEqual(run.result["steps"], step + 2)

    # The page

    def test_the_blocks_of_the_page_run(self):
        page = (SOURCES / "docs/python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 5)
        self.assertEqual(len([line for line in blocks[0].splitlines() if line]), 10)
        drawn = []
        try:
            import matplotlib
            matplotlib.use("Agg")
        except ImportError:  # a stand-in that notes what is drawn
            pyplot = types.ModuleType("matplotlib.pyplot")
            pyplot.__getattr__ = lambda name: lambda *a, **named: drawn.append((name, a))
            pyplot.savefig = lambda path: Path(path).write_text("drawn")
            package = types.ModuleType("matplotlib")
            package.pyplot = pyplot
            sys.modules.update({"matplotlib": package, "matplotlib.pyplot": pyplot})
        shutil.copy("small.ini", "mine.ini")
        self.copy("quickstart", "head")
        names = {}
        with open("printed", "w", encoding="utf-8") as printed:
            for block in blocks:
                exec(block, {**names, "print": lambda *a: print(*a, file=printed)}, names)
        self.assertTrue(Path("drift.png").stat().st_size)
        for name, arguments in drawn:
            if name == "plot":
                self.assertEqual(len(arguments[0]), len(arguments[1]))
        printed = Path("printed").read_text(encoding="utf-8")
        self.assertRegex(printed, r"\{'optimizer.lr': 0.001\} \[[0-9., ]+\]\n")
        self.assertRegex(printed, r"\n7 .*the accuracy .* is below train.target_accuracy = 1 0\.")
        self.assertRegex(printed, r"\noptimizer.lr = 0.003 against 0.001: .*, 3 pairs\n")


def train_all():
    """Trains what the tests read, and returns the error of the sweep with failed runs."""
    Path("small.ini").write_text(SMALL, encoding="utf-8")
    learn = {"theta__learn": True}
    rotor.train("small.ini", run__name="head", theta__scope="head", **learn)
    rotor.train("small.ini", run__name="model", theta__scope="model", model__layers=2, **learn)
    rotor.train("small.ini", run__name="layer", theta__scope="layer", model__layers=2, **learn)
    rotor.train("small.ini", run__name="raw", theta__scope="head", theta__form="raw", **learn)
    rotor.train("small.ini", run__name="every", theta__scope="head", model__layers=3,
                position__every=2, **learn)
    rotor.train("small.ini", run__name="kv", theta__scope="head", model__kv_heads=1, **learn)
    rotor.train(SOURCES / "experiments/spin2.ini", run__name="mixed", train__steps=4,
                train__eval_every=2, train__eval_batches=1)
    rotor.train("small.ini", run__name="fixed")
    rotor.train("small.ini", run__name="007", train__steps=1)
    rotor.train("small.ini", run__name="patience", optimizer__lr=0.5, optimizer__schedule="constant",
                train__steps=80, train__eval_every=2, train__patience=2)
    Path("variants.ini").write_text(
        SMALL + "[variant plain]\n[variant pre]\nmodel.norm = pre\n", encoding="utf-8")
    rotor.train("variants.ini", run__name="variants")
    rotor.train("small.ini", run__name="idle", sweep__run__seed=[1, 2],
                sweep__optimizer__kind=["adamw", "sgd"], sweep__optimizer__momentum=[0.5, 0.9])
    del os.environ["ROTOR_NO_REPORT"]
    rotor.train("small.ini", run__name="study", sweep__run__seed=[1, 2, 3],
                sweep__theta__learn=["no", "yes"], sweep__train__steps=[4, 8])
    os.environ["ROTOR_NO_REPORT"] = "1"
    try:
        rotor.train("small.ini", run__name="failed", optimizer__kind="sgd", optimizer__clip_norm=0,
                    sweep__run__seed=[1, 2], sweep__optimizer__lr=["1e-3", "1e30"])
    except rotor.Error as error:
        return error
    raise AssertionError("the sweep did not fail")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        os.environ.update(ROTOR_NO_REPORT="1", ROTOR_PROGRAM=str(TRAIN), OPENBLAS_NUM_THREADS="1")
        FAILED = train_all()
        outcome = unittest.main(exit=False, verbosity=1).result
        os.chdir("/")
    sys.exit(not outcome.wasSuccessful())
