#!/bin/sh
# The numbers that README.md, docs/learning-theta.md, the study of theta and the pages of images and the gallery
# quote: each is computed again from the results in experiments, and the page has to contain its sentence with
# the number in place.
#
#     tests/check_numbers.sh [ROOT]
#
# A row is
#
#     number PAGE 'SENTENCE with {} in it' COMMAND ...
#
# where {} stands for the output of the command; line breaks of the page do not matter. `given` marks
# a number that does not come from results. In the abstract of the study and in README's section every
# number has to be in a row.
set -eu
export LC_ALL=C
root=$(cd "${1:-$(dirname "$0")/..}" && pwd)
study=$root/experiments/theta
results=$study/results
statistics=$root/experiments/common/statistics.awk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

flat() { # flat FILE [FROM TO]: a page, or from one line to another, as one line
    awk -v from="${2:-}" -v to="${3:-}" '
        from != "" && $0 == from { inside = 1; next }
        to != "" && $0 == to { inside = 0 }
        from == "" || inside' "$1" | tr '\n' ' ' | tr -s ' '
}

number() { # number PAGE SENTENCE COMMAND ...
    page=$1
    sentence=$2
    shift 2
    value=$("$@") || { echo "$page: '$sentence' is not true ($*)" >&2; failed=1; }
    file=$work/$(echo "$page" | tr / _)
    [ -f "$file" ] || flat "$root/$page" >"$file"
    printf '%s\n%s\n' "$sentence" "$value" >"$work/row"
    awk -v page="$page" -v seen="$work/seen" '
        FNR == NR { if (FNR == 1) sentence = $0; else value = $0; next }
        {
            at = index(sentence, "{}")
            wanted = at ? substr(sentence, 1, at - 1) value substr(sentence, at + 2) : sentence
            print wanted >>seen
            if (index($0, wanted)) found = 1
        }
        END {
            if (!found) { print page " does not say: " wanted >"/dev/stderr"; exit 1 }
        }' "$work/row" "$file" || failed=1
}

# ---- from results/*.csv ----

# The differences of two variants, seed by seed, of several files: -v of, than, result, form.
pairs() { # pairs WHAT FILE+FILE OF THAN [RESULT]: WHAT: interval, fine, bound, mean, detectable, lower, share, p
    what=$1
    files=$(echo "$2" | tr '+' ' ')
    of=$3
    than=$4
    set -- "${5:-eval_loss}"
    for name in $files; do echo "$results/$name.csv"; done | xargs awk -F, -v what="$what" -v of="$of" \
        -v than="$than" -v result="$1" -v family="$family" -f "$statistics" -f "$work/pairs.awk"
}
cat >"$work/pairs.awk" <<'END'
FNR == 1 { file++; for (name in at) delete at[name]; for (i = 1; i <= NF; i++) at[$i] = i; next }
$at[result] != "" && $at["variant"] == than { fixed[file, $at["run.seed"]] = $at[result] }
$at[result] != "" && $at["variant"] == of { keys[++count] = file SUBSEP $at["run.seed"]; learned[keys[count]] = $at[result] }
END {
    for (i = 1; i <= count; i++) {
        if (!(keys[i] in fixed)) continue
        x[++n] = learned[keys[i]] - fixed[keys[i]]
        lower += x[n] < 0
    }
    paired(x, n)
    form = what == "fine" ? "%+.5f" : "%+.4f"
    if (what == "interval" || what == "fine") print interval(x, n, form)
    else if (what == "bound") { paired(x, n, family); printf "%.4f\n", half - mean }
    else if (what == "p") print chance(t_test(x, n))
    else if (what == "mean") printf "%.4f\n", -mean
    else if (what == "detectable") printf "%.4f\n", detectable
    else if (what == "lower") print lower + 0
    else if (what == "share") print lower + 0 " of " n
    else exit 1
}
END

# The number of comparisons in the family of the claims: bounds are those of its simultaneous intervals.
family=$(awk -F, '$7 == "yes" || $7 == "unmet" { n++ } END { print n + 1 }' "$study/claims/comparisons.csv")

# A cell of the differences of the registered experiment, as its script makes them: 4 pairs, 5 mean and interval,
# 6 detectable, 8 simultaneous interval, 11 accuracy.
registered() { # registered CELL ROW DIFFERENCE
    [ -s "$work/registered" ] || "$study/registered/analyse" "$study/registered/results" >"$work/registered"
    awk -F' *[|] *' -v row="$2" -v what="$3" -v cell="$1" '
        $2 == row && $3 == what { print $cell; found = 1 }
        END { exit !found }' "$work/registered"
}
registered_points() { registered 11 "$@" | sed 's/ / points /'; }
registered_simultaneous() { # registered_simultaneous low | high ROW: an end of the interval of the loss, without sign
    side=$1
    registered 8 "$2" 'learned less fixed' | tr -d '[],+-' | awk -v side="$side" '{ print side == "low" ? $1 : $2 }'
}
registered_nats() { registered 5 "$@" | sed 's/ / nats /'; }
registered_gain() { registered 5 "$@" | sed 's/^-//; s/ .*/ nats/'; }
registered_end() { registered 5 "$@" | sed 's/.*\[-//; s/,.*//'; }
smaller_by_it() { judged 4 "$1" | sed -n 's/smaller than \(.*\) nats/\1/p'; }

