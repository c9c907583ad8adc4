#!/bin/sh
# Kills random processes of worlds at random moments, and goes on with another number of processes:
# what a checkpoint has kept is never lost, and the end is that of a straight run.
#
#     tests/world/kills.sh BUILD [KILLS [SEED]]
set -eu
build=$(realpath "$1")
wanted=${2:-200}
seed=${3:-1}
. "$(dirname "$0")/run.sh"
need_mpi
options="$work/small.ini run.threads=1 train.steps=400 train.checkpoint_every=20 train.keep=2 --quiet"

# A whole number below N, the next of a sequence that the seed begins.
random() { # random N
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}

newest() {
    ls "$work/many/runs/run/checkpoints" 2>/dev/null | sed -n 's/^step-0*\([0-9]*\)\.h5$/\1/p' | tail -1
}

# shellcheck disable=SC2086
train_as alone 1 $options
kills=0 runs=0 resumed=0
while [ $kills -lt "$wanted" ]; do
    rm -rf "$work/many" && mkdir "$work/many"
    before=0 code=1
    until [ $code = 0 ]; do
        random 7
        processes=$((drawn + 2))
        # The launcher of Open MPI 4.1 can lock itself up while it ends, after all of its processes
        # have ended: `-k` kills it then.
        # shellcheck disable=SC2086
        (cd "$work/many" && exec timeout -k 10 120 mpirun -n $processes "$build/train" $options --resume \
            run.dir=runs run.name=run) >"$work/many.out" 2>"$work/many.err" &
        job=$!
        random 250
        sleep "$(awk -v d=$drawn 'BEGIN { print 0.3 + d / 100 }')"
        random $processes
        victim=$(pgrep -P "$(pgrep -P "$job" mpirun || echo "$job")" train | sed -n "$((drawn + 1))p")
        if [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null; then
            kills=$((kills + 1))
        fi
        code=0
        wait "$job" || code=$?
        tries=0
        while left=$(pgrep -f "$work/small.ini") && [ $tries -lt 100 ]; do
            tries=$((tries + 1))
            sleep 0.1
        done
        [ -z "$left" ] || fail "after exit code $code these processes go on: $left"
        now=$(newest)
        [ "${now:-0}" -ge "$before" ] || fail "step $before was kept, $now is left"
        [ "${now:-0}" -le "$before" ] || resumed=$((resumed + 1))
        before=${now:-0}
        case $code in
        0 | 137) ;;
        *) fail "exit code $code: $(head -3 "$work/many.err")"; break ;;
        esac
    done
    runs=$((runs + 1))
    diff -r -x timing.csv -x lock "$work/alone/runs" "$work/many/runs" >"$work/difference" ||
        fail "run $runs: $(head -3 "$work/difference")"
    [ $failures -lt 5 ] || break
done
echo "kills $kills, runs $runs that ended as a straight run, $resumed times further after a kill; failures $failures"
exit $failures
