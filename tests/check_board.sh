#!/bin/sh
# The board (experiments/board): its judge on made-up results with a known table, and its runs, which survive
# a kill. The page has the tables that its results give, or says that nothing was run.
#
#     tests/check_board.sh BUILD_FOLDER
set -eu
export LC_ALL=C
build=$(cd "$1" && pwd)
board=$(cd "$(dirname "$0")/../experiments/board" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

has() { # has WHAT LINE FILE: the file has this line
    grep -qxF -e "$2" "$3" || { echo "$1: no line '$2' in $3" >&2; failed=1; }
}

code_of() { # code_of CODE COMMAND ...: it ends with this code
    code=0
    expected=$1
    shift
    "$@" >output 2>&1 || code=$?
    [ $code = "$expected" ] || { echo "exit code $code instead of $expected: $*" >&2; cat output >&2; failed=1; }
}

# ---- the judge ----

# Losses of rope and, less those, of three others: one is better, one is worse, one cannot be told. The standard
# error of -0.02 -0.01 0 0.01 0.02 is 0.01 / sqrt 2; |t| with 4 degrees of freedom exceeds 6.3643 once in 320: 5 % in a family of 16.
mkdir made-up
{
    echo part,unit,encoding,seed,lr,exit_code,parameters,eval_loss,eval_accuracy_at_64
    awk -v OFS=, 'BEGIN {
        for (k = -2; k <= 2; k++) {
            seed = 8013 + k; rope = 2.4 + k / 20
            print "induction-1", "rope-" seed, "rope", seed, 0.001, 0, 1000, rope, ""
            print "induction-1", "key-shift-" seed, "key-shift", seed, 0.003, 0, 1020, rope - 2.3 + k / 100, ""
            print "induction-1", "none-" seed, "none", seed, 0.001, 0, 1000, rope + 0.5 - k / 100, ""
            print "induction-1", "learned-" seed, "learned", seed, 0.001, 0, 1040, rope + 0.04 + k / 100, ""
            print "parity", "rope-" seed, "rope", seed, 0.001, 0, 1000, "", 0.5 + k / 100
            print "parity", "selective-" seed, "selective", seed, 0.001, 0, 1000, "", 0.51 - k / 100
            if (k < 2) print "parity", "t5-" seed, "t5", seed, 0.001, 0, 1000, "", 0.5
        }
    }'
} >made-up/runs.csv
"$board/judge" made-up >tables
cut -d '|' -f 2,10,13 tables >columns
has 'a cell that is better' ' key-shift | ▲ -2.300 (0.065) | – ' columns
has 'a cell that is worse' ' none | ▼ +0.500 (0.065) | – ' columns
has 'a cell that cannot be told' ' learned* | +0.040 (0.065) | – ' columns
has 'the reference' ' rope | 2.400 | 0.500 ' columns
has 'a cell with four of five seeds' ' t5 | – | – (4 of 5) ' columns
cut -d '|' -f 2,3,10 tables >columns
has 'parameters and a rate' ' key-shift | +2.0 % | 3 ' columns
has 'parameters above the limit' ' learned* | +4.0 % ! | 1 ' columns
has 'a prediction that holds' '| key shift learns induction in one layer | holds |' tables
has 'a prediction that does not' \
    '| Selective RoPE learns parity beyond its length | does not hold: 0 of 2 conditions |' tables
has 'a prediction without runs' '| ALiBi keeps the loss of longer texts | not run |' tables
awk -F, '$1 == "induction-1" && $2 == "key-shift" {
    found = 1
    half = 6.3643 * 0.01 / sqrt(2)
    for (i = 6; i <= 7; i++) {
        wanted = -2.3 + (i == 6 ? -half : half)
        if ($i < wanted - 1e-5 || $i > wanted + 1e-5) { print "interval: " $i " instead of " wanted; exit 1 }
    }
} END { exit !found }' made-up/cells.csv >&2 || failed=1
! command -v gnuplot >/dev/null || grep -q 'key-shift' made-up/board.svg || failed=1

# ---- the rows and the trainings ----

# Each row is a valid configuration of one training, and each training but text, whose file is made by a script, of
# one row.
words_of() { # words_of NAME FILE
    sed -n "s/^$1: *//p" "$board/$2" | sed 's/ *#.*//'
}
check() { # check TRAINING ENCODING
    # shellcheck disable=SC2046
    (cd "$board" && "$build/train" --check $(words_of "$1" trainings) $(words_of "$2" encodings)) >output 2>&1 ||
        { echo "$1 with $2:" >&2; cat output >&2; failed=1; }
}
names_of() { # names_of FILE
    sed -n 's/^\([a-z0-9-]*\):.*/\1/p' "$board/$1"
}
for name in $(names_of encodings); do check passkey "$name"; done
for name in $(names_of trainings); do [ "$name" = text ] || check "$name" pope; done
for name in $(names_of questions); do
    training=$(words_of "$name" questions | sed 's/.*training=\([^ ]*\).*/\1/')
    [ "$(words_of "$training" trainings)" ] || { echo "there is no training $training" >&2; failed=1; }
done

# ---- the runs ----

