#!/bin/sh
# The layers, and the folders of train/: no include runs up, and the lower layers neither print, nor
# exit, nor read the environment; models and ops see no files.
set -eu
cd "$(dirname "$0")/.."
failed=0

refuse() { # refuse FOLDER PATTERN REASON
    if grep -nE "$2" "$1"/*.[ch]; then
        echo "$1/ must not $3" >&2
        failed=1
    fi
}

refuse core '^#include "(ops|models|data|train)/' 'include an upper layer'
refuse ops '^#include "(models|data|train)/' 'include an upper layer'
refuse models '^#include "(data|train)/' 'include an upper layer'
refuse data '^#include "(ops|models|train)/|^#include "core/graph' 'include ops, models, train or the graph'
for folder in core ops models data; do
    refuse $folder '(^|[^a-z_])(printf|fprintf|puts|perror|exit|abort|getenv|setenv)\(' \
        'print, exit or read the environment'
done
for folder in ops models; do
    refuse $folder '(^|[^a-z_])(fopen|open|fread|H5[A-Z][a-z_0-9]*)\(' 'see files'
done

# Every folder of train/ may include itself and those before it, the files on top all of them.
rooms="text config checkpoint huggingface folder step report run sweep"
above=$rooms
for room in $rooms; do
    above=${above#"$room"}
    above=${above# }
    [ -z "$above" ] || refuse "train/$room" "^#include \"train/($(echo "$above" | tr ' ' '|'))/" \
        'include a folder above it'
    refuse "train/$room" '^#include "train/[a-z_]*\.h"' 'include a file on top of train/'
done
for folder in train/*/; do
    folder=${folder#train/}
    case " $rooms " in
    *" ${folder%/} "*) ;;
    *)
        echo "tests/check_includes.sh does not know the place of train/$folder" >&2
        failed=1
        ;;
    esac
done
exit $failed
