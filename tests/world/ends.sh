#!/bin/sh
# How worlds of processes end: signals, failures of one process, bad launches.
#
#     tests/world/ends.sh BUILD
set -eu
build=$(realpath "$1")
. "$(dirname "$0")/run.sh"
need_mpi
train=$build/train
long="$work/small.ini run.threads=1 train.steps=100000 train.checkpoint_every=100000
    train.eval_every=100000 run.log_every=5 --quiet"

# The process of that rank of the run below.
process_of() { # process_of RANK
    for process in $(pgrep -f "$train .*run.name=$name"); do
        tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null |
            grep -q "^OMPI_COMM_WORLD_RANK=$1\$" && echo "$process" && return
    done
}

# Starts a long run, waits for its first row, and signals it; the code must be that of a stop, and
# there must be one checkpoint.
expect_stop() { # expect_stop NAME SIGNAL RANK | expect_stop NAME SIGNAL mpirun
    name=$1
    # shellcheck disable=SC2086
    (cd "$work" && exec timeout -k 10 120 mpirun -n 3 "$train" $long run.dir=runs run.name="$name") \
        >"$work/out" 2>"$work/err" &
    job=$!
    tries=0
    until [ -s "$work/runs/$name/metrics.csv" ] && [ "$(wc -l <"$work/runs/$name/metrics.csv")" -gt 1 ]; do
        sleep 0.1
        tries=$((tries + 1))
        [ $tries -lt 300 ] || break
    done
    if [ "$3" = mpirun ]; then
        # shellcheck disable=SC2046
        kill "-$2" $(cat "/proc/$job/task/$job/children")
    else
        process=$(process_of "$3" | head -1)
        [ -z "$process" ] || kill "-$2" "$process"
    fi
    got=0
    wait "$job" || got=$?
    [ "$got" = 75 ] || fail "$name: exit code $got: $(head -3 "$work/err")"
    [ "$(ls "$work/runs/$name/checkpoints" | wc -l)" = 1 ] || fail "$name: not one checkpoint"
    [ "$(grep -c 'stopped by a signal' "$work/err")" = 1 ] || fail "$name: not one message"
}

# Starts a sweep that does not end, and signals process 0 of it, or its group, once a file has a line;
# the code must be that of a stop, and no run may count as failed.
expect_sweep_stop() { # expect_sweep_stop NAME SIGNAL process|group TEXT FILE
    name=$1
    (cd "$work" && exec timeout -k 10 60 mpirun -n 2 "$train" seeds.ini run.threads=1 train.steps=1000000 \
        train.checkpoint_every=1000000 train.eval_every=1000000 run.log_every=5 run.name="$name") \
        >"$work/out" 2>"$work/err" &
    job=$!
    until grep -q "$4" "$work/$5" 2>"$work/grep"; do
        kill -0 "$job" || break
        sleep 0.05
    done
    process=$(process_of 0 | head -1)
    [ "$3" = process ] || process=-$process
    kill -s "$2" -- "$process" || fail "$name: no process 0"
    got=0
    wait "$job" || got=$?
    [ "$got" = 75 ] || fail "$name: a sweep that is stopped: exit code $got: $(head -3 "$work/err")"
    ! grep -q FAILED "$work/err" || fail "$name: $(grep FAILED "$work/err")"
}

# The runs of a sweep are stopped as well, however early; and if their helpers get the signal, too.
printf '[sweep]\nrun.seed = 1, 2, 3, 4\n' | cat "$work/small.ini" - >"$work/seeds.ini"
expect_sweep_stop seeds TERM process 'at a time' err
expect_sweep_stop hup HUP group '^5,' runs/hup/seed=1/metrics.csv

expect_stop usr1 USR1 mpirun
expect_stop term0 TERM 0
expect_stop int2 INT 2

# More processes than shards; a key that does not exist; a key of sweeps.
expect_error 2 'train.shards is 8' mpirun -n 9 "$train" small.ini
expect_error 2 "unknown key 'nam'" mpirun -n 3 "$train" small.ini run.nam=x
printf '[sweep]\nrun.seed = 1, 2\njobs = 2\n' | cat "$work/small.ini" - >"$work/sweep.ini"
expect_error 2 'sweep.jobs = 2' mpirun -n 2 "$train" sweep.ini

# The commands of two processes. (mpirun itself would take them with a colon between them, but that
# of Open MPI 5.0.7 crashes then.)
cat >"$work/either" <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || shift
eval "exec $1"
END
chmod +x "$work/either"

