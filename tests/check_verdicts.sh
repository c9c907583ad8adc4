#!/bin/sh
# The tables of verdicts on the pages of the gallery and of images: each row is computed again from
# the results.
#
#     tests/check_verdicts.sh
set -eu
experiments=$(cd "$(dirname "$0")/../experiments" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for page in gallery images; do
    "$experiments/$page/judge" >"$work/rows"
    case $page in
    gallery) count=$(($(sed 1d "$experiments/gallery/comparisons.csv" | wc -l) + 4)) ;;
    images) count=25 ;;
    esac
    [ "$(wc -l <"$work/rows")" -eq "$count" ] || { echo "$page/judge prints too few rows" >&2; failed=1; }
    while read -r row; do
        grep -qxF -- "$row" "$experiments/$page/README.md" ||
            { echo "$page/README.md does not have: $row" >&2; failed=1; }
    done <"$work/rows"
done

# Results without a run are an error, and a sweep without runs changes no results.
mkdir -p "$work/experiments" "$work/runs/alibi"
cp -r "$experiments/gallery" "$experiments/common" "$work/experiments"
cd "$work/experiments/gallery"
: >"$work/runs/alibi/report.html"
! ./collect "$work/runs" 2>"$work/errors" || { echo 'collect takes a sweep without runs' >&2; failed=1; }
cmp results/alibi.csv "$experiments/gallery/results/alibi.csv" >&2 || failed=1
: >results/alibi.csv
! ./judge >"$work/rows" 2>"$work/errors" || { echo 'judge takes results without runs' >&2; failed=1; }
grep -q '^alibi: runs are missing$' "$work/errors" || { cat "$work/errors" >&2; failed=1; }
exit $failed
