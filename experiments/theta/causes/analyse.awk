# The tables of the second registered experiment (README.md, "What decides"). Added after the results, as
# ../README.md says: what is not judged, but for the curvature and the loss after 16,000 steps; detectable
# is by the interval shown.
#
#     awk -F, -f statistics.awk -f analyse.awk FIRST/runs.csv runs.csv steps.csv pairs.csv

FNR == 1 { file++; next }
# Of the first experiment: fixed, learned and placebo of the row middle.
file == 1 { if ($1 == "middle" && $6 == 0) { loss[$3, $2] = $7; accuracy[$3, $2] = 100 * $8 } next }
file == 2 {
    if ($4 != 0) failed[$1]++
    else if ($1 != "length") { loss[$3, $2] = $5; accuracy[$3, $2] = 100 * $6 }
    else at_end[$3, $2] = $5
    next
}
file == 3 { reset_cost[$3, $4, $2] = $7 - $5; next }
# theta is that of the model: any layer and head have it. Use is the mean over layers and heads.
file == 4 {
    initial = 10000 ^ (-$7 / 16)
    if ($1 == "length" && $3 == "learned" && $5 == 0 && $6 == 0 && ($7 == 8 || $7 == 9))
        drift[$4, $2] += log($8 / initial) / 2
    use[$1, $3, $4, $7] += $9; uses[$1, $3, $4, $7]++
    next
}

# Differences of two arms of the seeds from `first` to `last`, in loss or accuracy: their number.
function differences(arm, base, first, last, x, result,    seed, n) {
    for (n in x) delete x[n]
    n = 0
    for (seed = first; seed <= last; seed++)
        if ((arm, seed) in loss && (base, seed) in loss)
            x[++n] = result == "accuracy" ? accuracy[arm, seed] - accuracy[base, seed] : loss[arm, seed] - loss[base, seed]
    return n
}

# Adds the difference in accuracy of two arms to `points`.
function add_points(what, arm, base, last,    n, x) {
    n = differences(arm, base, 2001, last, x, "accuracy")
    if (n == last - 2000) points = points (points == "" ? "" : "; ") what " " interval(x, n, "%+.2f")
}

# The bound of |T| for an interval that is simultaneous over `count` comparisons (Bonferroni).
function family_bound(nu, count,    low, high, middle, i) {
    high = 2000
    for (i = 0; i < 60; i++) {
        middle = (low + high) / 2
        if (t_within(middle, nu) < 1 - 0.05 / count) low = middle; else high = middle
    }
    return (low + high) / 2
}

# A row of a table: sets `low`, `high`, `mean`, the interval within a family of `count`, and `decided`,
# which is 0 until all `wanted` differences are there. Until then the row is not shown.
function compare(family, count, text, x, n, wanted, format,    p, bound) {
    decided = n >= wanted
    low = high = mean = 0
    if (!decided) return
    paired(x, n)
    bound = family_bound(n - 1, count) * half / t_bound(n - 1)
    low = mean - bound
    high = mean + bound
    p = t_test(x, n) * count
    printf "| %s | %s | %d | " format " [" format ", " format "] | %s | %s |\n", family, text, n, mean, low, high, \
        smallest(x, n, format, count), chance(p > 1 ? 1 : p)
}

# The verdict on a claim that something is below 0, where half of the gain of the first experiment counts.
function judge() {
    if (!decided) return "not run"
    if (high < 0) return "reproduced"
    if (low > 0) return "contradicted in this regime"
    if (low > -0.00085) return sprintf("smaller than %.4f nats", -low)
    return "inconclusive"
}