# A cell of its verdicts: 3 as registered, 4 by the simultaneous interval, 5 worth of twice the steps, 6 gain in
# compute.
judged() { # judged CELL SIZE
    registered 5 "$2" 'learned less fixed' >/dev/null
    awk -F' *[|] *' -v size="$2" -v cell="$1" '/^[|] size [|] verdict/ { begun = 1 }
        begun && $2 == size { print $cell; found = 1; exit }
        END { exit !found }' "$work/registered"
}
# What a reset costs on average, in nats to some digits.
reset_costs() { reset 5 "$2" | awk -v digits="$1" '{ printf "%." digits "f\n", $1 }'; }
# The smallest bias, in steps of 0.0001, that the simultaneous interval of the placebo excludes on both sides.
placebo_bound() {
    awk -F, -f "$statistics" -f /dev/stdin "$study/registered/results/runs.csv" <<'END'
$1 == "middle" && $6 == 0 { loss[$3, $2] = $7 }
END {
    for (seed = 2001; seed <= 2080; seed++) x[++n] = loss["placebo", seed] - loss["fixed", seed]
    paired(x, n, 2)
    end = mean > 0 ? mean + half : half - mean
    printf "%.4f\n", int(end * 10000 + 1) / 10000
}
END
}
in_direction() { judged 4 middle | grep -qx 'reproduced in direction'; }
# A cell of its table of resets: 3 learning rate, 4 mean change, 6 higher, 7 times the gain.
reset() { # reset CELL SIZE
    registered 5 "$2" 'learned less fixed' >/dev/null
    awk -F' *[|] *' -v size="$2" -v cell="$1" '/^[|] size [|] learning rate/ { begun = 1 }
        begun && $2 == size { print $cell; found = 1; exit }
        END { exit !found }' "$work/registered"
}
all_higher() { for size in "$@"; do reset 6 "$size" | awk '{ exit $1 != $3 }' || return 1; done; }
sizes_differ() { # sizes_differ: the difference of the two sizes
    registered 5 small 'learned less fixed' >/dev/null
    sed -n 's/^middle less small: \(.*\), p = .*/\1/p' "$work/registered"
}
no_difference() { sizes_differ | awk '{ gsub(/[][,]/, ""); exit !($2 < 0 && $3 > 0) }'; }
no_gain_in_accuracy() {
    for size in small middle; do
        registered 11 $size 'learned less fixed' | awk '{ gsub(/[][,]/, ""); exit !($2 < 0 && $3 > 0) }' || return 1
    done
}
deviation() { # deviation ROW: of the pairs of learned and fixed, in nats
    awk -F, -v row="$1" '$1 == row && $3 == "fixed" { fixed[$2] = $7 } $1 == row && $3 == "learned" { x[$2] = $7 }
        END {
            for (u in x) { n++; d = x[u] - fixed[u]; sum += d; squares += d * d }
            printf "%.4f\n", sqrt((squares - sum * sum / n) / (n - 1)) }' "$study/registered/results/runs.csv"
}
best_rate() { # best_rate SIZE: of the three
    awk -F' *[|] *' -v size="$1" '/^$/ { exit } $2 == size && (least == "" || $4 < least) { least = $4; rate = $3 }
        END { print rate }' "$work/registered"
}
excluded_share() { for size in "$@"; do compute_end "$size" | awk '{ exit $1 >= 3.4 }' || return 1; done; }

row_of() { # row_of TABLE CELL PATTERN: a cell of the first row that has the pattern
    awk -F' *[|] *' -v cell="$2" -v pattern="$3" '$0 ~ pattern { print $cell; found = 1; exit } END { exit !found }' "$work/$1"
}

# A cell of the second registered experiment, as its script makes it: 4 pairs, 5 mean and interval, 7 p.
cause() { # cause CELL DIFFERENCE
    [ -s "$work/causes" ] || "$study/causes/analyse" "$study/causes/results" >"$work/causes"
    row_of causes "$1" "[|] $2 [|]"
}
# Of the row length, at a step: the change of ln theta with its interval to two digits, and the mean cost of a reset.
longer() { # longer drift|reset STEP
    cause 2 "$2" >/dev/null
    row_of causes "$([ "$1" = drift ] && echo 3 || echo 5)" "^[|] $2 [|]" | tr -d '[],+' | if [ "$1" = drift ]; then
        awk '{ printf "%.2f in ln θ [%.2f, %.2f]\n", $1, $2, $3 }'
    else
        awk '{ printf "%.2f\n", $1 }'
    fi
}
longer_loss() { sed -n 's/^loss after 16,000 steps, learned less fixed, not judged: //p' "$work/causes"; }
longer_unseen() { longer_loss | awk '{ gsub(/[][,]/, ""); exit !($2 < 0 && $3 > 0) }'; }
longer_rises() { # up at every step, and higher at each until 8,000
    awk -F ' *[|] *' '$2 ~ /000$/ { rows++; up += $4 == "up"; split($3, part, " "); if ($2 <= 8000) { rises += part[1] + 0 > last; last = part[1] + 0 } }
        END { exit rows != 5 || up != 5 || rises != 4 }' "$work/causes"
}
most_change_of_fast() { # the largest of the table's mean changes at four turns and more, without sign
    awk -F, -f "$statistics" -f "$study/tables/published.awk" "$study/registered/results/pairs.csv" \
        "$study/causes/results/pairs.csv" "$study/published_drift.csv" |
        awk -F ' *[|] *' 'NR > 2 { n = split($9, part, " "); x = part[n]; if (x < 0) x = -x; if (x > most) most = x } END { printf "%.2f\n", most }'
}
cause_nats() { cause 5 "$1" | sed 's/ / nats /'; }
cause_left() { cause 5 "$1" | sed 's/.*\[-//; s/,.*/ nats/'; } # the lower end, without sign
cause_not_above() { cause 5 "$1" | awk '{ gsub(/[][,]/, ""); exit $2 > 0 }'; }
cause_unseen() { cause 5 "$1" | awk '{ gsub(/[][,]/, ""); exit !($2 < 0 && $3 > 0) }'; }
cause_accuracy() { # cause_accuracy DIFFERENCE: its points with the interval
    cause 5 'dose 1 less placebo' >/dev/null
    sed -n "s/^accuracy in points.*: \(.*; \)\{0,1\}$1 \([-+0-9.]*\) \([^;]*\).*/\2 points of accuracy \3/p" "$work/causes"
}
cause_points() { cause_accuracy "$1" | sed 's/^+//; s/ of accuracy.*//'; }
cause_most() { cause 5 "$1" | sed 's/.*\[-//; s/,.*//'; }                # the same without a unit
cause_verdict() { cause 5 'dose 1 less placebo' >/dev/null && row_of causes 3 "^[|] $1 [|] [^|]*[|]$"; }
twice_the_gain() { # of the mean gain of 80 pairs at the rate of the weights, in words
    { cause 5 'three times the rate less fixed'; registered 5 middle 'learned less fixed'; } |
        awk '{ x[NR] = $1 } END { times = x[1] / x[2]; print (times > 1.75 && times < 2.5 ? "twice" : times) }'
}
cause_right() { cause 5 "$1" | sed 's/.*, +//; s/\]//'; } # the upper end
cause_below() { cause 5 "$1" | awk '{ gsub(/[][,]/, ""); exit !($3 < 0) }'; }
twice_learned() { # dose 3 in gains of learning, of the same seeds, in words
    awk -F, 'FNR == 1 { file++; next }
        file == 1 && $1 == "middle" && $6 == 0 && $2 <= 2040 && $3 == "learned" { learned += $7 }
        file == 1 && $1 == "middle" && $6 == 0 && $2 <= 2040 && $3 == "placebo" { placebo += $7 }
        file == 2 && $3 == "dose3" { dose += $5 }
        END { times = (dose - placebo) / (learned - placebo); print (times > 1.75 && times < 2.25 ? "twice" : times) }' \
        "$study/registered/results/runs.csv" "$study/causes/results/runs.csv"
}

