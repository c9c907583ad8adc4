#!/bin/sh
# scripts/size.awk: a folder's row counts what lies below it but for folders with a row of their own. A folder
# fails that has no budget or is more than 5 % above it; one with a limit, above that or more than 25 lines below.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

page() { # page LIMIT: of the folder e
    printf '| %s | %s | %s |\n' folders budget limit a/ 1,000 '' 'a/b/, c/' 100 '' e/ 50 "$1" all 1,400 '' >"$work/page"
}

expect() { # expect CODE OUTPUT: of the files in $work/files
    code=0
    awk -f scripts/size.awk "$work/page" "$work/files" | tr -s ' ' >"$work/printed"
    awk -f scripts/size.awk "$work/page" "$work/files" >/dev/null || code=$?
    printf '%b' "folder lines budget above\n$2" | diff - "$work/printed" || code="$code and other lines"
    [ "$code" = "$1" ] || { echo "exit code $code instead of $1" >&2 && exit 1; }
}

page 70
printf '%s\n' 'a/x.c 600' 'a/y/z.c 400' 'a/b/x.c 52' 'c/x.c 53' 'e/x.c 70' >"$work/files"
first='a/ 1000 1000 +0\n'
expect 0 "${first}a/b/, c/ 105 100 +5\ne/ 70 50 +20 limit 70\nall 1175 1400 -225\n"
page 96
expect 1 "${first}a/b/, c/ 105 100 +5\ne/ 70 50 +20 lower its limit of 96\nall 1175 1400 -225\n"
page 69
expect 1 "${first}a/b/, c/ 105 100 +5\ne/ 70 50 +20 above its limit of 69\nall 1175 1400 -225\n"
sed -i '/^e/d' "$work/files"
page ''
echo 'c/d/x.c 1' >>"$work/files"
expect 1 "${first}a/b/, c/ 106 100 +6 more than 5 % above the budget\ne/ 0 50 -50\nall 1106 1400 -294\n"
echo 'd/x.c 1' >"$work/files"
code=0
awk -f scripts/size.awk "$work/page" "$work/files" >"$work/printed" || code=$?
grep -qx 'd/x.c: its folder has no budget' "$work/printed" && [ "$code" = 1 ]
