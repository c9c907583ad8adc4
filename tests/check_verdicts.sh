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
exit $failed
