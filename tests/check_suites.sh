#!/bin/sh
# Which suites test a source file, by tests/suites.txt; without one, or for a suite that is gone, it fails.
#
#     tests/check_suites.sh [--table]
#
# The suite of folder/name.c is tests/folder/test_name.c, and needs no line. --table prints all of them.
set -eu
export LC_ALL=C
cd "$(dirname "$0")"
{
    sed 's/#.*//' suites.txt
    echo
    (cd .. && find core ops optim models util data io train -name '*.c' | sort)
} | awk -v table="${1:-}" '
    function path(suite) { sub(/[^\/]*$/, "test_&.c", suite); return suite }
    function is_there(file,    line, found) { found = (getline line <file) >= 0; close(file); return found }
    function complain(message) { print "tests/suites.txt: " message >"/dev/stderr"; failed = 1 }
    NF > 1 {
        said[$1] = $0
        next
    }
    NF == 1 {
        mirrored = path(substr($1, 1, length($1) - 2))
        listed = $1 in said
        suites = listed ? said[$1] : $1 " " substr($1, 1, length($1) - 2)
        used[$1] = 1
        if (!listed && !is_there(mirrored)) {
            complain($1 " has no suite: tests/" mirrored ", or a line here")
            next
        }
        if (listed && is_there(mirrored))
            complain($1 " needs no line: it has tests/" mirrored)
        count = split(suites, names, " ")
        for (i = 2; i <= count && names[2] != "-"; i++)
            if (!is_there(path(names[i])))
                complain($1 ": there is no tests/" path(names[i]))
        if (table)
            print suites
    }
    END {
        for (source in said)
            if (!(source in used))
                complain("there is no source " source)
        exit failed
    }'