END {
    print "| family | difference | pairs | nats [simultaneous 95 %] | detectable | p |"
    print "|---|---|---|---|---|---|"
    for (seed = 2001; seed <= 2040; seed++) {
        ended = 1
        for (dose = 0; dose < 4; dose++) ended = ended && ((dose ? "dose" dose : "placebo", seed) in loss)
        if (!ended) continue
        n++
        for (dose = 0; dose < 4; dose++) {
            value = loss[dose ? "dose" dose : "placebo", seed]
            slopes[n] += (dose - 1.5) * value / 5
            curves[n] += (dose == 0 || dose == 3 ? 1 : -1) * value / 4
        }
    }
    compare("dose", 1, "slope of the loss over the dose", slopes, n, 40, "%+.5f")
    dose_verdict = judge()
    compare("curvature, not judged", 1, "curvature of the loss over the dose", curves, n, 40, "%+.5f")
    for (dose = 2; dose < 4; dose++) {
        n = differences("dose" dose, "placebo", 2001, 2040, x)
        compare("dose " dose ", not judged", 1, "dose " dose " less placebo", x, n, 40, "%+.4f")
    }
    n = differences("dose3", "dose1", 2001, 2040, x)
    compare("dose 3, not judged", 1, "dose 3 less dose 1", x, n, 40, "%+.4f")
    n = differences("dose1", "fixed", 2001, 2040, x)
    compare("dose 1, not judged", 1, "dose 1 less fixed", x, n, 40, "%+.4f")
    n = differences("dose1", "placebo", 2001, 2040, x)
    compare("table", 2, "dose 1 less placebo", x, n, 40, "%+.4f")
    table_helps = decided && high < 0
    n = differences("learned", "dose1", 2001, 2040, x)
    compare("table", 2, "learned less dose 1", x, n, 40, "%+.4f")
    table_verdict = !decided ? "not run" : high < 0 ? "learning adds to the table" : \
        table_helps && low <= 0 ? "the table explains the gain" : low > 0 ? "the table does better than learning" : "inconclusive"
    n = differences("base1000", "fixed", 2001, 2040, x)
    compare("base", 2, "base 1000 less fixed", x, n, 40, "%+.4f")
    base_helps = decided && high < 0
    n = differences("base1000", "learned", 2001, 2040, x)
    compare("base", 2, "base 1000 less learned", x, n, 40, "%+.4f")
    base_verdict = !decided ? "not run" : low > 0 ? "a better base is not enough" : \
        base_helps ? "a better base is enough, as far as 40 pairs can tell" : "inconclusive"
    n = differences("triple", "learned", 2001, 2080, x)
    compare("rate", 2, "three times the rate less learned", x, n, 80, "%+.4f")
    rate_verdict = judge()
    n = differences("triple", "fixed", 2001, 2080, x)
    compare("rate", 2, "three times the rate less fixed", x, n, 80, "%+.4f")

    add_points("three times the rate less fixed", "triple", "fixed", 2080)
    add_points("less learned", "triple", "learned", 2080)
    add_points("base 1000 less fixed", "base1000", "fixed", 2040)

    print ""
    print "| step | mean change of ln θ at .1 to .35 turns [simultaneous 95 %] | direction | cost of a reset, nats | most used pair, learned (turns) | fixed (turns) |"
    print "|---|---|---|---|---|---|"
    count = split("1000 2000 4000 8000 16000", steps, " ")
    for (k = 1; k <= count; k++) {
        n = 0
        for (seed = 5001; seed <= 5008; seed++)
            if ((steps[k], seed) in drift) { x[++n] = drift[steps[k], seed]; y[n] = reset_cost["learned", steps[k], seed] }
        if (n < 8) continue
        paired(x, n)
        bound = family_bound(n - 1, count) * half / t_bound(n - 1)
        direction = mean - bound > 0 ? "up" : mean + bound < 0 ? "down" : "undecided"
        printf "| %d | %+.3f [%+.3f, %+.3f] | %s | %s | %s | %s |\n", steps[k], mean, mean - bound, mean + bound, direction, \
            spread(y, n, "%.4f"), most_used("learned", steps[k]), most_used("fixed", steps[k])
    }
    n = 0
    for (seed = 5001; seed <= 5008; seed++)
        if (("learned", seed) in at_end && ("fixed", seed) in at_end) x[++n] = at_end["learned", seed] - at_end["fixed", seed]
    print ""
    if (points != "") print "accuracy in points [95 %], not judged: " points "\n"
    if (n == 8) print "loss after 16,000 steps, learned less fixed, not judged: " interval(x, n, "%+.4f")

    print ""
    print "| row | verdict |"
    print "|---|---|"
    print "| dose | " dose_verdict " |"
    print "| table or learning | " table_verdict " |"
    print "| base | " base_verdict " |"
    print "| length | " (direction == "down" ? "reproduced" : direction == "up" ? "contradicted in this regime" : \
        direction == "undecided" ? "inconclusive" : "not run") " |"
    print "| rate | " rate_verdict " |"
    for (row in failed) print "\nruns of " row " that did not end: " failed[row]
}

function most_used(arm, step,    i, best, most) {
    for (i = 0; i < 16; i++)
        if (("length", arm, step, i) in use && use["length", arm, step, i] > most) { most = use["length", arm, step, i]; best = i }
    return most ? sprintf("%d (%.2f)", best, 10000 ^ (-best / 16) * 127 / 6.283185307) : "–"
}
