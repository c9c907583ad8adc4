#!/bin/sh
# The numbers that README.md, docs/learning-theta.md and the study of theta quote: each is computed again
# from experiments/theta/results, and the page has to contain its sentence with the number in place.
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
pairs() { # pairs WHAT FILE+FILE OF THAN [RESULT]: WHAT: interval, fine, bound, mean, detectable, lower, share
    what=$1
    files=$(echo "$2" | tr '+' ' ')
    of=$3
    than=$4
    set -- "${5:-eval_loss}"
    for name in $files; do echo "$results/$name.csv"; done | xargs awk -F, -v what="$what" -v of="$of" \
        -v than="$than" -v result="$1" -f "$statistics" -f "$work/pairs.awk"
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
    else if (what == "bound") printf "%.4f\n", half - mean
    else if (what == "mean") printf "%.4f\n", -mean
    else if (what == "detectable") printf "%.4f\n", detectable
    else if (what == "lower") print lower + 0
    else if (what == "share") print lower + 0 " of " n
    else exit 1
}
END

# A cell of the differences of the registered experiment, as its script makes them: 4 pairs, 5 mean and interval.
registered() { # registered CELL ROW DIFFERENCE
    [ -s "$work/registered" ] || "$study/registered/analyse" "$study/registered/results" >"$work/registered"
    awk -F' *[|] *' -v row="$2" -v what="$3" -v cell="$1" '
        $2 == row && $3 == what { print $cell; found = 1 }
        END { exit !found }' "$work/registered"
}
registered_nats() { registered 5 "$@" | sed 's/ / nats /'; }
registered_gain() { registered 5 "$@" | sed 's/^-//; s/ .*/ nats/'; }
registered_end() { registered 5 "$@" | sed 's/.*\[-//; s/,.*//'; }

# A cell of its verdicts: 3 verdict, 4 worth of twice the steps, 5 gain in compute.
judged() { # judged CELL SIZE
    registered 5 "$2" 'learned less fixed' >/dev/null
    awk -F' *[|] *' -v size="$2" -v cell="$1" '/^[|] size [|] verdict/ { begun = 1 }
        begun && $2 == size { print $cell; found = 1 }
        END { exit !found }' "$work/registered"
}
excluded_share() { for size in "$@"; do compute_end "$size" | awk '{ exit $1 >= 3.4 }' || return 1; done; }

# Models of a registered row that get worse when theta is reset.
registered_needed() { # registered_needed ROW
    awk -F, -v row="$1" '$1 == row && $3 == "learned" { n++; needed += $14 } END { print needed " of " n }' \
        "$study/registered/results/runs.csv"
}
compute_gain() { judged 5 "$1" | sed 's/ % / % of compute /'; }
compute_end() { judged 5 "$1" | sed 's/.*[, +]\([0-9.]*\)]$/\1 %/'; }

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
of_text="scratch scratch-narrow scratch-wide scratch-wide-again law law-conditions law-attention \
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
holm() { # holm CLAIM SWEEP VARIANT AGAINST
    claim "$1" | awk -F ' *[|] *' -v s="$2" -v v="$3" -v a="$4" \
        '$2 == s && $3 == v && $4 == a && $5 == "trained" { print $10 }'
}

