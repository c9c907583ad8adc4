#!/bin/sh
# What bash completes for the program: options, configurations, keys, and what a key can be.
# Exit code 77 if there is no bash.
#
#     tests/check_completion.sh BUILD_FOLDER
set -eu
script=$(cd "$(dirname "$0")/.." && pwd)/train/rotor.bash
train=$1/train
command -v bash >/dev/null || { echo "SKIP completion: needs bash"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
program=$work/.train # answers as the program does, which is asked once
"$train" --help >.help
printf '#!/bin/sh\n[ "$*" = --help ] && cat "%s/.help"\n' "$work" >.train
chmod +x .train
mkdir runs
touch theta.ini theta.csv notes.txt
failed=0

# complete LINE: the words of a line, the last of which is being written, as bash takes them apart
complete() {
    # shellcheck disable=SC2016
    bash -c '
        source "$1"
        program=$2
        shift 2
        COMP_WORDS=("$program" "$@")
        COMP_CWORD=$#
        _rotor
        printf "%s\n" "${COMPREPLY[@]}"' complete "$script" "$program" "$@" | sort | tr '\n' ' '
}

expect() { # expect WANTED WORD ...
    wanted=$1
    shift
    got=$(complete "$@")
    [ "$got" = "$wanted" ] || {
        echo "after '$*': got '$got', '$wanted' expected" >&2
        failed=1
    }
}

expect '--eval ' --ev
expect '--report --resume ' --re
expect 'theta.ini theta.init= theta.init_from= theta.init_sigma= ' theta.i
expect 'runs/ ' runs
expect 'theta.csv theta.ini ' --checkpoint theta.
expect 'base ' --theta b
expect 'mean ' --pool m
expect 'notes.txt ' --embed no
expect ' ' --layer ''
expect 'runs ' --report ru
expect ' ' --watch theta
expect 'theta.csv theta.ini ' --theta theta.
expect 'model.norm= model.norm_bias= model.norm_eps= model.norm_kind= ' a.ini model.norm
expect 'post pre ' a.ini model.norm =
expect 'pre ' a.ini model.norm = pr
expect 'layer ' a.ini theta.scope = l
expect 'no yes ' a.ini theta.learn =
expect 'notes.txt ' a.ini data.file = no
expect ' ' a.ini train.steps = 1
expect ' ' --tokens ''
expect ' ' --samples ''
expect '--samples ' --sa
expect 'wordpiece ' --level w
expect ' ' --train-tokenizer ''
expect 'f16 f32 ' --dtype f
expect 'classify ' --init c
expect 'notes.txt ' --train-tokenizer 300 no
expect ' ' --seed -
exit $failed
