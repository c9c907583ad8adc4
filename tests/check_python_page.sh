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
for layer in 0 1; do
    theta=$(awk -F, -v l=$layer '$1 == l { printf " %.6g", $4 }' runs/run/theta_final.csv)
    grep -qx "roformer.encoder.layer.$layer.attention.self.theta$theta" out
done
