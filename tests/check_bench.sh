#!/bin/sh
# What a user sees of `bench`: that it measures, with either engine, and what it refuses.
#
#     tests/check_bench.sh BUILD_FOLDER
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

expect() { # expect CODE TEXT ARGUMENT ...: the exit code, and a text of what is printed
    code=$1
    text=$2
    shift 2
    got=0
    "$build/bench" "$@" >told 2>&1 || got=$?
    if [ "$got" -ne "$code" ] || ! grep -qF -- "$text" told; then
        echo "bench $*: exit code $got instead of $code, or no '$text' in:" >&2
        cat told >&2
        failed=1
    fi
}

small="layers=2 dim=16 heads=4 kv_heads=2 ffn=24 vocab=50 prompt=8 tokens=2"
# shellcheck disable=SC2086
{
    expect 0 'step/reading' generate $small --seconds 0.01 --csv
    expect 0 ',2,3,' generate $small texts=3 --threads 2 --seconds 0.01 --csv
    expect 0 'step/reading' generate gpt_neox $small dim=32 kv_heads=4 --seconds 0.01 --csv
    expect 0 'step/reading' generate qwen2 $small --seconds 0.01 --csv
    expect 2 "generate knows llama, qwen2 and gpt_neox; got 'gpt2'" generate gpt2 $small
    expect 2 '--engine needs openblas or onednn; got' generate $small --engine mkl
    expect 2 '--engine needs openblas or onednn; got' generate $small --engine
    expect 2 '--math needs float or bf16; got' generate $small --math half
    expect 2 'OpenBLAS has no matrix products in bf16' generate $small --math bf16
    expect 2 'must be at least 1, texts from 1 to 64' generate $small texts=65
}
expect 2 'rows must be at most 131072; got 200000' xent rows=200000
expect 0 '--engine E' --help
expect 0 '--math M' --help
[ "$("$build/bench" --help | wc -L)" -le 80 ] || { echo 'a line of --help has over 80 columns' >&2; failed=1; }
expect 2 '--seconds needs a number above 0; got' peak --seconds 0
expect 0 'registers' peak --seconds 0.01 --csv
for command in step world math; do # whether or not this build has oneDNN
    expect 2 '--math are run.engine=E' $command "$here/bench/configs/dim64.ini" --engine onednn
    expect 2 '--math are run.engine=E' $command "$here/bench/configs/dim64.ini" --math bf16
done
expect 2 'step needs a CONFIG.ini' step
expect 2 'world needs several processes' world "$here/bench/configs/dim64.ini"
# shellcheck disable=SC2086
if "$build/bench" generate $small --engine onednn --seconds 0.01 >told 2>&1; then
    expect 0 'oneDNN-' generate $small --engine onednn --seconds 0.01
else
    grep -q 'oneDNN' told || { cat told >&2; failed=1; }
fi
exit $failed
