#!/bin/sh
# The manual page is well-formed, and has the options, exit codes, sections and environment
# variables that the program knows, no more and no less; its example is a good configuration.
# Exit code 77 if only mandoc is missing.
#
#     tests/check_manual.sh BUILD_FOLDER
set -eu
export LC_ALL=C
page=$(cd "$(dirname "$0")/.." && pwd)/train/rotor.1
build=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compare() { # compare WHAT: the lines of $work/program and $work/page
    sort -u "$work/program" -o "$work/program"
    sort -u "$work/page" -o "$work/page"
    [ -s "$work/program" ] || { echo "the program shows no $1" >&2; failed=1; }
    diff "$work/program" "$work/page" >"$work/difference" && return
    echo "$1 of the program (<) and of rotor.1 (>) differ:" >&2
    grep '^[<>]' "$work/difference" >&2
    failed=1
}

part() { # part NAME: the section of the page
    sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$page"
}

"$build/train" --help >"$work/help"

sed -n 's/^  \(-h, \)*--\([a-z-]*\).*/\2/p' "$work/help" >"$work/program"
part DESCRIPTION | sed -n 's/^\.It Fl \(h , \)*-\([a-z-]*\).*/\2/p' >"$work/page"
compare options

sed -n '/^exit codes:/,/^$/p' "$work/help" | tr ':;' '\n\n' |
    sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p' >"$work/program"
part 'EXIT STATUS' | sed -n 's/^\.It //p' >"$work/page"
compare 'exit codes'

sed -n 's/^  \([a-z_]*\)\.[a-z_0-9]*=.*/\1/p' "$work/help" >"$work/program"
part CONFIGURATION | sed -n 's/^\.It Sy \([a-z]*\).*/\1/p' | grep -vx variant \
    >"$work/page"
compare sections

cat "$(dirname "$page")"/*.c "$(dirname "$page")"/*/*.c | grep -oE 'getenv\("[A-Z_]+"' | sed 's/.*"\(.*\)"/\1/' \
    >"$work/program"
part ENVIRONMENT | sed -n 's/^\.It Ev //p' >"$work/page"
compare 'environment variables'

part EXAMPLES | sed -n '/^\[/,/^\.Ed/p' | grep -v '^\.Ed' >"$work/first.ini"
"$build/train" --check "$work/first.ini" >/dev/null || failed=1

if command -v mandoc >/dev/null; then
    mandoc -Tlint -W warning "$page" || failed=1
elif [ $failed -eq 0 ]; then
    echo "SKIP manual: needs mandoc"
    failed=77
fi
exit $failed