# Models of a registered row that get worse when theta is reset.
registered_needed() { # registered_needed ROW
    awk -F, -v row="$1" '$1 == row && $3 == "learned" { n++; needed += $14 } END { print needed " of " n }' \
        "$study/registered/results/runs.csv"
}

# Of the registered runs: how often pairs between two numbers of turns went up or down, of all.
registered_drift() { # registered_drift up|down FROM TO ROW
    awk -F, -v direction="$1" -v from="$2" -v to="$3" -v row="$4" '
        $1 == row && $3 == "learned" && $4 == 0 && $5 == 0 {
            start = exp(-log(10000) * $6 / 16); turns = start * 127 / 6.283185307
            if (turns >= from && turns < to) { n++; hit += direction == "up" ? $7 > start : $7 < start }
        }
        END { print hit " of " n }' "$study/registered/results/pairs.csv"
}
# The median turns of the pair below 4 turns that is used most, over layers and seeds, or in one layer.
registered_use() { # registered_use ROW [LAYER]
    awk -F, -v row="$1" -v layer="${2:-}" '
        $1 == row && $3 == "learned" && (layer == "" || $4 == layer) {
            use[$2 "," $4, $6] += $8; turns[$2 "," $4, $6] = $7 * 127 / 6.283185307; models[$2 "," $4]
        }
        END {
            for (m in models) {
                most = 0
                for (i = 0; i < 16; i++)
                    if (turns[m, i] < 4 && use[m, i] > most) { most = use[m, i]; where = turns[m, i] }
                print where
            }
        }' "$study/registered/results/pairs.csv" | sort -n |
        awk '{ x[NR] = $1 } END { printf "%.2f\n", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}
# A cell of the table of published drifts between 0.1 and 0.35 turns.
published() { # published up|drift SOURCE
    awk -F, -f "$statistics" -f "$study/tables/published.awk" "$study/registered/results/pairs.csv" \
        "$study/causes/results/pairs.csv" "$study/published_drift.csv" |
        awk -F ' *[|] *' -v what="$1" -v source="$2" '$2 == source {
            split($6, part, " up, "); print what == "up" ? part[1] : part[2]; found = 1 } END { exit !found }'
}
published_up_here() {
    for source in 'registered, 2 × 64' 'registered, 4 × 128' '2 × 64, 16000 steps'; do
        [ "$(published up "$source")" = '2 of 2' ] || return 1
    done
}
published_factor() { # whole, rounded down, of the smaller change
    for source in MLPRope LeRoPE; do published drift $source; done |
        awk '{ x = exp(-$1); if (NR == 1 || x < least) least = x } END { print int(least) }'
}
published_gain() { # published_gain COLUMN SOURCE [STEPS]: 6 gain, 7 and 8 interval, 9 share of a frozen table in %
    awk -F, -v column="$1" -v source="$2" -v steps="${3:-}" '$1 == source && (steps == "" || $4 == steps) {
        print column == 9 ? 100 * $9 " %" : column == 7 ? "[" $7 ", " $8 "]" : $column }' "$study/published_gains.csv"
}
mean_of() { # mean_of FILE VARIANT FORMAT: of the evaluation loss
    awk -F, -v variant="$2" -v format="$3\n" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["variant"] == variant { sum += $at["eval_loss"]; n++ } END { printf format, sum / n }' "$results/$1.csv"
}
compute_gain() { judged 6 "$1" | sed 's/ % / % of compute /'; }
compute_end() { judged 6 "$1" | sed 's/.*[, +]\([0-9.]*\)]$/\1 %/'; }

