#!/bin/sh
# scripts/size.awk: a folder's row counts what lies below it but for folders with a row of their own, and a
# folder that is more than 5 % above its budget, or has none, fails.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '| %s | %s |\n' folders budget a/ 1,000 'a/b/, c/' 100 all 1,100 >"$work/page"

expect() { # expect CODE OUTPUT: of the files in $work/files
    code=0
    awk -f scripts/size.awk "$work/page" "$work/files" | tr -s ' ' >"$work/printed"
    awk -f scripts/size.awk "$work/page" "$work/files" >/dev/null || code=$?
    printf '%b' "$2" | diff - "$work/printed" || code="$code and other lines"
    [ "$code" = "$1" ] || { echo "exit code $code instead of $1" >&2 && exit 1; }
}

heading='folder lines budget above\n'
printf '%s\n' 'a/x.c 600' 'a/y/z.c 400' 'a/b/x.c 52' 'c/x.c 53' >"$work/files"
expect 0 "${heading}a/ 1000 1000 +0\na/b/, c/ 105 100 +5\nall 1105 1100 +5\n"
echo 'c/d/x.c 1' >>"$work/files"
expect 1 "${heading}a/ 1000 1000 +0\na/b/, c/ 106 100 +6 more than 5 % above the budget\nall 1106 1100 +6\n"
echo 'd/x.c 1' >"$work/files"
expect 1 "d/x.c: its folder has no budget\n${heading}a/ 0 1000 -1000\na/b/, c/ 0 100 -100\nall 0 1100 -1100\n"
