#!/bin/sh
# The programs of examples/ print what the comments at their ends say. And use_model makes of a model what
# the program does, whether it is a checkpoint, a folder of Hugging Face or a GGUF file.
#
#     tests/check_examples.sh BUILD_FOLDER [EMULATOR ...]
set -eu
export LC_ALL=C
sources=$(cd "$(dirname "$0")/../examples" && pwd)
build=$(cd "$1" && pwd)
shift
emulator=$*
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export ROTOR_NO_REPORT=1

fail() {
    echo "$1" >&2
    exit 1
}

# shellcheck disable=SC2086
run() { # run PROGRAM [ARGUMENT ...]
    program=$1
    shift
    $emulator "$build/$program" "$@"
}

example() { # example NAME [ARGUMENT ...]
    name=$1
    shift
    run "tests/examples/$name" "$@"
}

expect() { # expect NAME [ARGUMENT ...]: that it prints the last indented lines of its source
    awk '
        /prints:$/ { inside = 1; text = ""; next }
        inside && /^ \*     / { text = text substr($0, 8) "\n" }
        /^ \*\// { inside = 0 }
        END { printf "%s", text }' "$sources/$1.c" >expected
    [ -s expected ] || fail "examples/$1.c does not say what it prints"
    example "$@" >printed || fail "$1 failed"
    diff expected printed >&2 || fail "$1 prints something else than examples/$1.c says"
}

train() { # train [ARGUMENT ...]
    run train "$@" --quiet >train.log 2>&1 || fail "$(cat train.log)"
}

for source in "$sources"/*.c; do
    name=${source##*/}
    name=${name%.c}
    case $name in
    use_model) ;;
    threads) [ ! -x "$build/tests/examples/threads" ] || expect threads ;;
    *) expect "$name" ;;
    esac
done
[ -x "$build/tests/examples/threads" ] || echo "SKIP example_threads: needs OpenMP"

# The checkpoint and the folder of save_model.
expect use_model shells.h5 'she sells '
example use_model shells 'she sells ' | diff expected - >&2 || fail "use_model shells: something else"
run train --checkpoint shells.h5 --predict 'she sells ' --tokens 37 \
    --temperature 0.8 --top-k 40 --top-p 0.95 --seed 1 >expected 2>train.log
example use_model shells.h5 'she sells ' 0.8 | diff expected - >&2 || fail "other draws than --predict"

# A GGUF file.
head -c 3000 /usr/share/common-licenses/GPL-2 >my.txt
run train --train-tokenizer 300 my.txt >tokenizer.json 2>train.log || fail "$(cat train.log)"
cat >llama.ini <<'INI'
[model]
kind = decoder
causal = yes
dim = 32
[data]
task = text
objective = lm
level = bpe
file = my.txt
vocab_file = tokenizer.json
length = 16
[train]
steps = 20
INI
train llama.ini
checkpoint=runs/llama/checkpoints/step-00000020.h5
train --checkpoint $checkpoint --export llama.gguf
example use_model $checkpoint 'The ' >expected
example use_model llama.gguf 'The ' | diff expected - >&2 || fail "use_model llama.gguf: something else"

# The classes of a text.
printf 'text\tlabel\nit was good\tgood\nit was bad\tbad\n' >reviews.tsv
cat >reviews.ini <<'INI'
[model]
layers = 1
dim = 16
heads = 2
[data]
task = classify
length = 24
file = reviews.tsv
eval_fraction = 0
[train]
steps = 2
INI
train reviews.ini
example use_model runs/reviews/checkpoints/step-00000002.h5 'it was good' |
    awk -F '\t' '
        { classes = classes $1 " "; sum += $2 }
        END { exit classes != "bad good " || sum < 0.999 || sum > 1.001 }' ||
    fail "use_model does not print two probabilities"

# What fails says why.
! example use_model none.h5 text 2>errors || fail "use_model opened none.h5"
grep -q none.h5 errors || fail "use_model does not name none.h5"
