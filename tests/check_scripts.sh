#!/bin/sh
# Scripts that call awk or sort do so in the locale C. With decimal commas, mawk reads 0.5 as 0 and
# writes 0,5: tables of results would be wrong without a word.
#
#     tests/check_scripts.sh
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
failed=0
for script in $(find experiments scripts tests bench -type f | xargs grep -lE '^#!/bin/(ba)?sh'); do
    sed 's/^ *#.*//' "$script" | grep -qwE 'awk|sort' || continue
    grep -qE '^export .*LC_ALL=C|^\. .*/(units|parts|run)\.sh"?$' "$script" && continue
    [ "$script" != scripts/test ] || continue # the tests keep the locale of the machine
    echo "$script calls awk or sort without \"export LC_ALL=C\"" >&2
    failed=1
done
for common in experiments/common/units.sh experiments/common/parts.sh tests/world/run.sh; do
    grep -qE '^export .*LC_ALL=C' $common || { echo "$common must export LC_ALL=C" >&2; failed=1; }
done
exit $failed
