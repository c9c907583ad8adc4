# For the tests of worlds of processes, which set $build: how `train` is started, and what must be
# the same.

export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ROTOR_NO_REPORT=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# Open MPI 5 has its own names for these two.
export PRTE_MCA_rmaps_default_mapping_policy=:OVERSUBSCRIBE PRTE_MCA_hwloc_default_binding_policy=none
# Copying between processes without a buffer is not allowed in many containers.
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() { # fail WHAT
    echo "FAILED: $1" >&2
    failures=$((failures + 1))
}

# A training in $work/NAME/runs/run, on that many processes; 1 is no launcher at all. The names of its
# arguments are its own: those of the caller stay.
train_as() ( # train_as NAME PROCESSES ARGUMENT ...
    name=$1 processes=$2
    shift 2
    mkdir -p "$work/$name"
    (
        cd "$work/$name"
        if [ "$processes" = 1 ]; then
            timeout 120 "$build/$program" "$@" run.dir=runs run.name=run --quiet
        else
            timeout -k 10 120 mpirun --mca btl "$transport" -n "$processes" "$build/$program" "$@" \
                run.dir=runs run.name=run --quiet
        fi
    ) >"$work/$name.out" 2>"$work/$name.err"
)

# Every byte of two run folders, but for what the clock says, and of what was printed.
same() { # same NAME OTHER
    diff -r -x timing.csv -x lock "$work/$1/runs" "$work/$2/runs" >"$work/difference" &&
        cmp -s "$work/$1.out" "$work/$2.out"
}

expect_same() { # expect_same NAME OTHER WHAT
    same "$1" "$2" || fail "$3: $(head -3 "$work/difference")"
}

# Whether a command ends with that code and prints that on stderr, once.
expect_error() { # expect_error CODE TEXT COMMAND ...
    code=$1 text=$2 got=0
    shift 2
    (cd "$work" && timeout 60 "$@") >"$work/out" 2>"$work/err" || got=$?
    [ "$got" = "$code" ] || fail "$*: exit code $got instead of $code: $(head -3 "$work/err")"
    [ "$(grep -c "$text" "$work/err")" = 1 ] || fail "$*: not once '$text': $(head -3 "$work/err")"
}

need_mpi() {
    if ! command -v mpirun >/dev/null; then
        echo "SKIP worlds: needs mpirun"
        exit 77
    fi
    if ! ldd "$build/train" | grep -q libmpi; then
        echo "SKIP worlds: needs a build with MPI"
        exit 77
    fi
}

# A model that is small, and has two layers whose theta is learned.
cat >"$work/small.ini" <<'END'
[model]
layers = 2
dim = 16
heads = 2
dropout = 0.1
[theta]
learn = yes
[data]
length = 12
vocab = 12
[optimizer]
warmup_steps = 2
[train]
steps = 12
batch_size = 11
shards = 8
eval_every = 5
eval_batches = 3
checkpoint_every = 5
END
transport=self,vader
program=train
