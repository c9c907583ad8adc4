#!/bin/sh
# The manual page is well-formed, and has every option, exit code and environment variable that
# the program knows.
#
#     tests/check_manual.sh BUILD_FOLDER
set -eu
page=$(cd "$(dirname "$0")/.." && pwd)/train/train.1
build=$1
failed=0

missing() {
    echo "train.1 does not have $1" >&2
    failed=1
}

for option in $("$build/train" --help | sed -n 's/^ *\(-h, \)*--\([a-z-]*\).*/\2/p'); do
    grep -qE "^\.It Fl (h , )?-$option( |$)" "$page" || missing "--$option"
done
for code in 0 1 2 3 4 5 6 7 75 130; do
    grep -qx "\.It $code" "$page" || missing "exit code $code"
done
grep -rhoE 'getenv\("[A-Z_]+"' "$(dirname "$page")" | sed 's/.*"\(.*\)"/\1/' | sort -u >"$build/variables"
while read -r variable; do
    grep -qx "\.It Ev $variable" "$page" || missing "$variable"
done <"$build/variables"
if command -v mandoc >/dev/null; then
    mandoc -Tlint -W warning "$page" || failed=1
else
    echo "mandoc is missing: the page is not linted"
fi
exit $failed
