# What studies have in common: parts whose runs are made, kept and timed, and pages whose tables
# are made from what was kept. A script sets
#
#     self, here, runs, all            itself, its folder, the folder of the runs, the names of all
#                                      parts
#     part_NAME, page_NAME, page_end   functions: the runs of a part, its tables, the end
#
# reads this file from the folder of the sources, and ends with: study "$@"
#
# Its folder has README.md, the page, and other pages beside it; results/, the CSV files; tables/,
# scripts of tables that no other study needs.

export LC_ALL=C
common=experiments/common
kept=$here/results

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$kept"

# ---- runs ----

# Reports of hundreds of runs would take longer than the runs.
train() {
    ROTOR_NO_REPORT=1 build/train "$@" --quiet
}

# A check that was asked for and failed is a result.
sweep() { # sweep FILE.ini [OPTION ...]
    file=$1
    shift
    echo "== $(basename "$file" .ini)" >&2
    train "$file" run.dir="$runs" "$@" >&2 || [ $? -eq 7 ]
}

# What each run of these sweeps came to. Relative changes of theta have the names that the first
# kept tables gave them.
keep_runs() { # keep_runs NAME ...
    for name in "$@"; do
        sed '1s/theta_\(max\|mean\)_change/theta_\1_drift/g' "$runs/$name/runs.csv" >"$kept/$name.csv"
    done
}

# The revision of the sources; with a + if something else has changed than what a study writes.
begin_revision() {
    revision=$(git rev-parse --short=7 HEAD 2>/dev/null) || revision=unknown
    [ $revision = unknown ] || git diff --quiet HEAD -- . ":!$kept" ":!$here/*.md" \
        ":!$here/figures/*.svg" || revision=$revision+
    echo $revision >"$work/revision"
}

# Notes that revision beside the name of each CSV file that was written since.
keep_revision() {
    find "$kept" -name '*.csv' ! -name times.csv ! -name revisions.csv -newer "$work/revision" \
        -exec basename {} \; >"$work/made"
    [ -f "$kept/revisions.csv" ] || echo file,revision >"$kept/revisions.csv"
    awk -F, -v revision="$(cat "$work/revision")" '
        FNR < NR { of[$1] = revision; next }
        FNR > 1 { of[$1] = $2 }
        END { for (file in of) print file "," of[file] }' "$kept/revisions.csv" "$work/made" |
        sort >"$work/revisions"
    { echo file,revision; cat "$work/revisions"; } >"$kept/revisions.csv"
}

# Makes a part, and notes how long it took and by which revision, unless its runs had ended before.
run_part() { # run_part NAME
    begin=$(date +%s)
    begin_revision
    before=$(find "$runs" -name result.csv 2>/dev/null | wc -l)
    "part_$1"
    [ "$(find "$runs" -name result.csv | wc -l)" -gt "$before" ] || return 0
    minutes=$((($(date +%s) - begin + 59) / 60))
    earlier=$(sed -n "s/^$1,//p" "$kept/times.csv" 2>/dev/null || true)
    { grep -v "^$1," "$kept/times.csv" 2>/dev/null || echo "part,minutes"
      echo "$1,$((minutes + ${earlier:-0}))"; } >"$work/times"
    mv "$work/times" "$kept/times.csv"
    keep_revision
}

# Tables of several sweeps below each other, with a column more that tells them apart; those that
# are not there are passed over.
join_runs() { # join_runs COLUMN VALUE FILE [VALUE FILE ...]
    column=$1
    shift
    while [ $# -gt 1 ]; do
        [ ! -f "$2" ] || awk -F, -v OFS=, -v column="$column" -v value="$1" \
            '{ print (NR == 1 ? column : value), $0 }' "$2"
        shift 2
    done | awk -F, -v column="$column" '$1 != column || !headings++'
}

# ---- from what is kept to the page ----

begin_pages() {
    mkdir -p "$work/pages"
    cp "$here"/*.md "$work/pages/"
}

end_pages() {
    cp "$work"/pages/*.md "$here/"
}

# Replaces what stands between "<!-- begin NAME -->" and "<!-- end NAME -->" on one of the pages that
# are being written by the standard input.
fill() { # fill NAME
    cat >"$work/table"
    for file in "$work"/pages/*.md; do
        grep -qxF "<!-- begin $1 -->" "$file" || continue
        awk -v name="$1" -v new="$work/table" '
            $0 == "<!-- begin " name " -->" { print; print ""
                while ((getline line < new) > 0) print line
                print ""; skip = 1; next }
            $0 == "<!-- end " name " -->" { skip = 0 }
            !skip { print }
            END { exit skip }' "$file" >"$work/whole" || {
            echo "$here/${file##*/} has no end of $1" >&2
            exit 1
        }
        mv "$work/whole" "$file"
        return
    done
    echo "$here has no page with a place for $1" >&2
    exit 1
}

runs_table() { # runs_table NAME COLUMNS [COLUMN=VALUE]
    awk -v columns="$2" -v where="${3:-}" -f $common/statistics.awk -f $common/table.awk \
        "$kept/$1.csv"
}

study_table() { # study_table SCRIPT NAME ... [OPTION ...]
    script=$here/tables/$1.awk
    [ -f "$script" ] || script=$common/$1.awk
    shift
    awk -F, -f $common/statistics.awk -f "$script" "$@"
}

# The tables of parts that were not made stay as they are.
write_pages() {
    begin_pages
    for part in $all; do
        ! grep -q "^$part," "$kept/times.csv" 2>/dev/null || "page_$part"
    done
    [ ! -f "$kept/times.csv" ] ||
        study_table times -v program="$here/study" "$kept/times.csv" | fill times
    [ ! -f "$kept/revisions.csv" ] || study_table revisions "$kept/revisions.csv" | fill revisions
    end_pages
    page_end
}

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$self" >&2
    exit 2
}

study() { # study PART ... | all | tables
    case ${1:-} in
    '') usage ;;
    all) parts=$all ;;
    tables) parts= ;;
    *) parts=$* ;;
    esac
    for part in $parts; do
        case " $(echo $all) " in
        *" $part "*) ;;
        *) usage ;;
        esac
    done
    [ "$parts" = "" ] || scripts/build build
    for part in $parts; do
        run_part "$part"
    done
    write_pages
}