# What only one process has otherwise; of a sweep as well.
expect_error 2 "process 1 on .*: the sweep is not the same" \
    mpirun -n 2 "$work/either" "$train sweep.ini sweep.jobs=1 --quiet" \
    "$train sweep.ini sweep.jobs=1 sweep.run.seed=1,3 --quiet"
expect_error 2 "process 1 on .*: the configuration is not the same" \
    mpirun -n 2 "$work/either" "$train sweep.ini sweep.jobs=1 --quiet" "$train small.ini --quiet"
expect_error 2 "process 1 on .*: the configuration is not the same .*'lr = 0.5'" \
    mpirun -n 2 "$work/either" "$train small.ini --quiet" "$train small.ini --quiet optimizer.lr=0.5"

# The same paths with other files behind them, as on another host.
mkdir "$work/a" "$work/b" "$work/empty"
{ for i in 1 2 3 4; do cat "$root/LICENSE"; done; } >"$work/a/text.txt"
tr a b <"$work/a/text.txt" >"$work/b/text.txt"
sed 's/^vocab = .*/task = text\nfile = a\/text.txt/' "$work/small.ini" >"$work/text.ini"
if unshare --mount true 2>/dev/null; then
    expect_error 3 "process 1 on .*: the data is not the same" \
        mpirun -n 2 "$work/either" "$train text.ini --quiet" \
        "unshare --mount sh -c 'mount --bind b a && exec $train text.ini --quiet'"
    expect_error 3 "process 1 on .*: the data is not the same .*/a/text.txt (cannot be read)' here" \
        mpirun -n 2 "$work/either" "$train text.ini --quiet" \
        "unshare --mount sh -c 'mount --bind empty a && exec $train text.ini --quiet'"
else
    echo "SKIP worlds of hosts: needs unshare --mount"
fi
if [ "$(uname -m)" = x86_64 ]; then
    expect_error 2 "process 1 on .*: the kernels of matrix products are not the same .*'Sandybridge' here" \
        mpirun -n 2 "$work/either" "env OPENBLAS_CORETYPE=Nehalem $train small.ini --quiet" \
        "env OPENBLAS_CORETYPE=Sandybridge $train small.ini --quiet"

    # A run keeps its library, whose kernels are compared. All have OpenBLAS if one lacks the kernels of oneDNN.
    wide="$train small.ini --quiet run.threads=1 run.name=wide model.dim=64"
    (cd "$work" && $wide run.engine=openblas >"$work/out")
    expect_error 2 "process 1 on .*: the kernels of matrix products are not the same .*'Nehalem' here" \
        mpirun -n 2 "$work/either" "env OPENBLAS_CORETYPE=Sandybridge $wide --resume train.steps=16" \
        "env OPENBLAS_CORETYPE=Nehalem $wide --resume train.steps=16"
    if grep -qw avx512f /proc/cpuinfo && (cd "$work" && $wide --overwrite run.engine=onednn >"$work/out" 2>&1); then
        expect_error 2 "process 1 on .*: the kernels of matrix products are not the same .*'oneDNN-.*-avx2' here" \
            mpirun -n 2 "$work/either" "$wide --resume train.steps=16 run.engine=onednn" \
            "env ONEDNN_MAX_CPU_ISA=AVX2 $wide --resume train.steps=16 run.engine=onednn"
        (cd "$work" && mpirun -n 2 "$work/either" "$wide --resume train.steps=16" \
            "env ONEDNN_MAX_CPU_ISA=AVX2 $wide --resume train.steps=16") >"$work/out" 2>"$work/err" ||
            fail "auto does not fall back to OpenBLAS: $(cat "$work/err")"
        grep -q 'warning: .* was computed with oneDNN' "$work/err" || fail "no warning of another library"
        grep -q OpenBLAS "$work/runs/wide/timing.csv" || fail "auto did not fall back to OpenBLAS"
    else
        echo "SKIP libraries of worlds: needs oneDNN and AVX-512"
    fi
fi

# A loss that is not finite, on all at once; and a folder that cannot be made.
expect_error 5 'the loss is' mpirun -n 3 "$train" small.ini --quiet run.name=nan \
    optimizer.lr=1e30 optimizer.clip_norm=0 optimizer.kind=sgd
expect_error 1 'runs/usr1/metrics.csv' mpirun -n 3 "$train" small.ini --quiet \
    run.dir=runs/usr1/metrics.csv

# One process with the environment of a launcher that is not there.
expect_error 2 'reports 3 processes' env OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=1 \
    "$train" small.ini --quiet

# What is no training is done once.
mpirun -n 3 "$train" --version >"$work/out"
[ "$(grep -c '^rotor ' "$work/out")" = 1 ] || fail "--version is printed more than once"

[ $failures = 0 ] && echo "worlds of processes end as they should"
exit $failures