# A verdict recomputed from results, and how many there are of each kind.
verdicts() {
    for name in lerope adarope rate prope partial ropeid bands drope; do claim $name; done |
        grep '^verdict:'
    awk -F, -f "$statistics" -f "$study/tables/width-profile.awk" "$results/profile-pairs.csv" | grep '^verdict:'
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

half_cent() { "$@" | awk '{ printf "%.3f\n", $1 }'; } # to three digits
half_fine() { "$@" | awk '{ printf "%.4f\n", -$1 }'; } # the gain, to four
worth_of() { # worth_of FORMAT FILE OF THAN: the bound in percent of compute
    format=$1
    shift
    echo "$(compute_of "$(pairs bound "$@")" "$format") %"
}
summary_part() { summary | tr -d ';' | awk -v part="$1" '{ print part == 3 ? $4 : part == 2 ? $3 : $1 }'; }
kind_is() { [ "$(kind "$2")" = "$1" ] || echo "not $1"; }
claimed() { # claimed NAME: the claim in the words of the table
    sed -n "s/^ *claim\\[\"$1\"\\] = \"\\(.*\\)\"/\\1/p" "$study/tables/verdicts.awk"
}
# Sentences without a place for a number: nothing to print if they are true, which fails otherwise.
excludes() { # excludes SWEEP SHARE
    awk -v bound="$(pairs bound "$1" model fixed)" -v worth="$(doubling "$2" %.9g)" 'BEGIN { exit bound >= worth }'
}
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
number $abstract '{} pairs of runs, learned less fixed' registered 4 middle 'learned less fixed'
number $abstract 'learned less fixed, have {}' registered_nats middle 'learned less fixed'
number $abstract 'worth {}, and the same code' compute_gain middle
number $abstract 'the same code without learning has {}' registered 5 middle 'placebo less fixed'
number $abstract 'At 0.16 M parameters {} pairs' registered 4 small 'learned less fixed'
number $abstract 'pairs have {}. Both sizes' registered 5 small 'learned less fixed'
number $abstract 'Both sizes exclude a gain worth 3.4 % of compute, which LeRoPE reports at 2.5 B' excluded_share small middle
number $abstract 'a third size (4.3 M) were registered and have no result' given
number $abstract 'lowers it a little at 1.1 M parameters' given

# Dependence.
number $abstract 'Of {} models of six toy tasks' needed n theta
number $abstract 'six toy tasks {} get worse' needed sum theta
number $abstract 'learned θ from scratch {} get worse by the rule' needed share $of_text
number $abstract 'of the registered ones {} at 0.16 M' registered_needed small
number $abstract 'at 0.16 M and {} at 1.1 M' registered_needed middle
number $abstract 'is reproduced at 1.1 M parameters by the registered experiment' given

# Direction.
number $abstract 'up between 0.1 and 0.35 turns' all_cells up 0.1 0.35 theta-decoder-pairs theta-decoder-base-pairs
number $abstract 'down between 0.5 and 0.8' all_cells down 0.5 0.8 theta-decoder-pairs theta-decoder-base-pairs
law="contrast law-pairs law-conditions-pairs"
number $abstract 'it has the sign of {} cells' moved_of 'all of these' 3 $law
number $abstract 'sign of 59 of 67 cells that moved, where "always up" has {};' field 'all of these' 4 $law
number $abstract 'with windows of 16 to 128 it has {} and' last_moved_of 'all of these' 3 contrast law-reach-pairs
number $abstract 'and "always up" {}, at' last_field 'all of these' 4 contrast law-reach-pairs
number $abstract 'at T = 512 both have {}.' moved_of 'all of these' 3 contrast law-reach-pairs

# A known answer.
number $abstract 'to 1 %, if it starts' given
number $abstract '({} runs on a grid' found known-grid
number $abstract 'and {} others)' found_within theta-range-found

# Claims.
number $abstract 'one effect is smaller than {} nats (`adarope`)' pairs bound scratch head-factor fixed
number $abstract '{} is reproduced: one effect' kind 'reproduced'
number $abstract 'reproduced: {} effect' kind 'smaller than'
number $abstract '(`adarope`), {} claims are inconclusive' kind 'inconclusive'
number $abstract '{} are contradicted in this regime' kind 'contradicted in this regime'
number $abstract 'and {} was not run from scratch' kind 'not run'
number $abstract 'would be {} nats at 0.16 M parameters' doubling 0.034 %.4f
number $abstract 'which the interval there excludes' excludes scratch 0.034
number $abstract 'worth 3.4 % of compute at 2.5 B parameters' given
number $abstract 'have 0.05 to 1.1 M parameters and train on 0.5 to 3 million bytes' given
number $abstract 'brackets are 95 % t-intervals' given
number $abstract 'θ_i = base^(-2i/d)' given
number $abstract 'θ (T - 1) / 2π' given
for name in lerope adarope rate width prope partial ropeid bands drope; do
    number $abstract "\`$name\` | $(claimed $name) | {} |" verdict $name
done

# The page.
number $abstract 'twice the steps lower the loss by {} nats' doubling 1 %.3f
number $abstract 'a bias of the code beyond {} nats' registered_end middle 'placebo less fixed'
number $abstract '(p = {} after Holm' holm lerope scratch-wide model fixed
number $abstract 'fixed θ forgoes at most {} nats at 2 × 64' registered_end small 'learned less fixed'
number $abstract 'nats at 2 × 64 ({} of compute)' compute_end small
number $abstract 'and at most {} at 4 × 128' registered_end middle 'learned less fixed'
number $abstract 'at 4 × 128 ({} of compute)' compute_end middle
number $details 'its p is {}. The' holm lerope scratch-wide model fixed
number $details 'other kernels, and came to {}' pairs interval scratch-wide-earlier model fixed
number $details '14 pairs have {}' pairs interval scratch-wide+scratch-wide-again model fixed
number $details 'and {} are lower; with the earlier four' pairs lower scratch-wide+scratch-wide-again model fixed
number $details 'the earlier four, 18 pairs, {}.' pairs interval scratch-wide+scratch-wide-again+scratch-wide-earlier model fixed
number $details 'Six pairs could have shown {} nats' pairs detectable scratch-wide-again model fixed
number $details 'a worth of 3.4 % of compute is {} nats' doubling 0.034 %.4f
number $details 'a gain of the factor ({} pairs' pairs share branches factor fixed
number $details 'a gain of {} nats over a fixed θ' half_fine pairs fine branches layer10 fixed
number $details 'over a fixed θ ({} pairs are lower' pairs share branches layer10 fixed
number $details 'correction p = {}), and none over' holm rate branches layer10 fixed
number $details 'From scratch a gain of {} nats, 1.8 %' pairs bound scratch head-factor fixed
number $details '0.0045 nats, {} of compute, stays possible' worth_of %.1f scratch head-factor fixed
number $abstract 'The tables of the claims make {} distinct' summary_part 2
number $abstract 'distinct comparisons. {} of their intervals exclude 0' summary_part 1
number $abstract 'correction {} have p below 0.05' summary_part 3
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
number $abstract 'makes {} turns with base 10000' used_most theta-decoder-pairs turns
number $abstract 'and {} with base 500000' used_most theta-decoder-base-pairs turns
number $abstract 'wavelengths of {} and 1.85 sequences' used_most theta-decoder-pairs wavelength
number $abstract 'wavelengths of 2.26 and {} sequences' used_most theta-decoder-base-pairs wavelength
number $abstract 'in ln turns, at {} and 0.48' crossing theta-decoder-pairs
number $abstract 'in ln turns, at 0.46 and {}' crossing theta-decoder-base-pairs

# README.md
number README.md '{} pairs of runs have' registered 4 middle 'learned less fixed'
number README.md 'have {} with θ learned' registered_nats middle 'learned less fixed'
number README.md 'worth {}; the same code' compute_gain middle
number README.md 'without learning has {}.' registered 5 middle 'placebo less fixed'
number README.md 'layers of 64, {} pairs' registered 4 small 'learned less fixed'
number README.md 'pairs have {}, worth' registered 5 small 'learned less fixed'
number README.md ', worth {}, where' compute_gain small
number README.md 'none is reproduced' kind_is none 'reproduced'
number README.md 'one effect is smaller than {} nats' pairs bound scratch head-factor fixed
number README.md '{} effect is smaller' kind 'smaller than'
number README.md '{} are inconclusive' kind 'inconclusive'
number README.md '{} contradicted in this regime' kind 'contradicted in this regime'
number README.md '{} not run.' kind 'not run'
number README.md '{} models of toy tasks' needed share theta
number README.md '{} earlier models of text get worse' needed share $of_text
number README.md 'of the registered ones {} at the smaller' registered_needed small
number README.md 'smaller size and {} at the larger' registered_needed middle
number README.md 'no gradient for rotation frequencies (August 2026)' given
number README.md 'LeRoPE (2026) reports 3.4 % at 2.5 B parameters' given
number README.md 'with 95 % intervals' given
number README.md 'At two layers of 64' given
number README.md 'four layers of 128' given

# docs/learning-theta.md
number docs/learning-theta.md 'if their learned θ is reset' given
number docs/learning-theta.md '{} models of toy tasks' needed share theta
number docs/learning-theta.md '{} of its earlier models of text get worse' needed share $of_text
number docs/learning-theta.md 'its sizes (0.05 to 1.1 M parameters)' given
number docs/learning-theta.md 'a gain of {} is seen at the largest' registered_gain middle 'learned less fixed'

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
left_over README.md '## Does it help to learn θ?' '## What it can do'

exit $failed