# Models that get worse when theta is reset, of all that learned it.
needed() { # needed WHAT FILE ...: share, or the largest fall of the accuracy
    what=$1
    shift
    for name in "$@"; do echo "$results/$name.csv"; done | xargs awk -F, -v what="$what" '
        FNR == 1 { for (name in at) delete at[name]; for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["theta_needed"] != "" {
            n++; needed += $at["theta_needed"]
            fall = $at["eval_accuracy"] - $at["theta_reset_accuracy"]
            if (fall > most) most = fall
        }
        END {
            if (what == "share") print needed " of " n
            else if (what == "n") print n
            else if (what == "sum") print needed
            else printf "%.3f\n", most
        }'
}
of_text="scratch scratch-narrow scratch-wide scratch-wide-again scratch-wide-earlier law law-conditions law-attention \
law-attention-masked law-lengths law-windows theta-text theta-decoder theta-decoder-base theta-decoder-nope"

# What twice the steps are worth at 2 x 64, and 3.4 % of compute.
doubling() { # doubling SHARE FORMAT
    awk -F, -v share="$1" -v format="$2\n" '
        NR > 1 { loss[$2, $3] = $6; seeds[$2] }
        END {
            for (s in seeds) if ((s, 1000) in loss && (s, 2000) in loss) { sum += loss[s, 1000] - loss[s, 2000]; n++ }
            printf format, sum / n * log(1 + share) / log(2)
        }' "$results/compute.csv"
}

compute_of() { # compute_of NATS FORMAT: in percent of compute
    awk -v nats="$1" -v twice="$(doubling 1 %.9g)" -v format="$2\n" \
        'BEGIN { printf format, 100 * (2 ^ (nats / twice) - 1) }'
}

# The table of a claim, made once.
claim() { # claim NAME [summary]
    [ -f "$work/claim-$1" ] || make_claim "$@" >"$work/claim-$1"
    cat "$work/claim-$1"
}
make_claim() {
    sweeps=$(sed '1d; s/^[^,]*,\([^,]*\),.*/\1/' "$study/claims/comparisons.csv" | sort -u)
    for name in $sweeps compute; do [ ! -f "$results/$name.csv" ] || echo "$results/$name.csv"; done |
        xargs awk -F, -v claim="$1" -v summary="${2:-}" -v margin=0.01 -v share=0.034 -f "$statistics" \
            -f "$study/tables/claim.awk" "$study/claims/comparisons.csv"
}
summary() { claim none 1; }
in_family() { # in_family CLAIM SWEEP VARIANT AGAINST: p
    claim "$1" | awk -F ' *[|] *' -v s="$2" -v v="$3" -v a="$4" \
        '$2 == s && $3 == v && $4 == a && $5 == "trained" { print $11 }'
}

# A verdict recomputed from results, and how many there are of each kind.
verdicts() {
    for name in lerope adarope rate prope partial ropeid bands drope; do claim $name; done |
        grep '^verdict:'
    awk -F, -v family="$family" -f "$statistics" -f "$study/tables/width-profile.awk" "$results/profile-pairs.csv" |
        grep '^verdict:'
}
verdict() { sed -n "s/^verdict: $1: //p" "$work/verdicts"; }
kind() { # kind PATTERN: how many claims have it, in words
    set -- "$(grep -c ": $1" "$work/verdicts")"
    echo "none one two three four five six seven eight nine" | cut -d ' ' -f $(($1 + 1))
}
verdicts >"$work/verdicts"

# A field of a row of one of the study's tables.
field() { # field ROW COLUMN SCRIPT FILE ... : the row that begins so
    row=$1
    column=$2
    script=$3
    shift 3
    for name in "$@"; do echo "$results/$name.csv"; done | xargs awk -F, -f "$statistics" \
        -f "$study/tables/$script.awk" | awk -F ' *[|] *' -v row="$row" -v column="$column" \
        'index($2, row) == 1 { print $(column + 1); exit }'
}
last_field() { # last_field: as field, of the last such row
    row=$1
    column=$2
    script=$3
    shift 3
    for name in "$@"; do echo "$results/$name.csv"; done | xargs awk -F, -f "$statistics" \
        -f "$study/tables/$script.awk" | awk -F ' *[|] *' -v row="$row" -v column="$column" \
        'index($2, row) == 1 { found = $(column + 1) } END { print found }'
}

# Of causal decoders with one theta for each layer, the drift of pairs that start between two numbers of
# turns: how many cells (pair and layer, mean over seeds) went up, of all.
cells_up() { # cells_up FROM TO FILE ...
    from=$1
    to=$2
    shift 2
    for name in "$@"; do echo "$results/$name.csv"; done | xargs awk -F, -v from="$from" -v to="$to" '
        FNR == 1 { file++; next }
        $1 == "layer" {
            turns = $5 * exp(-$6) * 255 / 6.283185307
            if (turns >= from && turns < to) sum[file, $3, $4] += $6
        }
        END { for (c in sum) { n++; up += sum[c] > 0 } print up + 0 " of " n }'
}

# The same of the runs on the law with the defaults, where turns are those over the length or the window.
law_cells() { # law_cells up|down FROM TO
    for name in law-pairs law-attention-pairs law-reach-pairs; do echo "$results/$name.csv"; done |
        xargs awk -F, -v direction="$1" -v from="$2" -v to="$3" '
        FNR == 1 { file++; next }
        match($1, /(length|window)=[0-9]+/) {
            turns = $5 * exp(-$6) * (substr($1, RSTART + 7, RLENGTH - 7) - 1) / 6.283185307
            if (turns >= from && turns < to) sum[file, $1, $3, $4] += $6
        }
        END { for (c in sum) { n++; hit += direction == "up" ? sum[c] > 0 : sum[c] < 0 } print hit + 0 " of " n }'
}

# The median turns of the pair below 4 turns that is used most, over layers and seeds, and its wavelength.
used_most() { # used_most FILE turns | wavelength
    awk -F, -v what="$2" '
        NR > 1 && $1 == "layer" {
            turns = $5 * 255 / 6.283185307
            if (turns < 4 && $8 > use[$2, $3]) { use[$2, $3] = $8; at[$2, $3] = turns }
        }
        END {
            for (c in at) { for (j = ++n; j > 1 && y[j - 1] > at[c]; j--) y[j] = y[j - 1]; y[j] = at[c] }
            middle = (y[int((n + 1) / 2)] + y[int(n / 2) + 1]) / 2
            printf "%.2f\n", what == "turns" ? middle : 256 / 255 / middle
        }' "$results/$1.csv"
}

# Runs of the grid that found theta to 1 %, and of those that begin within a phase of pi.
found() { # found FILE: to 1 %, of all
    awk -F, 'NR > 1 { n++; e = $5 / $2 - 1; hit += e < 0.01 && e > -0.01 } END { print hit " of " n }' "$results/$1.csv"
}
found_within() { # found_within FILE: of those within a phase of pi
    awk -F, 'NR > 1 && ($2 - $4) * $3 < 3.14159265 && ($4 - $2) * $3 < 3.14159265 {
        n++; e = $5 / $2 - 1; hit += e < 0.01 && e > -0.01 } END { print hit " of " n }' "$results/$1.csv"
}

found_beyond() { # found_beyond FILE: of those from 4 radians on, in the words of the table
    awk -F, 'NR > 1 && (($2 - $4) * $3 >= 4 || ($4 - $2) * $3 >= 4) {
        n++; e = $5 / $2 - 1; hit += e < 0.01 && e > -0.01 } END { exit hit > n / 4 }' "$results/$1.csv"
}

pairs_nats() { pairs interval "$@" | sed 's/ / nats /'; }
compute_end_bare() { compute_end "$1" | tr -d ' %'; }
half_fine() { "$@" | awk '{ printf "%.4f\n", -$1 }'; } # the gain, to four
worth_of() { # worth_of FORMAT FILE OF THAN: the bound in percent of compute
    format=$1
    shift
    echo "$(compute_of "$(pairs bound "$@")" "$format") %"
}
summary_part() { summary | tr -d ';' | awk -v part="$1" '{ print $part }'; } # 1 of 3; 4 of 6 in the family
kind_is() { [ "$(kind "$2")" = "$1" ] || echo "not $1"; }
claimed() { # claimed NAME: the claim in the words of the table
    sed -n "s/^ *claim\\[\"$1\"\\] = \"\\(.*\\)\"/\\1/p" "$study/tables/verdicts.awk"
}
# Sentences without a place for a number: nothing to print if they are true, which fails otherwise.
all_cells() { # all_cells up|down FROM TO FILE ...
    direction=$1
    shift
    cells_up "$@" | awk -v direction="$direction" '{ exit !(direction == "up" ? $1 == $3 : $1 == 0) }'
}
moved_of() { field "$@" | sed 's/ \[.*//'; }
last_moved_of() { last_field "$@" | sed 's/ \[.*//'; }
crossing() { # crossing FILE: where the mean drift goes from up to down between 0.25 and 0.75 turns
    awk -F, '
        NR > 1 && $1 == "layer" { drift[$4] += $6; turns[$4] = $5 * exp(-$6) * 255 / 6.283185307 }
        END {
            for (i = 0; (i + 1) in drift; i++)
                if (drift[i] < 0 && drift[i + 1] > 0 && turns[i] < 0.75 && turns[i + 1] > 0.25) {
                    step = log(turns[i + 1] / turns[i]) * drift[i] / (drift[i] - drift[i + 1])
                    printf "%.2f\n", turns[i] * exp(step)
                }
        }' "$results/$1.csv"
}

