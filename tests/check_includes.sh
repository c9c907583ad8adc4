#!/bin/sh
# The layers: no include runs up, and the lower layers neither print, nor exit, nor read the
# environment; models and ops see no files.
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
exit $failed
