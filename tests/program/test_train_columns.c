/* docs/run-folder.md against the tables that runs write: both have the same columns. */

#include "train_program.h"

/* Writes the columns of the page as patterns "FILE COLUMN", the results as those of a file
 * "results". Capitals stand for names that a run or a sweep chooses. */
static const char read_page[] =
    "awk -F'|' '/^## The results/ { results = 1 } /^[|] `/ { n = split(results ? \"results\" : $2, "
    "files, \",\"); m = split(results ? $2 : $3, names, \",\"); for (i = 1; i <= n; i++) for (k = "
    "1; k <= m; k++) { file = files[i]; name = names[k]; gsub(/[ `]/, \"\", file); gsub(/[ `]/, "
    "\"\", name); gsub(/[A-Z]+/, \"[^,]+\", name); if (file ~ /^results$|csv$/) print file \" \" "
    "name } }' " TEST_SOURCES "/../docs/run-folder.md >patterns; test $(wc -l <patterns) -gt 50";

/* Writes the columns of every table of runs and sweeps to "written", without the runs of a sweep.
 */
static const char read_tables[] =
    "for f in runs/*/*.csv; do head -n 1 $f | tr , '\n' | sed \"s|^|${f##*/} |\"; done >all; sed "
    "-s '1d; /^end,/d; s/,.*//; s/^/results /' runs/*/result.csv | sort -u - all >written";

#define SHORT TINY "train.steps=20 optimizer.schedule_steps=20 "

SUITE(PROGRAM_OPTIONS)

TEST(the_page_has_every_column_that_runs_write)
{
    run("%s", read_page);
    run(SHORT "run.name=theta theta.init=perturbed theta.tolerances=yes theta.cutoffs=yes "
              "train.eval_lengths=16 train.eval_batches=1 && $TRAIN runs/theta/config.ini --quiet "
              "--resume train.steps=40 optimizer.schedule_steps=40 && yes 'a line' | head -c 4000 "
              ">text.txt; " SHORT
              "run.name=text theta.learn=no data.task=text data.vocab=32 data.file=text.txt "
              "data.objective=lm model.causal=yes train.eval_every=5 train.patience=2");
    run("printf 'text\\tlabel\\na\\tb\\nc\\td\\n' >rows.tsv; " SHORT
        "run.name=rows theta.learn=no data.task=classify data.vocab=32 data.file=rows.tsv "
        "data.eval_fraction=0 && $TRAIN tiny.ini --quiet run.name=diverged optimizer.lr=10 "
        "optimizer.warmup_steps=60 && $TRAIN tiny.ini --quiet run.name=best optimizer.lr=10 "
        "optimizer.warmup_steps=60 train.steps=100 train.patience=3");
    run(SHORT
        "run.name=far theta.learn=no data.task=passkey data.length=16 && " SHORT
        "run.name=content model.causal=yes position.kind=selective position.forget=gate && " SHORT
        "run.name=answers theta.learn=no data.length=4..16 model.causal=yes train.eval_lengths=18");
    run("printf '\\0\\0\\10\\3\\0\\0\\0\\10\\0\\0\\0\\10\\0\\0\\0\\10' >images-idx3; head -c 512 "
        "/dev/urandom >>images-idx3; printf '\\0\\0\\10\\1\\0\\0\\0\\10\\0\\1\\0\\1\\0\\1\\0\\1' "
        ">labels-idx1; sed '/^length/d; /^vocab/d' tiny.ini >images.ini; $TRAIN images.ini --quiet "
        "train.steps=20 theta.learn=no data.task=images data.file=images-idx3 data.size=8 "
        "data.eval_fraction=0 train.eval_sizes=12");
    run("printf '[variant a]\\nmodel.layers = 1\\n' >>tiny.ini; " SHORT
        "run.name=sweep sweep.run.seed=1 sweep.model.dim=8,16 && " SHORT
        "run.name=sweep sweep.run.seed=1,2 sweep.model.dim=8,16 --resume");
    run("%s", read_tables);
    expect_output("",
                  "grep -vxEf patterns written | sed 's/^/not on the page: /'; while read -r row; "
                  "do grep -qxE \"$row\" written || echo \"never written: $row\"; done <patterns");
}
