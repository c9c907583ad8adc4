#!/bin/sh
# What the pages name as code is there: files, programs, the commands of bench, and options. Links lead
# to files and headings. C is a part of an example. And each table of measurements has the command that
# makes it, or says that there is none.
#
#     tests/check_pages.sh BUILD_FOLDER
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() { # fail PAGE WHAT
    echo "$1: $2" >&2
    failed=1
}

# The code of a page, a line for each line of a block, and for each text between backticks.
code_of() { # code_of PAGE
    awk '
        /^```/ { fenced = !fenced; next }
        fenced || /^    / { print; next }
        { text = text " " $0 }
        END { n = split(text, parts, "`"); for (i = 2; i <= n; i += 2) print parts[i] }' "$1"
}

# Where a path is, with "build/" for the folder of the build; nothing for what is made by a command
# of the page.
place_of() { # place_of PATH
    case $1 in
    build/reference/* | build/text/ | *\** | *.deb) ;;
    build/tests/*) ls tests/*/"${1##*/}.c" 2>/dev/null || echo "$build/${1#build/}" ;;
    build/*) echo "$build/${1#build/}" ;;
    *) echo "$1" ;;
    esac
}

check_paths() { # check_paths PAGE
    folders='bench|build|cmake|core|data|docs|examples|experiments|io|models|ops|optim|python|scripts|tests|train|util'
    grep -oE "(^|[ ('\"=])(\./)?($folders)/[A-Za-z0-9_./*-]+" "$work/code" |
        sed -E "s/^[ ('\"=]//; s/^\.\///; s/[.]$//" | sort -u >"$work/paths"
    while read -r path; do
        place=$(place_of "$path")
        [ -z "$place" ] || [ -e "$place" ] || fail "$1" "there is no $path"
    done <"$work/paths"
}

# The functions and types of rotor that a page names, and on the page that walks through the code
# every identifier.
check_names() { # check_names PAGE
    pattern='rt_[a-z0-9_]*[a-z0-9]'
    [ "$1" != docs/source-layout.md ] || pattern='[a-z0-9]+(_[a-z0-9]+)+'
    sed -E 's/[a-z_]+(\.[a-z_]+)+//g' "$work/code" |
        grep -owE "$pattern" | sort -u >"$work/names"
    while read -r name; do
        grep -qxF "$name" "$work/source" || fail "$1" "there is no $name in the source"
    done <"$work/names"
}

# The headings of a page as links name them.
headings() { # headings PAGE
    sed -n 's/^#* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -d '!-,./:-@[-^`{-~'
}

check_links() { # check_links PAGE
    awk '/^```/ { fenced = !fenced } !fenced' "$1" | grep -oE '\]\([^ ()]+\)' |
        sed 's/^](//; s/)$//' | grep -v '^https:' | sort -u >"$work/links"
    while read -r link; do
        file=${link%%#*}
        place=${file:+$(dirname "$1")/$file}
        place=${place:-$1}
        case $link in
        *#*) headings "$place" 2>/dev/null | grep -qxF -e "${link#*#}" ;;
        *) [ -e "$place" ] ;;
        esac || fail "$1" "its link $link leads nowhere"
    done <"$work/links"
}

"$build/bench" --help >"$work/bench-help"
"$build/train" --help >"$work/train-help"

# Prints what names the options of a command: its help, or the text of a script.
about() { # about COMMAND
    case $1 in
    build/bench) cat "$work/bench-help" ;;
    train | build/train | build/train-f64) cat "$work/train-help" ;;
    *) cat "$1" ;;
    esac
}

# Each command of the code with what follows it, up to the next one: "COMMAND WORD", a line for each.
check_commands() { # check_commands PAGE
    tr '|;&()' '\n\n\n\n\n' <"$work/code" | awk '
        {
            command = ""
            for (i = 1; i <= NF; i++) {
                if ($i ~ /^(train|build\/(train|train-f64|bench)|(bench|scripts)\/[a-z-]+|experiments\/[a-z]+\/study)$/) {
                    command = $i
                    if (command == "build/bench") print command, $(i + 1)
                } else if (command != "" && $i ~ /^--[a-z]/) {
                    sub(/[=,.:].*/, "", $i)
                    print command, $i
                }
            }
        }' | sort -u >"$work/words"
    while read -r command word; do
        case $command in
        bench/* | scripts/* | */study) [ -f "$command" ] || continue ;;
        esac
        case $word in
        '') ;;
        -*) about "$command" | grep -qE -- "$word([^a-z-]|\$)" || fail "$1" "$command has no $word" ;;
        *) about "$command" | grep -qE "^  $word( |\$)" || fail "$1" "$command has no command $word" ;;
        esac
    done <"$work/words"
}

# The C of a page, which is verbatim in an example, but for the indentation.
check_c() { # check_c PAGE
    awk '
        { line = $0; sub(/^ +/, "", line) }
        FNR == 1 { source = source "\f" }
        FILENAME != page { source = source line "\n"; next }
        /^```c$/ { inside = FNR; block = "\n"; next }
        /^```/ && inside {
            if (!index(source, block)) print "line " inside ": this C is in no file of examples/"
            inside = 0
        }
        inside { block = block line "\n" }' page="$1" examples/*.c "$1" >"$work/c"
    while read -r line; do
        fail "$1" "$line"
    done <"$work/c"
}

# Between a table and the one before it, or the heading, or within it.
check_tables() { # check_tables PAGE
    awk '
        function close_table() {
            if (table && !told) print "line " table ": the table has no command that makes it"
            if (table) told = table = 0
        }
        /^#/ { close_table(); told = 0 }
        /^\|/ && !table { table = NR }
        !/^\|/ { close_table() }
        /(bench|scripts)\/[a-z-]+( |`|$)/ || /build\/(bench|train)/ || /`ctest`/ { told = 1 }
        /No command repeats this table/ { told = 1 }
        END { close_table() }' "$1" >"$work/tables"
    while read -r line; do
        fail "$1" "$line"
    done <"$work/tables"
}

# A page that adds something names files that are not there yet; tests/docs/follow does what it says.
cat core/*.[ch] ops/*.[ch] optim/*.[ch] models/*.[ch] models/*/*.[ch] util/*.[ch] data/*.[ch] \
    data/*/*.[ch] io/*.[ch] io/*/*.[ch] train/*.[ch] train/*/*.[ch] 2>/dev/null |
    grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$work/source"
for page in ./*.md docs/*.md bench/README.md experiments/*/*.md; do
    code_of "$page" >"$work/code"
    case $page in
    docs/adding-*) ;;
    *)
        check_paths "$page"
        check_names "$page"
        check_c "$page"
        ;;
    esac
    check_commands "$page"
    check_links "$page"
done
for page in docs/performance.md docs/reliability.md docs/many-machines.md bench/README.md; do
    check_tables $page
done
exit $failed