given() { :; }

# ---- the rows ----

abstract=experiments/theta/README.md
details=experiments/theta/details.md


# A sentence that is not on the page, and one whose CSV has changed, are told.
is_told() { # is_told PAGE SENTENCE COMMAND ...
    (failed=0; number "$@" 2>/dev/null; [ $failed = 1 ]) || { echo "passed although it is wrong: $*" >&2; failed=1; }
}
sentence='and {} are lower; with the earlier four'
is_told $details "$sentence" pairs lower scratch-wide model fixed
mkdir "$work/changed"
cp "$results"/scratch-wide*.csv "$work/changed"
sed 's/^\(fixed_seed=1,fixed,1,0,1000,\)1.606/\11.506/' "$results/scratch-wide.csv" >"$work/changed/scratch-wide.csv"
unchanged=$results
results=$work/changed
is_told $details "$sentence" pairs lower scratch-wide+scratch-wide-again model fixed
is_told $details '14 pairs have {}' pairs interval scratch-wide+scratch-wide-again model fixed
results=$unchanged

# The loss.
number $abstract '{} pairs of runs with' registered 4 middle 'learned less fixed'
number $abstract 'learned less fixed, have {}' registered_nats middle 'learned less fixed'
number $abstract 'worth {}. The same code' compute_gain middle
number $abstract 'same code without learning has {}.' registered 5 middle 'placebo less fixed'
number $abstract 'At 0.16 M parameters {} pairs' registered 4 small 'learned less fixed'
number $abstract 'pairs have {}; no difference' registered 5 small 'learned less fixed'
number $abstract 'no difference of the two sizes is seen' no_difference
number $abstract 'no difference of the two sizes is seen ({})' sizes_differ
number $abstract 'The accuracy shows no gain' no_gain_in_accuracy
number $abstract 'no gain there: {} at the larger' registered_points middle 'learned less fixed'
number $abstract 'at the larger, {} at the smaller' registered 11 small 'learned less fixed'
number $abstract 'Both sizes exclude a gain worth 3.4 % of compute, which LeRoPE reports at 2.5 B' excluded_share small middle
number $abstract 'seeds learned, {} models' cause 4 'dose 1 less placebo'
number $abstract 'models have {} (p =' cause_nats 'dose 1 less placebo'
number $abstract '(p = {}) less that same code' cause 7 'dose 1 less placebo'
number $abstract 'the loss falls over up to three times that change of ln θ' cause_below 'slope of the loss over the dose'
number $abstract 'dose 3 is not told from dose 1' cause_unseen 'dose 3 less dose 1'
number $abstract 'dose 1 less fixed is not told from 0' cause_unseen 'dose 1 less fixed'
number $abstract 'for 128 tokens has, less fixed, {},' cause_nats 'base 1000 less fixed'
number $abstract 'it may be better by {}, or worse' cause_left 'base 1000 less learned'
number $abstract '0.0072 nats, or worse by {}.' cause_right 'base 1000 less learned'
number $abstract 'base of 1000 for 128 tokens' given
number $abstract 'learning from 10000 is not seen' cause_not_above 'base 1000 less learned'
number $abstract 'add to it, though {}, as much as' cause_left 'learned less dose 1'
number $abstract 'has about {} what learning gains' twice_learned
number $abstract 'A third size (4.3 M) was registered and has no result' given
number $abstract '(#why-does-it-lower-the-loss) {} pairs have' cause 4 'three times the rate less fixed'
number $abstract '80 pairs have {} less fixed' cause_nats 'three times the rate less fixed'
number $abstract 'and {} less learned.' cause_nats 'three times the rate less learned'
number $abstract 'less fixed, {}, and' cause_accuracy 'three times the rate less fixed'
number $abstract 'the claim of a rate of its own is *{}*' cause_verdict rate
number $abstract 'for θ alone, has about {} the gain of theirs' twice_the_gain
number $abstract 'with three times the rate for θ up to {} at 4 × 128' cause_most 'three times the rate less fixed'
number $abstract 'pairs of runs with 1.1 M parameters' given
number $abstract 'After 16,000 steps eight pairs at 0.16 M have {}.' longer_loss
number $abstract 'the gain is {} to' registered_simultaneous high middle
number $abstract 'the gain is 0.0004 to {} nats at 1.1 M parameters' registered_simultaneous low middle
number $abstract 'smaller than {} at 0.16 M' smaller_by_it small

# Dependence.
number $abstract 'Of {} models of six toy tasks' needed n theta
number $abstract 'six toy tasks {} get worse' needed sum theta
number $abstract 'learned θ from scratch {} get worse by the rule' needed share $of_text
number $abstract 'Of the registered ones it is {} at 0.16 M' registered_needed small
number $abstract 'at 0.16 M (learning rate {},' reset 3 small
number $abstract '(learning rate 4e-3, mean change {})' reset 4 small
number $abstract 'mean change 0.19) and {} at 1.1 M' registered_needed middle
number $abstract 'at 1.1 M ({}, ' reset 3 middle
number $abstract 'at 1.1 M (1e-3, {})' reset 4 middle
number $abstract 'a reset raises the loss of all 280' all_higher small middle
number $abstract 'the loss of all 280, on average by {} and' reset_costs 3 small
number $abstract 'by 0.037 and {} nats' reset_costs 4 middle
number $abstract 'are reproduced at 1.1 M parameters by the registered experiments' given
number $abstract 'In a training 16 times as long the cost of a reset grows to {} nats' longer reset 16000
number $abstract 'reset costs {} nats after 1,000 steps' longer reset 1000
number $abstract 'after 1,000 steps and {} after 16,000' longer reset 16000

# Direction.
number $abstract 'up between 0.1 and 0.35 turns in {} cells' cells_up 0.1 0.35 theta-decoder-pairs theta-decoder-base-pairs
number $abstract 'decoders and {} of further runs' law_cells up 0.1 0.35
number $abstract '{} cells between 0.1 and 0.35 turns went up' law_cells up 0.1 0.35
number $abstract 'between 0.5 and 0.8 turns down, but less regularly, in 8 of 8' all_cells down 0.5 0.8 \
    theta-decoder-pairs theta-decoder-base-pairs