mkdir tiny
cat >tiny/tiny.ini <<'END'
[model]
kind = decoder
layers = 1
dim = 8
heads = 1
[data]
task = passkey
vocab = 8
length = 16
[optimizer]
warmup_steps = 1
[train]
steps = 2
batch_size = 2
eval_every = 2
eval_batches = 16
checkpoint_every = 2
END
echo 'rope: position.kind=rope' >tiny/encodings
echo 'tiny: tiny.ini train.eval_lengths=28' >tiny/trainings
echo 'beyond: training=tiny result=eval_accuracy_at_28 better=higher' >tiny/questions
export BOARD="$work/tiny" JOBS=2
# shellcheck disable=SC2317
run() { # run RESULTS [OPTION ...]
    results=$1
    shift
    "$board/board" "$build" "$results" "$@"
}
code_of 2 run refused nothing-of-the-kind
code_of 2 run refused --row 'no settings'
code_of 2 run refused --row '-mine: position.kind=none'
code_of 2 run refused --row 'mine: position.knd=none'
code_of 2 run refused --row 'mine: optimizer.lr=0.1'
code_of 2 run refused --row 'mine: position.kind=none' nothing-of-the-kind
[ ! -e refused ] || { echo 'a row that was refused is kept' >&2; failed=1; }
code_of 0 run whole --row 'mine: position.kind=none' beyond
code_of 2 run whole --row 'mine: position.kind=alibi' beyond
code_of 0 run whole --row 'rope: position.kind=rope' --row 'mine: position.kind=none' --row 'mine: position.kind=none'
[ ! "$(sort whole/units | uniq -d)" ] || { echo 'a run is made twice' >&2; failed=1; }
[ "$(grep -c '^tiny,mine-' whole/runs.csv)" = 5 ] || { echo 'the added row was not run' >&2; failed=1; }
[ "$(cut -d , -f 7 whole/runs.csv | grep -cx '[1-9][0-9]*')" = 18 ] || { echo 'no parameters' >&2; failed=1; }
awk -F, '
    $1 == "tiny-pilot" { sum[$3, $5] += $9 }
    $1 == "tiny" { judged++; wrong += $5 != (sum[$3, "0.003"] < sum[$3, "0.001"] ? "0.003" : "0.001") }
    NR > 1 && !($13 != "" && $19 != "") { print "no result: " $0 >"/dev/stderr"; wrong++ }
    END { exit judged != 10 || wrong }' whole/runs.csv || { echo 'not the better rate of the pilots, or no result' >&2; failed=1; }
"$board/judge" whole >tables
cut -d '|' -f 2 tables | tr -d ' ' >names
has 'an added row' mine names

# Killed with runs at work, and continued.
setsid "$board/board" "$build" killed --row 'mine: position.kind=none' >/dev/null 2>&1 &
until [ -f killed/runs.csv ] && [ "$(wc -l <killed/runs.csv)" -gt 3 ]; do sleep 0.05; done
killed=$(cat killed/pgid)
kill -s KILL -- "-$killed"
wait $! 2>/dev/null || true
flock -w 60 killed/.driver true # its runs hold the lock until they have ended
[ "$(wc -l <killed/runs.csv)" -lt 19 ] || { echo 'the kill came too late' >&2; failed=1; }
code_of 0 run killed
for results in whole killed; do cut -d , -f 1-7,9- $results/runs.csv | sort >$results.csv; done
diff whole.csv killed.csv >&2 || failed=1

# ---- the page ----

unset BOARD
cmp "$board/encodings" "$board/results/encodings" >&2 || failed=1
# The cost, from the pilots on rope with the keys of trainings and the times of the rows.
cost=$(awk -F, -v trainings="$(names_of trainings | tr '\n' ' ')" '
    FNR == 1 { file++; next }
    file == 1 && $2 == "" && $3 == "rope" && $5 > longest[$1] { longest[$1] = $5 }
    file == 2 { row += $2; rope += $3 }
    END {
        n = split(trainings, training, " ")
        line = "| seconds |"
        for (i = 1; i <= n; i++) { line = line sprintf(" %.0f |", longest[training[i]]); sum += longest[training[i]] }
        printf "%s\n%.0f seconds for all twelve\n%.1f core hours\n", line, sum, 153 * sum / 3600
        printf "took %.2f times\nwhich makes %.1f.\n%.1f hours on one core\n", row / rope, 153 * sum * row / rope / 3600,
            9 * sum / 3600
    }' "$board/pilots.csv" "$board/times.csv")
tr '\n' ' ' <"$board/README.md" >page
echo "$cost" | while read -r words; do
    grep -qF -e "$words" page || { echo "the page does not say: $words" >&2; exit 1; }
done || failed=1
if [ -f "$board/results/cells.csv" ]; then
    cp -r "$board/results" kept
    "$board/judge" kept >tables
    cmp kept/cells.csv "$board/results/cells.csv" >&2 || failed=1
    while read -r line; do
        has 'the page' "$line" "$board/README.md"
    done <tables
else
    has 'the page' 'Under way: no column has ended, and nothing has been looked at.' "$board/README.md"
fi
exit $failed
