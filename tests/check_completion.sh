#!/bin/sh
# What bash and, if it is installed, zsh complete for the program: options, configurations, keys, and
# what a key can be. Exit code 77 if there is no bash.
#
#     tests/check_completion.sh BUILD_FOLDER
set -eu
export LC_ALL=C
script=$(cd "$(dirname "$0")/.." && pwd)/train/rotor.bash
train=$1/train
command -v bash >/dev/null || { echo "SKIP completion: needs bash"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
program=$work/.train # answers as the program does, which is asked once
"$train" --completion >.list
printf '#!/bin/sh\n[ "$*" = --completion ] && cat "%s/.list"\n' "$work" >.train
chmod +x .train
mkdir runs
touch theta.ini theta.csv notes.txt
failed=0

# in_bash LINE: the words of a line, the last of which is being written, as bash takes them apart
in_bash() {
    # shellcheck disable=SC2016
    bash -c '
        source "$1"
        program=$2
        shift 2
        COMP_WORDS=("$program" "$@")
        COMP_CWORD=$#
        _rotor
        printf "%s\n" "${COMPREPLY[@]-}"' in_bash "$script" "$program" "$@" | sort | tr '\n' ' '
}

expect() { # expect WANTED WORD ...
    wanted=$1
    shift
    got=$(in_bash "$@")
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
expect 'off: ' --theta of
expect 'scale: ' a.ini --eval --theta sc
expect ' ' --theta off :
expect 'sweep.jobs= ' sweep.j
expect 'sweep.theta.learn= ' sweep.theta.le
expect 'no yes ' sweep.theta.learn =
expect 'no,yes ' sweep.theta.learn = no,y
expect 'full,sliding ' model.layer_types = full,s
expect 'theta.csv,notes.txt ' data.file = theta.csv,no
expect 'notes.txt ' sweep.trunk = no
expect 'runs ' run.dir = r
expect 'theta.csv theta.ini ' --init gpt th
expect 'f16 ' --dtype = f1
expect ' ' --samples ''
expect '--samples ' --sa
expect 'wordpiece ' --level w
expect ' ' --train-tokenizer ''
expect 'f16 f32 ' --dtype f
expect 'classify ' --init c
expect 'notes.txt ' --train-tokenizer 300 no
expect ' ' --seed -

# build/train is completed like an installed rotor
for program in rotor rotor-f64 train train-f64; do
    bash -c '. "$1" && complete -p "$2" >/dev/null' complete "$script" $program || failed=1
done
command -v zsh >/dev/null || exit $failed
mkdir build
cp .train build/train

# What zsh inserts for a line and a TAB, in a terminal of its own.
in_zsh() { # in_zsh WANTED LINE
    # shellcheck disable=SC2016
    got=$(zsh -f -c '
        zmodload zsh/zpty
        zpty zsh zsh -f -i
        wait_for() { zpty -r -m zsh text "*$1*" }
        zpty -w zsh "PS1=; unsetopt beep; . ${(q)1}; bindkey \"^I\" complete-word; bindkey \"^X\" show; show() { print; print -r -- \"<\$BUFFER>\"; zle kill-whole-line }; zle -N show; print rea\"\"dy"
        wait_for ready
        zpty -w -n zsh "$2"$'"'\t\030'"'
        wait_for "<*>"
        zpty -d zsh
        print -r -- "${${text##*<}%%>*}"' in_zsh "${script%.bash}.zsh" "$2" </dev/null)
    [ "$got" = "$1" ] || {
        echo "zsh after '$2': got '$got', '$1' expected" >&2
        failed=1
    }
}

in_zsh 'build/train --resume ' 'build/train --res'
in_zsh 'build/train theta.ini optimizer.clip_norm=' 'build/train theta.ini optimizer.cl'
in_zsh 'build/train sweep.theta.learn=no,yes ' 'build/train sweep.theta.learn=no,y'
in_zsh 'build/train --theta scale:' 'build/train --theta sc'
in_zsh 'build/train --embed notes.txt ' 'build/train --embed no'
exit $failed
