# A claim as a table of paired differences, and its verdict as the last line.
#
#     awk -F, -v claim=NAME -v margin=NATS -v share=SHARE -f statistics.awk -f claim.awk \
#         comparisons.csv SWEEP.csv ...
#
# comparisons.csv says which variants of which sweep are compared in which result, on which side the
# claim is (lower: than the other; same: not higher by more than the margin), and what follows from it:
#
#     yes       it decides
#     no        it is reported
#     premise   the claim presupposes it: if its interval is not below the margin (same), the premise
#               is not met, and no other comparison decides
#     unmet     it would decide, but its runs lack what the claim presupposes, as the page says
#
# A file of runs is named by its sweep; compute.csv has what twice the steps are worth, at the
# size of all sweeps but scratch-narrow and those of scratch-wide.
#
# The family is the comparisons that are to decide, and the slope of width-profile.awk. The verdict on
# a comparison follows from its simultaneous interval in that family (docs/studies.md):
#
#     on the claim's side of 0 (same: below the margin)                reproduced
#     on the other side                                                contradicted in this regime
#     contains 0, not the worth of `share` more compute (side lower)   smaller than X, its end
#     else                                                             inconclusive
#
# The claim is reproduced or smaller than X if all comparisons that decide are, contradicted if one is,
# not run if there is none, and inconclusive otherwise.

FNR == 1 {
    for (name in at) delete at[name]
    for (i = 1; i <= NF; i++) at[$i] = i
    sweep = FILENAME
    sub(/.*\//, "", sweep)
    sub(/\.csv$/, "", sweep)
    next
}
sweep == "comparisons" {
    rows++
    of_claim[rows] = $1; in_sweep[rows] = $2; of[rows] = $3; against[rows] = $4; result[rows] = $5
    side[rows] = $6; decides[rows] = $7
    key = $2 SUBSEP $3 SUBSEP $4 SUBSEP $5
    if (!(key in keys)) { keys[key]; first[rows] }
    if ($7 == "yes" || $7 == "unmet") family++
    next
}
sweep == "compute" {
    if (seed_order[sweep, $at["run.seed"]]++ == 0) compute_seeds[++compute_count] = $at["run.seed"]
    compute[$at["run.seed"], $at["train.steps"]] = $at["eval_loss"]
    next
}
$at["exit_code"] == 0 {
    s = $at["run.seed"]
    if (!((sweep, s) in seed_order)) { seed_order[sweep, s]; seeds[sweep] = seeds[sweep] " " s }
    for (i = 1; i <= rows; i++)
        if (in_sweep[i] == sweep && result[i] in at && $at[result[i]] != "")
            loss[sweep, $at["variant"], s, result[i]] = $at[result[i]]
}

function differences(row, x,    list, n, i, count, a, b) {
    n = split(seeds[in_sweep[row]], list, " ")
    for (i = 1; i <= n; i++) {
        a = in_sweep[row] SUBSEP of[row] SUBSEP list[i] SUBSEP result[row]
        b = in_sweep[row] SUBSEP against[row] SUBSEP list[i] SUBSEP result[row]
        if (a in loss && b in loss) x[++count] = loss[a] - loss[b]
    }
    return count + 0
}

# What twice the steps change in the loss: from 1000 to 2000.
function doubling(    i, s, n, sum) {
    for (i = 1; i <= compute_count; i++) {
        s = compute_seeds[i]
        if ((s, 1000) in compute && (s, 2000) in compute) {
            sum += compute[s, 2000] - compute[s, 1000]
            n++
        }
    }
    return n ? sum / n : 0
}

function has_worth(row) { return gain < 0 && in_sweep[row] !~ /^scratch-/ && result[row] == "eval_loss" }

# How much more compute is worth a difference, in percent.
function worth(row, difference) {
    return has_worth(row) ? sprintf("%+.1f %%", 100 * (2 ^ (difference / gain) - 1)) : "–"
}

function judge(row, low, high,    effect) {
    if (side[row] == "same")
        return high < margin ? "reproduced" : low > margin ? "contradicted" : "inconclusive"
    if (high < 0) return "reproduced"
    if (low > 0) return "contradicted"
    effect = has_worth(row) ? -gain * log(1 + share) / log(2) : 0
    if (effect && -low < effect) {
        if (-low > bound) bound = -low
        return "smaller"
    }
    return "inconclusive"
}

function spell(verdict, x) {
    if (verdict == "contradicted") return "contradicted in this regime"
    if (verdict == "unmet") return "premise not met"
    return verdict == "smaller" ? sprintf("smaller than %.4f nats", x) : verdict
}

END {
    gain = doubling()
    family++
    if (summary) {
        for (i in first) {
            for (k in x) delete x[k]
            n = differences(i, x)
            if (n < 2) continue
            distinct++
            p = t_test(x, n)
            excluded += p < 0.05
            corrected += in_family(p, family) < 0.05 && (decides[i] == "yes" || decides[i] == "unmet")
        }
        printf "%d of %d; %d of %d in the family\n", excluded, distinct, corrected, family
        exit
    }
    for (i = 1; i <= rows; i++) {
        if (of_claim[i] != claim || decides[i] != "premise") continue
        for (k in x) delete x[k]
        if ((n = differences(i, x)) < 2) continue
        paired(x, n)
        unmet = mean + half >= margin
    }
    print "| sweep | variant | against | length | difference in loss [95 %] | detectable | simultaneous | pairs | p | in the family | worth of compute | decides |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
        if (of_claim[i] != claim) continue
        for (k in x) delete x[k]
        if ((n = differences(i, x)) < 2) continue
        length_of = result[i] == "eval_loss" ? "trained" : substr(result[i], 14)
        paired(x, n)
        form = half < 0.001 ? "%+.5f" : "%+.4f"
        wide = "%" substr(form, 3)
        text = sprintf("%s | " wide, interval(x, n, form), detectable)
        difference = mean
        p = t_test(x, n)
        alone = decides[i]
        judges = alone == "yes" || alone == "unmet"
        if (judges) {
            paired(x, n, family)
            judged++
            verdict = unmet || alone == "unmet" ? "unmet" : judge(i, mean - half, mean + half)
            verdicts[verdict]++
            alone = spell(verdict, half - mean)
        }
        printf "| %s | %s | %s | %s | %s | %s | %d | %s | %s | %s | %s |\n", in_sweep[i], of[i], against[i], length_of, \
            text, judges ? simultaneous(x, n, form, family) : "–", n, chance(p), \
            judges ? chance(in_family(p, family)) : "–", worth(i, difference), alone
    }
    print ""
    verdict = "inconclusive"
    if (!judged) verdict = "not run"
    else if (verdicts["unmet"]) verdict = "unmet"
    else if (verdicts["contradicted"]) verdict = "contradicted"
    else if (verdicts["reproduced"] == judged) verdict = "reproduced"
    else if (verdicts["smaller"] == judged) verdict = "smaller"
    print "verdict: " claim ": " spell(verdict, bound)
}
