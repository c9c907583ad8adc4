# A claim as a table of paired differences, and its verdict as the last line.
#
#     awk -F, -v claim=NAME -v margin=NATS -f statistics.awk -f claim.awk \
#         comparisons.csv SWEEP.csv ...
#
# comparisons.csv says which variants of which sweep are compared in which result, on which side the
# claim is (lower: than the other; same: not higher by more than the margin), and which comparisons
# decide. A file of runs is named by its sweep; compute.csv has what twice the steps are worth, at the
# size of all sweeps but scratch-narrow and those of scratch-wide.

FNR == 1 {
    for (name in at) delete at[name]
    for (i = 1; i <= NF; i++) at[$i] = i
    sweep = FILENAME
    sub(/.*\//, "", sweep)
    sub(/\.csv$/, "", sweep)
    next
}
sweep == "comparisons" {
    if ($1 != claim) next
    rows++
    in_sweep[rows] = $2; of[rows] = $3; against[rows] = $4; result[rows] = $5
    side[rows] = $6; decides[rows] = $7
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

# How much more compute is worth a difference, in percent.
function worth(difference, sweep) {
    return gain < 0 && sweep !~ /^scratch-/ ? sprintf("%+.1f %%", 100 * (2 ^ (difference / gain) - 1)) : "–"
}

function judge(row, low, high) {
    if (decides[row] != "yes") return
    judged++
    if (side[row] == "lower") {
        if (high < 0) agree++
        if (low > 0) contradict++
        if (-low > bound) bound = -low
    } else {
        if (high < margin) agree++
        if (low > margin) contradict++
        if (high > bound) bound = high
    }
}

END {
    gain = doubling()
    print "| sweep | variant | against | length | difference in loss [95 %] | detectable | pairs | worth of compute |"
    print "|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= rows; i++) {
        for (k in x) delete x[k]
        n = differences(i, x)
        if (n < 2) continue
        paired(x, n)
        length_of = result[i] == "eval_loss" ? "trained" : substr(result[i], 14)
        form = half < 0.001 ? "%+.5f" : "%+.4f"
        wide = "%" substr(form, 3)
        printf "| %s | %s | %s | %s | %s | " wide " | %d | %s |\n", in_sweep[i], of[i], against[i], \
            length_of, interval(x, n, form), detectable, n, \
            result[i] == "eval_loss" ? worth(mean, in_sweep[i]) : "–"
        judge(i, mean - half, mean + half)
    }
    print ""
    if (!judged) verdict = "no runs"
    else if (agree == judged) verdict = "reproduced"
    else if (contradict) verdict = "contradicted"
    else verdict = sprintf("not seen (bound %.4f nats)", bound)
    print "verdict: " claim ": " verdict
}
