#!/bin/sh
# The measurements of a pretrained model (experiments/real): its driver on a small model, whose rows are made once,
# and the tables and verdicts of made-up results. The page has the tables that its results give, or says that there
# are none.
#
#     tests/check_real.sh BUILD_FOLDER
set -eu
export LC_ALL=C
build=$(cd "$1" && pwd)
real=$(cd "$(dirname "$0")/../experiments/real" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

has() { # has LINE FILE
    grep -qxF -e "$1" "$2" || { echo "no line '$1' in:" >&2; cat "$2" >&2; failed=1; }
}

# ---- the driver ----

seq 20000 | sed 's/$/ a line of a text/' >text
cat >model.ini <<'END'
[model]
kind = decoder
layers = 3
dim = 16
heads = 2
[theta]
learn = no
[data]
task = text
objective = lm
file = text
length = 32
[train]
steps = 1
[run]
name = small
END
"$build/train" model.ini --quiet >log
"$build/train" --checkpoint runs/small --export small.gguf --quiet >log
for row in cut 'usage cut'; do
    # shellcheck disable=SC2086
    TEXT=text MODEL=small.gguf "$real/run" "$build" results $row >log 2>&1 || { cat log >&2; failed=1; }
done
awk -F, '{ n[$1]++ } END { print n["usage"], n["cut"], NR }' results/runs.csv >counts
has '1 1 3' counts
awk -F, '$1 == "usage" && $4 == 2 && $5 == 1 && $6 == 3 { print NF, ($9 > 0), ($10 > 0) }' results/usage.csv >counts
has '10 1 1' counts
# What learned is not what it began with, and the whole model is neither.
awk -F, '$3 ~ /-1024$/ { loss[$4, $3] = $5 } END {
    for (line = 1; line <= 8; line++)
        n += loss[line, "cut-1024"] != loss[line, "theta_final-1024"] && loss[line, "cut-1024"] != loss[line, "whole-1024"]
    print n }' results/losses.csv >counts
has 8 counts
awk -F, '$3 == "drift" && $7 != 0 { n++ } END { print n }' results/gradients.csv >counts
has 12 counts

# ---- the tables ----

# Pair 5 is needed by 0.1 at each length, from + up + down and bands change nothing; gradients of slow pairs lie above 0.
mkdir made-up
awk -v OFS=, 'BEGIN {
    print "row,unit,arm,exit_code,loss,seconds" >"made-up/runs.csv"
    print "row,unit,arm,line,loss,tokens" >"made-up/losses.csv"
    print "row,unit,arm,layer,i,theta,gradient,deviation,sequences" >"made-up/gradients.csv"
    print "row,unit,arm,layer,head,i,theta,use,query,key" >"made-up/usage.csv"
    split("64 512 1900", length_, " ")
    for (k = 1; k <= 3; k++) {
        unit("whole-0", length_[k], 0)
        for (i = 0; i < 32; i++) {
            unit("off-" i, length_[k], i == 5 ? 0.1 : 0)
            unit("up-" i, length_[k], 0)
            unit("down-" i, length_[k], 0)
            if (i % 2 == 0) unit("from-" i, length_[k], 0)
        }
    }
    for (part = 1; part <= 4; part++) {
        print "gradient", "part-" part, "layer", 0, "", 1 >"made-up/runs.csv"
        print "gradient", "part-" part, "model", 0, "", 1 >"made-up/runs.csv"
        for (i = 0; i < 32; i++)
            print "gradient", "part-" part, "model", "all", i, 1, (i > 12 ? 0.01 : 0), 0.02, 100 >"made-up/gradients.csv"
    }
    for (seed = 9001; seed <= 9008; seed++) {
        print "tuning", seed, "fixed", 0, 3, 1 >"made-up/runs.csv"
        print "tuning", seed, "placebo", 0, 3, 1 >"made-up/runs.csv"
        print "tuning", seed, "learned", 0, 3 + (seed % 2) * 1e-5, 1 >"made-up/runs.csv"
        print "tuning", seed, "faster", 0, 2.99 + (seed % 2) * 1e-4, 1 >"made-up/runs.csv"
    }
}
function unit(name, tokens, effect,    line) {
    print "pairs", name, tokens, 0, "", 1 >"made-up/runs.csv"
    for (line = 1; line <= 8; line++)
        print "pairs", name, tokens, line, 3 + line / 10 + effect * (1 + line % 2 / 10), tokens - 1 >"made-up/losses.csv"
}'
"$real/analyse" made-up >tables
has 'needed pairs at 64, 512 and 1,900 tokens: 1, 1, 1' tables
has '| pairs of 0.1 to 0.35 turns go down | reproduced |' tables
has '| pairs of 0.1 to 0.35 turns go up | contradicted |' tables
has 'learning θ helps when fine-tuning: reproduced' tables
# The deviation of all 400 is 0.0199; |t| with 399 degrees of freedom exceeds 3.184 once in 640 (5 % in a family of 32).
has '| 13 | 0.758 | +1.00e-02 [+6.83e-03, +1.32e-02] | down |' tables
! grep -q 'layers 0 to 9' tables || { echo "a row that has not ended is shown" >&2; failed=1; }
if command -v gnuplot >/dev/null; then
    gnuplot -e "here='$real'; results='made-up'; figure='theta.svg'" "$real/figure.gp" 2>errors
    if [ -s errors ] || ! grep -q 'SmolLM2-135M, T = 512, simultaneous' theta.svg; then
        cat errors >&2
        failed=1
    fi
fi
sed '/^pairs,off-5,512/d' made-up/runs.csv >rest
mv rest made-up/runs.csv
"$real/analyse" made-up >tables
! grep -q 'needed pairs' tables || { echo "pairs are shown without one of their units" >&2; failed=1; }

# ---- the page ----

if [ -f "$real/results/runs.csv" ]; then
    "$real/analyse" "$real/results" | while read -r line; do
        grep -qxF -e "$line" "$real/README.md" || { echo "experiments/real/README.md does not have: $line" >&2; exit 1; }
    done || failed=1
else
    has 'None yet.' "$real/README.md"
fi
exit $failed
