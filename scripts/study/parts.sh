# What studies have in common: parts whose runs are made, kept and timed, and a page whose tables
# are made from what was kept. A script sets
#
#     self, runs, page, kept, lib, all   itself, folder of the runs, the page, folder of the CSV
#                                        files, this folder, the names of all parts
#     part_NAME, page_NAME, page_end     functions: the runs of a part, its tables, the end
#
# reads this file, and ends with: study "$@"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$kept"

# ---- runs ----

# Reports of hundreds of runs would take longer than the runs.
train() {
    ROTOR_NO_REPORT=1 build/train "$@" --quiet
}

# A check that was asked for and failed is a result.
sweep() { # sweep NAME [OPTION ...]: the runs of experiments/NAME.ini
    name=$1
    shift
    echo "== $name" >&2
    train "experiments/$name.ini" run.dir="$runs" "$@" >&2 || [ $? -eq 7 ]
}

keep_runs() { # keep_runs NAME ...: what each run of these sweeps came to
    for name in "$@"; do
        cp "$runs/$name/runs.csv" "$kept/$name.csv"
    done
}

# Makes a part, and notes how long it took, unless its runs had ended before.
run_part() { # run_part NAME
    begin=$(date +%s)
    before=$(find "$runs" -name result.csv 2>/dev/null | wc -l)
    "part_$1"
    [ "$(find "$runs" -name result.csv | wc -l)" -gt "$before" ] || return 0
    minutes=$((($(date +%s) - begin + 59) / 60))
    earlier=$(sed -n "s/^$1,//p" "$kept/times.csv" 2>/dev/null || true)
    { grep -v "^$1," "$kept/times.csv" 2>/dev/null || echo "part,minutes"
      echo "$1,$((minutes + ${earlier:-0}))"; } >"$work/times"
    mv "$work/times" "$kept/times.csv"
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

# Replaces what stands between "<!-- begin NAME -->" and "<!-- end NAME -->" on the page that is being
# written by the standard input.
fill() { # fill NAME
    cat >"$work/table"
    awk -v name="$1" -v new="$work/table" '
        $0 == "<!-- begin " name " -->" { print; print ""; while ((getline line < new) > 0) print line
            print ""; skip = 1; found = 1; next }
        $0 == "<!-- end " name " -->" { skip = 0 }
        !skip { print }
        END { exit !found || skip }' "$work/page" >"$work/whole" || {
        echo "$page has no place for $1, or no end of it" >&2
        exit 1
    }
    mv "$work/whole" "$work/page"
}

runs_table() { # runs_table NAME COLUMNS [COLUMN=VALUE]
    awk -v columns="$2" -v where="${3:-}" -f "$lib/statistics.awk" -f "$lib/table.awk" \
        "$kept/$1.csv"
}

study_table() { # study_table SCRIPT NAME ... [OPTION ...]
    script=$1
    shift
    awk -F, -f "$lib/statistics.awk" -f "$lib/$script.awk" "$@"
}

# The tables of parts that were not made stay as they are.
write_page() {
    cp "$page" "$work/page"
    for part in $all; do
        ! grep -q "^$part," "$kept/times.csv" 2>/dev/null || "page_$part"
    done
    [ ! -f "$kept/times.csv" ] ||
        study_table times -v program="scripts/$(basename "$self")" "$kept/times.csv" | fill times
    cp "$work/page" "$page"
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
        case " $all " in
        *" $part "*) ;;
        *) usage ;;
        esac
    done
    [ "$parts" = "" ] || scripts/build build
    for part in $parts; do
        run_part "$part"
    done
    write_page
}
