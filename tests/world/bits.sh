#!/bin/sh
# The same bytes on any number of processes: a few cases, `all`, or `one`: a training on two processes.
#
#     tests/world/bits.sh BUILD [all|one]
set -eu
build=$(realpath "$1")
. "$(dirname "$0")/run.sh"
need_mpi

if [ "${2:-}" = all ]; then
    cases="train:2:1 train:2:2 train:3:1 train:3:2 train:4:1 train:4:2 train:5:1 train:5:2 train:8:1
        train:8:2 train-f64:2:1 train-f64:3:2 train-f64:5:1 train-f64:8:2"
    kinds="softmax linear_elu"
    transports="self,vader self,tcp"
elif [ "${2:-}" = one ]; then
    cases="train:2:1"
    kinds="softmax"
    transports="self,vader"
else
    cases="train:2:1 train:3:2 train:8:1 train-f64:5:1"
    kinds="softmax"
    transports="self,vader"
fi

for kind in $kinds; do
    options="$work/small.ini model.attention=$kind"
    for transport in $transports; do
        for case in $cases; do
            program=${case%%:*} rest=${case#*:}
            processes=${rest%:*} threads=${rest#*:}
            alone=alone-$kind-$program-$threads many=many-$kind-$case-$transport
            # shellcheck disable=SC2086
            [ -d "$work/$alone" ] || train_as "$alone" 1 $options run.threads="$threads" ||
                fail "$alone: $(cat "$work/$alone.err")"
            # shellcheck disable=SC2086
            train_as "$many" "$processes" $options run.threads="$threads" ||
                fail "$many: $(head -3 "$work/$many.err")"
            expect_same "$alone" "$many" "$kind, $program on $processes processes, $transport"
        done
    done
done
transport=self,vader program=train
[ "${2:-}" != one ] || exit $failures

# Large gradients, whose exchange takes more than one message of a transport, and words of a text.
{ for i in 1 2 3 4 5 6 7 8; do cat "$root/LICENSE"; done; } >"$work/text.txt"
large="$work/small.ini data.task=text data.vocab=32 data.file=$work/text.txt data.level=char data.length=64
    model.dim=128 model.heads=4 train.steps=3 run.threads=1"
# shellcheck disable=SC2086
train_as large-1 1 $large || fail "$(cat "$work/large-1.err")"
# shellcheck disable=SC2086
train_as large-3 3 $large || fail "$(cat "$work/large-3.err")"
expect_same large-1 large-3 "a text on 3 processes"

# A branch, whose theta joins the training; and a sweep that makes its trunk.
train_as trunk 1 "$work/small.ini" theta.learn=no train.steps=6 || fail "$(cat "$work/trunk.err")"
branch="$work/small.ini theta.learn=yes theta.scope=head
    train.trunk=$(find "$work" -path '*trunk/checkpoints/step-00000006.h5')"
# shellcheck disable=SC2086
train_as branch-1 1 $branch || fail "$(cat "$work/branch-1.err")"
# shellcheck disable=SC2086
train_as branch-3 3 $branch || fail "$(head -3 "$work/branch-3.err")"
expect_same branch-1 branch-3 "a branch on 3 processes"

# A run that stops early, by the loss on files of its own, after it has become worse: all processes
# evaluate the best model.
early="$work/small.ini data.task=text data.vocab=32 data.file=$work/text.txt data.level=char run.threads=1
    data.eval_file=$root/LICENSE,$work/text.txt train.patience=1 train.min_delta=1000 optimizer.lr=3
    optimizer.warmup_steps=12"
# shellcheck disable=SC2086
train_as early-1 1 $early || fail "$(cat "$work/early-1.err")"
# shellcheck disable=SC2086
train_as early-3 3 $early || fail "$(head -3 "$work/early-3.err")"
expect_same early-1 early-3 "a run that stops early on 3 processes"
grep -q '^stopped early at step 10 of 12: ' "$work/early-3.out" || fail "no early stop"
grep -q '^best: step 5, which these results' "$work/early-3.out" || fail "the best model is the last"

# Labelled texts, whose confusions are counted by all.
awk 'BEGIN { print "text\tlabel"; for (i = 0; i < 90; i++)
    print (i % 3 ? (i % 2 ? "an odd line " : "one more text ") : "words here ") i "\t" "abc" i % 3 }' \
    >"$work/labels.tsv"
labelled="$work/small.ini data.task=classify data.vocab=32 data.file=$work/labels.tsv data.level=byte
    data.length=24 data.eval_fraction=0.3 run.threads=1"
# shellcheck disable=SC2086
train_as labels-1 1 $labelled || fail "$(cat "$work/labels-1.err")"
# shellcheck disable=SC2086
train_as labels-2 2 $labelled || fail "$(cat "$work/labels-2.err")"
expect_same labels-1 labels-2 "labelled texts on 2 processes"

# The model of a run whose checkpoint process 0 alone reads, with all that is not written here.
cat >"$work/from.ini" <<END
[data]
length = 12
[train]
steps = 4
batch_size = 8
shards = 4
init_from = $work/model-0/runs/run
END
train_as model-0 1 "$work/small.ini" run.threads=1 position.pairing=half ||
    fail "$(cat "$work/model-0.err")"
train_as from-1 1 "$work/from.ini" run.threads=1 || fail "$(cat "$work/from-1.err")"
train_as from-3 3 "$work/from.ini" run.threads=1 || fail "$(head -3 "$work/from-3.err")"
expect_same from-1 from-3 "a run from the model of another on 3 processes"
expect_error 2 'the configuration contradicts the model of' mpirun --mca btl "$transport" -n 3 \
    "$build/train" "$work/from.ini" --quiet model.dim=8
mv "$work/model-0" "$work/gone"
train_as from-3 3 "$work/from.ini" run.threads=1 --resume || fail "$(head -3 "$work/from-3.err")"
expect_error 4 'No such file or directory' mpirun --mca btl "$transport" -n 3 "$build/train" \
    "$work/from.ini" --quiet

# Optimizers that have one state, or move a matrix as a whole.
for kind in lion muon; do
    # shellcheck disable=SC2086
    train_as $kind-1 1 $large optimizer.kind=$kind || fail "$(cat "$work/$kind-1.err")"
    # shellcheck disable=SC2086
    train_as $kind-3 3 $large optimizer.kind=$kind || fail "$(cat "$work/$kind-3.err")"
    expect_same $kind-1 $kind-3 "$kind on 3 processes"
done

# A frozen part, factors of heads, what is measured on theta, and other lengths.
frozen="$work/small.ini train.freeze=layers.0 theta.head_scale=yes theta.tolerances=yes theta.cutoffs=yes
    theta.log=yes run.log_every=2 train.eval_lengths=8,16 run.threads=1"
# shellcheck disable=SC2086
train_as frozen-1 1 $frozen || fail "$(cat "$work/frozen-1.err")"
# shellcheck disable=SC2086
train_as frozen-3 3 $frozen || fail "$(cat "$work/frozen-3.err")"
expect_same frozen-1 frozen-3 "a frozen layer on 3 processes"

# Positions that depend on content: sums, shifts and factors, of gates that are learned.
content="$work/small.ini model.causal=yes model.kind=decoder position.forget=gate position.key_shift=yes
    position.fraction=0.5 model.length_scale=learned run.threads=1"
# shellcheck disable=SC2086
train_as content-1 1 $content || fail "$(cat "$work/content-1.err")"
# shellcheck disable=SC2086
train_as content-3 3 $content || fail "$(cat "$work/content-3.err")"
expect_same content-1 content-3 "positions that depend on content on 3 processes"

# Angles that the tokens add up to, beside gates, with a temperature that is learned.
selective="$work/small.ini model.causal=yes model.kind=decoder position.kind=selective position.phase_bias=yes
    position.phase_gate=yes position.forget=gate theta.learn=yes run.threads=1"
# shellcheck disable=SC2086
train_as selective-1 1 $selective || fail "$(cat "$work/selective-1.err")"
# shellcheck disable=SC2086
train_as selective-3 3 $selective || fail "$(cat "$work/selective-3.err")"
expect_same selective-1 selective-3 "angles that the tokens add up to on 3 processes"

# Products in bf16 by another engine, where they can be had: threads and processes.
bf16="$work/small.ini run.engine=onednn run.math=bf16"
# shellcheck disable=SC2086
if "$build/train" $bf16 --check >"$work/check" 2>&1; then
    # shellcheck disable=SC2086
    for threads in 1 2; do
        train_as bf16-1-$threads 1 $bf16 run.threads=$threads || fail "$(cat "$work/bf16-1-$threads.err")"
        train_as bf16-3-$threads 3 $bf16 run.threads=$threads ||
            fail "$(head -3 "$work/bf16-3-$threads.err")"
        expect_same bf16-1-$threads bf16-3-$threads "bf16 on 3 processes of $threads threads"
    done
    for file in metrics.csv theta.csv theta_final.csv result.csv; do
        cmp -s "$work/bf16-1-1/runs/run/$file" "$work/bf16-1-2/runs/run/$file" ||
            fail "bf16 on 2 threads: $file differs"
    done
else
    echo "SKIP worlds in bf16: needs oneDNN and a processor with bf16 ($(cat "$work/check"))"
fi

# Stopped after step 6 on 4 processes, gone on with on 3, on one, and extended.
options="$work/small.ini run.threads=1"
# shellcheck disable=SC2086
train_as short 4 $options train.steps=6 optimizer.schedule_steps=12 ||
    fail "$(head -3 "$work/short.err")"
# shellcheck disable=SC2086
train_as short 3 $options --resume || fail "$(head -3 "$work/short.err")"
# shellcheck disable=SC2086
train_as short-1 1 $options train.steps=6 optimizer.schedule_steps=12 || fail "short-1"
# shellcheck disable=SC2086
train_as short-1 1 $options --resume || fail "$(head -3 "$work/short-1.err")"
expect_same short-1 short "stopped on 4 processes and resumed on 3"

# The runs of a sweep.
printf '[sweep]\nrun.seed = 1, 2, 3\noptimizer.lr = 1e-3, 3e-3\n' | cat "$work/small.ini" - \
    >"$work/sweep.ini"
train_as sweep-1 1 "$work/sweep.ini" run.threads=1 || fail "$(cat "$work/sweep-1.err")"
train_as sweep-3 3 "$work/sweep.ini" run.threads=1 || fail "$(head -3 "$work/sweep-3.err")"
expect_same sweep-1 sweep-3 "a sweep on 3 processes"

[ $failures = 0 ] && echo "the same bytes on any number of processes"
exit $failures
