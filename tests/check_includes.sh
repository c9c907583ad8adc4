#!/bin/sh
# Which folders each folder may include, the table of docs/source-layout.md; and what the libraries
# do not do: they neither print, nor exit, nor read the environment.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
failed=0

# A folder, a colon, and the folders that it may include beside itself. A folder includes all that is
# below it, except for folders with a line of their own.
folders='
core:
ops: core
optim: core ops
models: core ops
util: core
data: core util
io: core ops optim models util data
train/templates:
train/config: core ops optim models util data io
train/folder: core ops optim models util data io train/config
train/world: core ops optim models util data io train/config train/folder
train/step: core ops optim models util data io train/config train/folder train/world
train/report: core ops optim models util data io train/config train/folder train/world train/step
train/run: core ops optim models util data io train/config train/folder train/world train/step train/report
train/use: core ops optim models util data io train/config train/folder train/world train/step train/report train/run
train/sweep: core ops optim models util data io train/config train/folder train/world train/step train/report train/run
train: core ops optim models util data io train/config train/folder train/world train/step train/report train/run train/use train/sweep
'

refuse() { # refuse FOLDER PATTERN REASON [BUT]: in no file of the folder and those below it
    if grep -rnE --include='*.[ch]' "$2" "$1" | grep -vE "${4:-^$}"; then
        echo "$1/ must not $3" >&2
        failed=1
    fi
}

# Every include of a source against the table.
includes=$(grep -rnE --include='*.[ch]' '^#include "[a-z]+/' core ops optim models util data io train) || true
echo "$includes" | awk -v table="$folders" '
    function folder(path) {
        while (sub("/[^/]*$", "", path))
            if (path in known)
                return path
        return ""
    }
    BEGIN {
        count = split(table, lines, "\n")
        for (i = 1; i <= count; i++)
            if (split(lines[i], sides, ":") > 1) {
                known[sides[1]] = 1
                number = split(sides[2], names, " ")
                for (k = 1; k <= number; k++)
                    may[sides[1], names[k]] = 1
            }
    }
    {
        split($0, fields, ":")
        target = $0
        sub(/^[^"]*"/, "", target)
        sub(/".*/, "", target)
        from = folder(fields[1])
        to = folder(target)
        if (to == "" || (from != to && !((from, to) in may))) {
            print fields[1] ":" fields[2] ": " from " must not include " target
            bad = 1
        }
    }
    END { exit bad }' >&2 || failed=1

for folder in train/*/; do
    case $folders in
    *"
${folder%/}:"*) ;;
    *)
        echo "tests/check_includes.sh does not know the place of $folder" >&2
        failed=1
        ;;
    esac
done

for folder in core ops optim models util data io train/config; do
    refuse $folder '(^|[^a-z_])(printf|fprintf|puts|perror|exit|abort|getenv|setenv)\(' \
        'print, exit or read the environment'
done
for folder in ops optim models; do
    refuse $folder '(^|[^a-z_])(fopen|open|fread|H5[A-Z][a-z_0-9]*)\(' 'see files'
done

# Children are normal processes that end with their parents: one file forks and waits.
for folder in core ops optim models util data io train; do
    refuse $folder '(^|[^a-z_])(v?fork|wait(pid|id)?|popen|system|posix_spawnp?)\(' \
        'fork or wait but by util/process.h' '^util/process\.c:'
done

# Before it has a value, leaving its block would free or close whatever its memory holds.
for folder in core ops optim models util data io train; do
    refuse $folder '^ *RT_(OWNED|CLOSED_BY\([a-z_]+\)) [^=]*;' 'declare what a block owns without a value'
done
exit $failed