number $abstract 'less regularly, in 8 of 8 and {}' law_cells down 0.5 0.8
number $abstract 'went up, and {} between 0.5 and 0.8 down' law_cells down 0.5 0.8
number $abstract 'In the two decoders all 16 cells between 0.1 and 0.35 turns went up' all_cells up 0.1 0.35 theta-decoder-pairs theta-decoder-base-pairs
number $abstract 'all 8 between 0.5 and 0.8 turns went down' all_cells down 0.5 0.8 theta-decoder-pairs theta-decoder-base-pairs
number $abstract 'between 0.1 and 0.35 turns {} pairs of MLPRope (153 M parameters, T = 1024)' published up MLPRope
number $abstract 'went up, and {} of LeRoPE (second hand)' published up LeRoPE
number $abstract 'after 16 times as many steps at 0.16 M they are up by {}' longer drift 16000
number $abstract 'are up at every step looked at, and further until 8,000 steps' longer_rises
number $abstract 'Pairs of 0.1 to 0.35 turns go up here' published_up_here
number $abstract 'and down there, by a factor of {} or more on average' published_factor
number $abstract 'the mean change is within ±{} in all five' most_change_of_fast
number $abstract '(second hand), by {} and' published drift MLPRope
number $abstract 'by -2.06 and {} in ln θ' published drift LeRoPE
number $abstract 'went up in {} cases at 2 × 64' registered_drift up 0.1 0.35 small
number $abstract 'cases at 2 × 64 and {} at 4 × 128' registered_drift up 0.1 0.35 middle
number $abstract 'that of 1.14 went up in {} registered runs' registered_drift up 1 1.3 small
number $abstract '138 of 200 registered runs and down in {}.' registered_drift down 1 1.3 middle
number $abstract 'that of 0.64 turns down in {} and' registered_drift down 0.5 0.8 small
number $abstract 'turns down in 169 of 200 and {}.' registered_drift down 0.5 0.8 middle
number $details 'in the registered runs the pair makes {} turns at 2 × 64' registered_use small
number $details 'turns at 2 × 64 and {} at 4 × 128, there' registered_use middle
number $details 'there by layer {},' registered_use middle 0
number $details 'there by layer 1.90, {},' registered_use middle 1
number $details 'there by layer 1.90, 3.57, {} and' registered_use middle 2
number $details 'there by layer 1.90, 3.57, 1.84 and {}.' registered_use middle 3
law="contrast law-pairs law-conditions-pairs"
number $abstract 'has the sign of {} cells' moved_of 'all of these' 3 $law
number $abstract 'sign of 59 of 67 cells that moved, where "always up" has {};' field 'all of these' 4 $law
number $abstract 'with windows of 16 to 128 it has {} and' last_moved_of 'all of these' 3 contrast law-reach-pairs
number $abstract 'and "always up" {}, at' last_field 'all of these' 4 contrast law-reach-pairs
number $abstract 'at T = 512 both have {}.' moved_of 'all of these' 3 contrast law-reach-pairs

# A known answer.
number $abstract 'to 1 %, if it starts' given
number $abstract '({} runs on a grid' found known-grid
number $abstract 'and {} others)' found_within theta-range-found
number $abstract 'from beyond 4 radians rarely' found_beyond theta-range-found

# Claims.
number $abstract 'one effect is smaller than {} nats (`adarope`)' pairs bound scratch head-factor fixed
number $abstract '{} is reproduced: one effect' kind 'reproduced'
number $abstract 'reproduced: {} effect' kind 'smaller than'
number $abstract '(`adarope`), {} claims are inconclusive' kind 'inconclusive'
number $abstract '{} presuppose what does not hold here' kind 'premise not met'
number $abstract 'and {} was not run from scratch' kind 'not run'
number $abstract 'have 0.05 to 1.1 M parameters and train on 0.5 to 16 million bytes' given
number $abstract 'lerope`, in direction, and the one that' in_direction
number $abstract 'brackets are 95 % t-intervals' given
number $abstract 'θ_i = base^(-2i/d)' given
number $abstract 'θ (T - 1) / 2π' given
for name in lerope adarope rate width prope partial ropeid bands drope; do
    number $abstract "\`$name\` | $(claimed $name) | {} |" verdict $name
done

