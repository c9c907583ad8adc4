#!/bin/sh
# The layers, and the folders of train/: no include runs up, and the lower layers and what is in
# librotor-io neither print, nor exit, nor read the environment; models and ops see no files.
set -eu
cd "$(dirname "$0")/.."
failed=0

refuse() { # refuse FOLDER PATTERN REASON [BUT]
    if grep -nE "$2" "$1"/*.[ch] | grep -vE "${4:-^$}"; then
        echo "$1/ must not $3" >&2
        failed=1
    fi
}

refuse core '^#include "(ops|optim|models|data|train|io)/' 'include an upper layer'
refuse ops '^#include "(optim|models|data|train|io)/' 'include an upper layer'
refuse optim '^#include "(models|data|train|io)/' 'include an upper layer'
refuse models '^#include "(optim|data|train|io)/' 'include an upper layer'
refuse data '^#include "(ops|optim|models|train|io)/|^#include "core/graph' \
    'include ops, optim, models, train or the graph'

# io/ is on top of what librotor-io has of train/, and beside the rest of it.
refuse io '^#include "train/(folder|report|run|sweep)/|^#include "train/[a-z_]*\.h"' \
    'include what is not in librotor-io'
refuse io '^#include "train/step/' 'include more of train/step than batch_loss.h' '/batch_loss\.h"'
refuse train '^#include "io/' 'include an upper layer'

for folder in core ops optim models data io train/text train/config train/checkpoint train/huggingface; do
    refuse $folder '(^|[^a-z_])(printf|fprintf|puts|perror|exit|abort|getenv|setenv)\(' \
        'print, exit or read the environment'
done
for folder in ops optim models; do
    refuse $folder '(^|[^a-z_])(fopen|open|fread|H5[A-Z][a-z_0-9]*)\(' 'see files'
done

# Children are normal processes that end with their parents: one file forks and waits.
for folder in core ops optim models data io train/*/ train; do
    refuse "${folder%/}" '(^|[^a-z_])(v?fork|wait(pid|id)?|popen|system|posix_spawnp?)\(' \
        'fork or wait but by data/process.h' '^data/process\.c:'
done

# Every folder of train/ may include itself and those before it, the files on top all of them.
rooms="text config checkpoint huggingface folder world step report run sweep"
above=$rooms
for room in $rooms; do
    above=${above#"$room"}
    above=${above# }
    [ -z "$above" ] || refuse "train/$room" "^#include \"train/($(echo "$above" | tr ' ' '|'))/" \
        'include a folder above it'
    refuse "train/$room" '^#include "(train/[a-z_]*\.h|io/)' 'include a file on top of train/'
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
