#!/bin/sh
# The program in docs/reading-checkpoints.md reads a checkpoint and finds the theta that the run
# has written. Skipped (exit code 77) without h5py.
#
#     tests/check_python_page.sh BUILD_FOLDER
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=$1
python=
for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c 'import h5py' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || {
    echo "SKIP checkpoints_are_read_from_python: needs h5py"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

sed -n '/^```python$/,/^```$/p' "$here/docs/reading-checkpoints.md" | sed '1d;$d' >read.py
cat >run.ini <<'INI'
[model]
dim = 16
heads = 2
[theta]
learn = yes
[data]
length = 12
vocab = 12
[train]
steps = 20
INI
"$build/train" --quiet run.ini >/dev/null
"$python" read.py runs/run/checkpoints/step-00000020.h5 >out
cat out
grep -q '^step 20 pairing interleaved$' out
# Six digits of each of the four theta: numpy may round the last of them otherwise.
for layer in 0 1; do
    sed -n "s/^layers.$layer.attention.theta //p" out | tr ' ' '\n' >read
    awk -F, -v l=$layer '$1 == l { print $4 }' runs/run/theta_final.csv | paste read - |
        awk '{ d = $1 / $2 - 1; bad += d < -1e-5 || d > 1e-5 } END { exit bad || NR != 4 }' || {
        echo "layer $layer: not the theta of theta_final.csv" >&2
        exit 1
    }
done