# The page.
number $abstract 'twice the steps lower the loss by {} nats' doubling 1 %.3f
number $abstract 'Over {} seeds the placebo' registered 4 middle 'placebo less fixed'
number $abstract 'a bias of the code beyond {} nats' placebo_bound
number $abstract 'fixed θ forgoes at most {} nats at 2 × 64' registered_simultaneous low small
number $abstract 'nats at 2 × 64 (rate {}) and' reset 3 small
number $abstract '(rate 4e-3) and {} at 4 × 128' registered_simultaneous low middle
number $abstract 'at 4 × 128 ({}), by simultaneous intervals' reset 3 middle
number $abstract 'simultaneous intervals, and at most {} and' compute_end_bare small
number $abstract 'and at most 1.7 and {} of compute' compute_end middle
number $abstract 'at 4 × 128 and 2e-3 have {}.' pairs_nats scratch-wide+scratch-wide-again model fixed
number $details 'planned to see 0.0021 nats and could see {}' registered 6 small 'learned less fixed'
number $details 'chosen rate of 4e-3 the deviation of its pairs is {} nats' deviation small
number $details 'At 4 × 256 it would also be the lowest, {}.' best_rate large
number $abstract 'The family is the {} comparisons' echo "$family"
number $abstract 'it ends at {} nats' mean_of drope dropped %.2f
number $abstract 'with positions at {}.' mean_of drope kept %.2f
number $abstract 'have a gain of {} nats after 5,000 steps' published_gain 6 MLPRope 5000
number $abstract 'and of {} [0.0002' published_gain 6 MLPRope 200000
number $abstract 'of 0.0014 {} after 200,000' published_gain 7 MLPRope 200000
number $abstract 'said to gain {} nats at 217 M' published_gain 6 LeRoPE
number $abstract 'a frozen learned table keeps {} (second hand)' published_gain 9 LeRoPE
number $abstract 'at 217 M parameters, of which' given
number $details 'its p is {}. The' in_family lerope scratch-wide model fixed
number $details 'claims its p is {}.' in_family lerope scratch-wide model fixed
number $details 'other kernels, and came to {}' pairs interval scratch-wide-earlier model fixed
number $details '14 pairs have {}' pairs interval scratch-wide+scratch-wide-again model fixed
number $details 'and {} are lower; with the earlier four' pairs lower scratch-wide+scratch-wide-again model fixed
number $details 'the earlier four, 18 pairs, {}.' pairs interval scratch-wide+scratch-wide-again+scratch-wide-earlier model fixed
number $details 'six pairs could have shown {} nats' pairs detectable scratch-wide-again model fixed
number $details 'a worth of 3.4 % of compute is {} nats' doubling 0.034 %.4f
number $details 'a gain of the factor ({} pairs' pairs share branches factor fixed
number $details 'a gain of {} nats over a fixed θ' half_fine pairs fine branches layer10 fixed
number $details 'over a fixed θ ({} pairs are lower' pairs share branches layer10 fixed
number $details 'are lower; p = {}, not corrected), and none over' pairs p branches layer10 fixed
number $details 'From scratch a gain of {} nats' pairs bound scratch head-factor fixed
number $details '0.0072 nats, {} of compute, stays possible' worth_of %.1f scratch head-factor fixed
number $details 'The tables of the claims make {} distinct' summary_part 3
number $details 'distinct comparisons. {} of their plain intervals exclude 0' summary_part 1
number $details 'Of the 14 in the family {} have' summary_part 4
number $abstract 'in {}, and costs up to' needed share $of_text
number $abstract 'and costs up to {} (with a window of 128)' needed fall law-windows
number $abstract '(with a window of 128), {} (T = 512)' needed fall law-lengths
number $abstract '(T = 512) and {} (xPos)' needed fall law-conditions
number $abstract '(xPos); in {} branches' needed share branches
number $abstract 'a reset costs at most {} in accuracy' needed fall theta-text theta-decoder theta-decoder-base theta-decoder-nope
number $abstract 'beyond the rule in {}: of the licences' needed sum theta-text theta-decoder theta-decoder-base theta-decoder-nope
number $abstract 'In the {} models of text of' needed n theta-text theta-decoder theta-decoder-base theta-decoder-nope
number $abstract 'reset, {} models of the toy tasks' needed share theta
number $abstract 'toy tasks and {} earlier models of text' needed share $of_text
number $details 'makes {} turns with base 10000' used_most theta-decoder-pairs turns
number $details 'and {} with base 500000' used_most theta-decoder-base-pairs turns
number $details 'wavelengths of {} and 1.85 sequences' used_most theta-decoder-pairs wavelength
number $details 'wavelengths of 2.26 and {} sequences' used_most theta-decoder-base-pairs wavelength
number $details 'in ln turns, at {} and 0.48' crossing theta-decoder-pairs
number $details 'in ln turns, at 0.46 and {}' crossing theta-decoder-base-pairs

# README.md
number README.md '{} pairs of runs have' registered 4 middle 'learned less fixed'
number README.md 'have {} with θ learned' registered_nats middle 'learned less fixed'
number README.md 'worth {}, while' compute_gain middle
number README.md 'without learning has {};' registered 5 middle 'placebo less fixed'
number README.md 'as far as {} pairs can tell' cause 4 'dose 1 less placebo'
number README.md 'models with it frozen have {} less that same code' cause_nats 'dose 1 less placebo'
number README.md 'and base 1000 without learning has {}.' cause 5 'base 1000 less fixed'
number README.md 'Three times the rate for θ has {} in' cause_nats 'three times the rate less fixed'
number README.md '[-0.0050, -0.0024] in {} pairs' cause 4 'three times the rate less fixed'
number README.md 'eight pairs cannot see whether the gain lasts to 16,000 steps' longer_unseen
number README.md 'layers of 64, {} pairs' registered 4 small 'learned less fixed'
number README.md 'pairs have {}. The gain' registered 5 small 'learned less fixed'
number README.md 'a reset raises the loss of all 280' all_higher small middle
number README.md 'the loss of all 280, by {} and' reset_costs 4 middle
number README.md 'by 0.0085 and {} nats on average' reset_costs 3 small
number README.md 'none is reproduced' kind_is none 'reproduced'
number README.md 'one effect is smaller than {} nats' pairs bound scratch head-factor fixed
number README.md '{} effect is smaller' kind 'smaller than'
number README.md '{} are inconclusive' kind 'inconclusive'
number README.md '{} presuppose what does not hold here' kind 'premise not met'
number README.md '{} not run;' kind 'not run'
number README.md 'that learning lowers the loss, in direction, are reproduced by the registered runs' in_direction
number README.md 'with 95 % intervals' given
number README.md 'at two layers of 64' given
number README.md 'four layers of 128' given

# The pages of images and of the gallery: their tables are those of check_verdicts.sh, which are made once more.
images=experiments/images/README.md
gallery=experiments/gallery/README.md
"$root/experiments/images/judge" >"$work/images"
"$root/experiments/gallery/judge" >"$work/gallery"
bounds_of() { row_of "$@" | sed 's/.*\[//; s/[],+]//g'; } # low and high of an interval
less_than() { bounds_of images 6 "$1" | awk -v claimed="$2" '{ exit !($1 > claimed) }'; } # the size lies below it
within() { bounds_of images 6 "$1" | awk -v claimed="$2" '{ exit !($1 < 0 && $2 > claimed) }'; }
mixed='mixed-learned less axial-fixed [|]'
all_within() { for size in 32 40 56; do within "$mixed $size" 1.8 || return 1; done; }
both_above() { for of in axial-fixed mixed-learned; do less_than "$of less table" 0.5 || return 1; done; }
sign_of() { # sign_of SIZE better | worse: the loss of mixed and axial
    awk -v size="$1" '$0 ~ "^[|] mixed-learned less axial-fixed [|] " size " [|] [-+][0-9.]* [[]"' "$work/images" |
        sed 's/.*\[//; s/[],|]//g' | awk -v what="$2" '{ exit !(what == "better" ? $2 < 0 : $1 > 0) }'
}
positive() { sed 's/^-//; s/\[-/[/; s/, -/, /'; }
reset_cost() { row_of images 5 '^[|] mixed-learned [|] 0' | positive |
    sed 's/^\(.*\) \[\(.*\), \(.*\)\]/\1 points [\3, \2]/'; }
