# Runs of a registered experiment, in units that survive a stop. A unit is one seed of a row with all of
# its arms; it is kept when all of them have ended, and made again from its start otherwise. A script sets
#
#     self, build, results, all        itself, the folder of the program train, that of the results, its rows
#     runs_header, TABLE_header, more  the columns of runs.csv, and of each TABLE.csv named in `more`
#     units ROW                        prints the names of the units of a row; a name ends with its seed
#     arms ROW UNIT                    prints a line for each run of a unit: ARM FILE.ini [OPTION ...]
#     run_arm ROW UNIT ARM FILE.ini [OPTION ...]
#                                      makes a run in $unit_folder/ARM. This file has one that trains; a script
#                                      that measures in another way defines its own after it has read this file
#     collect ROW UNIT ARM FOLDER CODE SECONDS
#                                      appends what the run in FOLDER came to to $unit_folder/TABLE.csv
#
# and ends with: run_units "$@" (--unit ROW UNIT, or the rows to make). JOBS=N makes N units at a time (1).
# RESULTS/pgid has the process group: kill -STOP -- -$(cat RESULTS/pgid) suspends all runs, -CONT continues
# them, -TERM ends them. RESULTS/programs.txt has the revision and the checksum of the program of each start.

export ROTOR_NO_REPORT=1 LC_ALL=C

# Writes RESULTS/TABLE.csv anew with the rows of a unit at its end: runs last, by which a unit has ended.
keep_unit() { # keep_unit ROW UNIT
    exec 9>"$results/.lock"
    flock 9
    for table in $more runs; do
        awk -F, -v row="$1" -v unit="$2" '$1 != row || $2 != unit' "$results/$table.csv" >"$results/$table.new"
        cat "$unit_folder/$table.csv" >>"$results/$table.new"
        sync "$results/$table.new"
        mv "$results/$table.new" "$results/$table.csv"
    done
    exec 9>&-
}

run_arm() { # run_arm ROW UNIT ARM FILE.ini [OPTION ...]
    arm_seed=${2##*-}
    arm_name=$3
    arm_file=$4
    shift 4
    "$build/train" "$arm_file" run.dir="$unit_folder" run.name="$arm_name" run.seed="$arm_seed" "$@" --quiet
}

# A loss that is not finite is a result (exit code 5). Any other failure ends the unit and the driver.
make_unit() { # make_unit ROW UNIT
    unit_folder=$results/at-work/$1-$2
    rm -rf "$unit_folder"
    mkdir -p "$unit_folder"
    for table in $more runs; do
        : >"$unit_folder/$table.csv"
    done
    arms "$1" "$2" >"$unit_folder/arms"
    while read -r arm file options; do
        begin=$(date +%s)
        code=0
        # shellcheck disable=SC2086
        run_arm "$1" "$2" "$arm" "$file" $options >"$unit_folder/log" 2>&1 </dev/null || code=$?
        if [ $code != 0 ] && [ $code != 5 ]; then
            echo "$1 $2 $arm: exit code $code" >&2
            tail -n 3 "$unit_folder/log" >&2
            exit 255
        fi
        collect "$1" "$2" "$arm" "$unit_folder/$arm" $code $(($(date +%s) - begin)) </dev/null
        rm -rf "${unit_folder:?}/$arm"
    done <"$unit_folder/arms"
    keep_unit "$1" "$2"
    rm -rf "$unit_folder"
}

run_units() { # run_units --unit ROW UNIT | ROW ...
    if [ "${1:-}" = --unit ]; then
        make_unit "$2" "$3"
        return
    fi
    mkdir -p "$results"
    exec 8>"$results/.driver"
    flock -n 8 || {
        echo "another driver is at work in $results" >&2
        exit 1
    }
    ps -o pgid= $$ | tr -d ' ' >"$results/pgid"
    for table in $more runs; do
        eval "header=\$${table}_header"
        # shellcheck disable=SC2154
        [ -f "$results/$table.csv" ] || echo "$header" >"$results/$table.csv"
    done
    {
        "$build/train" --version
        git -C "$(dirname "$self")" rev-parse HEAD 2>/dev/null || echo "no revision"
        sha256sum <"$build/train"
    } >>"$results/programs.txt"
    rm -rf "$results/at-work"
    for row in ${*:-$all}; do
        units "$row" >"$results/units"
        awk -F, -v row="$row" 'FNR == NR { if ($1 == row) ended[$2]; next } !($1 in ended)' "$results/runs.csv" \
            "$results/units" >"$results/todo"
        echo "$(date '+%F %T') $row: $(wc -l <"$results/todo") of $(wc -l <"$results/units") units" >&2
        xargs -r -P "${JOBS:-1}" -I UNIT "$self" "$build" "$results" --unit "$row" UNIT <"$results/todo"
    done
    echo "$(date '+%F %T') all done" >&2
}
