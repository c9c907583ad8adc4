#!/bin/sh
# No home-made word of tests/words.txt stands in the pages, the manual, --help of the programs, the
# configurations in experiments/, the comments of installed headers, or a string of the sources and
# scripts, such as a message or a caption; and none with an underscore in a name of the sources, of
# the tests or of their files. docs/changes.md, which lists old names, may have them. Each place is
# reported as FILE:LINE with the term to write.
#
#     tests/check_words.sh BUILD_FOLDER
set -eu
cd "$(dirname "$0")/.."
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines of files as "FILE:LINE:TEXT".
lines_of() { # lines_of FILE ...
    awk '{ print FILENAME ":" FNR ":" $0 }' "$@"
}

# The same of the string literals on a line, without their quotes.
strings_of() { # strings_of FILE ...
    awk '/^#include/ { next }
        {
            text = ""
            rest = $0
            while (match(rest, /"([^"\\]|\\.)*"/)) {
                text = text substr(rest, RSTART + 1, RLENGTH - 2)
                rest = substr(rest, RSTART + RLENGTH)
            }
            if (text != "") print FILENAME ":" FNR ":" text
        }' "$@"
}

# The same of the lines without their strings.
names_of() { # names_of FILE ...
    awk '{ gsub(/"([^"\\]|\\.)*"/, ""); print FILENAME ":" FNR ":" $0 }' "$@"
}

# Looks through such lines; words that a line begins may be continued in the next one, after
# BETWEEN. With `names` only words with an underscore count.
find_words() { # find_words BETWEEN [names]
    awk -v between="$1" -v names="${2:-}" '
        function stands(text, word,    at) {
            text = " " text " "
            while ((at = index(text, word))) {
                if (substr(text, at - 1, 1) !~ /[a-z]/ &&
                    substr(text, at + length(word), 1) !~ /[a-z]/) return 1
                text = substr(text, at + 1)
            }
            return 0
        }
        NR == FNR {
            if ($0 !~ /^#/ && split($0, row, / [|] /) == 2 && (!names || row[1] ~ /_/)) {
                word[++count] = tolower(row[1])
                term[count] = row[2]
            }
            next
        }
        {
            split($0, part, ":")
            file = part[1]
            line = part[2]
            text = tolower(substr($0, length(file) + length(line) + 3))
            if (between == " ") gsub(/^[ ;*]+|[ \t]+$/, "", text)
            joined = file == last_file && line == last_line + 1 ? last_text between text : text
            for (i = 1; i <= count; i++)
                if (stands(joined, word[i]) && (joined == text || !stands(last_text, word[i]))) {
                    printf "%s:%s: \"%s\": write \"%s\"\n", file, line, word[i], term[i]
                    failed = 1
                }
            last_file = file
            last_line = line
            last_text = text
        }
        END { exit failed }' tests/words.txt "$work/lines"
}

failed=0
"$build/train" --help >"$work/train --help"
"$build/bench" --help >"$work/bench --help"
installed="io/rotor-io.h data/labels.h data/tokenizers/level.h data/tokenizers/vocabulary.h
    $(sed -n 's/^#include "\(.*\)"$/\1/p' "$build/rotor.h")"
# shellcheck disable=SC2086
lines_of $installed >"$work/lines"
lines_of README.md train/rotor.1 experiments/*.ini experiments/*/*.ini >>"$work/lines"
for page in docs/*.md experiments/*/*.md; do
    [ $page = docs/changes.md ] || lines_of $page >>"$work/lines"
done
(cd "$work" && lines_of *--help) >>"$work/lines"
find_words " " >&2 || failed=1
strings_of $(find bench core data io models ops optim text train -name '*.[ch]' | sort) \
    scripts/* >"$work/lines"
find_words "" >&2 || failed=1
sources=$(find bench core data io models ops optim text train tests -name '*.[ch]' | sort)
names_of $sources >"$work/lines"
printf '%s\n' $sources | awk '{ print $0 ":0:" $0 }' >>"$work/lines"
find_words " " names >&2 || failed=1
exit $failed