least_seen() { # the smallest difference that the comparisons of the larger sizes see
    for size in 32 40 56; do row_of images 7 "$mixed $size"; done | sort -n | awk 'NR == 1 { printf "%.1f\n", $1 }'
}
ahead_at_40() { # how far the models without positions are ahead, from the least to the most
    grep -E '^[|] (none|axial-|mixed-)[a-z]* [|] [0-9]' "$work/images" | awk -F' *[|] *' '
        { sub(/ .*/, "", $6) }
        $2 == "none" { none = $6; next }
        $3 > 1 { d = none - $6; if (least == "" || d < least) least = d; if (d > most) most = d }
        END { printf "%.0f to %.0f\n", least, most }'
}
holm_of_planned() { # holm_of_planned NAME: p of an experiment, over the rows of its family that were planned
    family=$(awk -F, '$8 == 1 { printf "%s ", $1 }' "$root/experiments/gallery/comparisons.csv")
    grep -v ', after' "$work/gallery" | awk -F' *[|] *' -v family=" $family" '
        NF == 12 && $5 != "" && index(family, " " $2 " ") {
            split($7, part, /[][, ]+/); mean = part[1]; half = (part[3] - part[2]) / 2
            key[++n] = $2; t[n] = mean / half; pairs[n] = $4
            if (t[n] < 0) t[n] = -t[n]
        }
        END { for (i = 1; i <= n; i++) print key[i], t[i], pairs[i] }' >"$work/planned"
    awk -v name="$1" -f "$statistics" -f /dev/stdin "$work/planned" <<'END'
{ key[NR] = $1; p[NR] = 1 - t_within($2 * t_bound($3 - 1), $3 - 1) }
END {
    for (i = 1; i <= NR; i++) { for (k = i; k > 1 && p[o[k - 1]] > p[i]; k--) o[k] = o[k - 1]; o[k] = i }
    for (k = 1; k <= NR; k++) {
        q = p[o[k]] * (NR - k + 1); if (q > most) most = q
        if (key[o[k]] == name) printf "%.3f\n", most
    }
}
END
}
power_of() { # power_of M: of the comparison of rope-vit for 1.8 points in a family of M, in %
    row_of gallery 7 '^[|] rope-vit' | sed 's/\[//; s/[],]//g' | awk -v m="$1" -f "$statistics" -f /dev/fd/3 3<<'END'
{ printf "%.0f %%\n", 100 * t_exceeds(t_bound(5, m), 5, 0.018 / (($3 - $2) / 2 / t_bound(5))) }
END
}
rises() { # rises KIND: the loss at 512 less that at 64
    awk -F, -v kind="$1" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["position.kind"] == kind { sum += $at["eval_loss_at_512"] - $at["eval_loss"]; n++ }
        END { printf "%.3f\n", sum / n }' "$root/experiments/gallery/results/alibi.csv"
}
by_task() { # by_task TASK: the accuracy without positions less that with RoPE
    awk -F, -v task="$1" 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["data.task"] == task {
            for (k = 25; k <= 34; k += 3) sum[$at["position.kind"]] += $at["eval_accuracy_at_" k] / 4
            n[$at["position.kind"]]++
        }
        END { printf "%+.3f\n", sum["none"] / n["none"] - sum["rope"] / n["rope"] }' \
        "$root/experiments/gallery/results/kazemnejad.csv"
}
above_one() { row_of gallery 9 '^[|] jelassi' | awk '{ exit !($1 > 1) }'; }
number $images 'the published 0.5 points lie below both intervals' both_above
number $images 'all three intervals contain 0 and 1.8 points' all_within
number $images 'ten seeds would have seen {} points or more' least_seen
number $images 'it is better at 40 pixels' sign_of 40 better
number $images 'better at 40 pixels and worse at 56' sign_of 56 worse
points_of() { row_of images 4 "$1" | sed 's/ / points /'; }
number $images 'seen at 28 pixels: {} (axial)' points_of '^[|] axial-learned less axial-fixed'
number $images '(axial) and {} (mixed)' row_of images 4 '^[|] mixed-learned less mixed-fixed'
number $images 'θ reset costs {}' reset_cost
number $images 'by {} points at 40' ahead_at_40
number $gallery 'with RoPE in copy ({}),' by_task copy
number $gallery ', sort ({}) and' by_task sort
number $gallery 'and addition ({}), hardly' by_task addition
number $gallery 'hardly in reverse ({}).' by_task reverse
number $gallery 'does better than none here ({}),' row_of gallery 7 '^[|] kazemnejad [|] none less alibi'
number $gallery 'can show only differences above 1' above_one
number $gallery 'planned p is {}.' holm_of_planned jelassi
number $gallery 'it is higher by {} than at 64' rises alibi
number $gallery 'whose loss rises by {}.' rises sinusoidal
number $gallery 'a power of {} for 1.8 points' power_of 1
number $gallery 'and of {} by the simultaneous one' power_of 9
number $gallery 'so few images (43 % of an epoch)' given

# docs/learning-theta.md
number docs/learning-theta.md 'if their learned θ is reset' given
number docs/learning-theta.md '{} models of toy tasks' needed share theta
number docs/learning-theta.md '{} of its earlier models of text get worse' needed share $of_text
number docs/learning-theta.md 'a gain of {} is seen at 1.1 M parameters' registered_gain middle 'learned less fixed'
number docs/learning-theta.md 'in accuracy none is seen but with a higher rate for θ' no_gain_in_accuracy
number docs/learning-theta.md 'a higher rate for θ, of {}; 30 of 60' cause_points 'three times the rate less fixed'

# ---- every number of the abstract and of README's section is in a row ----

left_over() { # left_over FILE FROM TO
    flat "$root/$1" "$2" "$3" | sed 's/\](\([^)]*\))/]/g' >"$work/section"
    sort -u "$work/seen" | awk '
        FNR == NR { sentences[++n] = $0; next }
        {
            for (i = 1; i <= n; i++) {
                text = $0; kept = ""
                while ((at = index(text, sentences[i])) > 0) {
                    for (k = 0; k < length(sentences[i]); k++) covered[offset + at + k]
                    offset += at + length(sentences[i]) - 1
                    text = substr(text, at + length(sentences[i]))
                }
                offset = 0
            }
            for (k = 1; k <= length($0); k++) rest = rest (k in covered ? " " : substr($0, k, 1))
            print rest
        }' - "$work/section" | sed 's/ [1-9][.] \*/ */g' | grep -o '[^ ]*[0-9][^ ]*' >"$work/left" || return 0
    while read -r word; do
        echo "$1, $2: no row has the number '$word'" >&2
        failed=1
    done <"$work/left"
}
left_over $abstract '## Abstract' '## How to read this page'
left_over README.md '## Does it help to learn θ?' '## As a library'

exit $failed
