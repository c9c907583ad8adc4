#!/bin/sh
# The verdicts on the page of the gallery: each is computed again from the results.
#
#     tests/check_gallery.sh
set -eu
gallery=$(cd "$(dirname "$0")/../experiments/gallery" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$gallery/judge" >"$work/rows"
[ "$(wc -l <"$work/rows")" -eq "$(sed 1d "$gallery/comparisons.csv" | wc -l)" ]
failed=0
while read -r row; do
    grep -qxF -- "$row" "$gallery/README.md" || { echo "README.md does not have: $row" >&2; failed=1; }
done <"$work/rows"
exit $failed
