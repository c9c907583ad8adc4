# How the theta at which the drift changes its sign follows the width W of a dependency, and the
# verdict on 1/W as the last line.
#
#     awk -F, [-v family=NUMBER] -f statistics.awk -f width-profile.awk profile-pairs.csv
#
# Slower pairs drift up and faster ones down, with exceptions: so the drift (mean over seeds), summed
# from the slowest pair on, is greatest at the crossing, which is put between the last pair of that
# sum and the first one beyond it, at the geometric mean of their initial values. There is none if
# the sum is greatest at the fastest pair. The slope is that of ln crossing on ln W, by least squares;
# its intervals have as many degrees of freedom as there are crossings less 2. The slope claimed is -1.
# The verdict follows from the simultaneous interval in the family: reproduced if it contains -1 and not
# 0, smaller than X if it contains 0 and not -1, inconclusive if it contains both, and contradicted if
# neither.

FNR == 1 { next }
{
    width = $1
    sub(/.*=/, "", width)
    if (!(width in runs)) {
        for (k = ++count; k > 1 && widths[k - 1] > width + 0; k--) widths[k] = widths[k - 1]
        widths[k] = width + 0
    }
    if (!seen[width, $2]++) runs[width]++
    drift[width, $4] += $6
    start[$4] = $5 * exp(-$6)
    if ($4 > slowest) slowest = $4
}

# The logarithm of the crossing, or "".
function crossing(width,    i, sum, best, at) {
    at = slowest
    for (i = slowest; i >= 0; i--) {
        sum += drift[width, i]
        if (sum > best) { best = sum; at = i }
    }
    return at ? (log(start[at]) + log(start[at - 1])) / 2 : ""
}

END {
    print "| W | runs | θ where the drift changes its sign | W θ / 2π |"
    print "|---|---|---|---|"
    for (k = 1; k <= count; k++) {
        at = crossing(widths[k])
        if (at == "") { printf "| %d | %d | none | – |\n", widths[k], runs[widths[k]]; continue }
        printf "| %d | %d | %.3f | %.2f |\n", widths[k], runs[widths[k]], exp(at), \
            widths[k] * exp(at) / 6.283185307
        x[++n] = log(widths[k]); y[n] = at
    }
    print ""
    if (n < 3) { print "verdict: width: not run"; exit }
    fit_line(x, y, n)
    printf "slope of ln θ on ln W: %+.2f [%+.2f, %+.2f] (95 %%, %d widths)", slope, slope - half, slope + half, n
    fit_line(x, y, n, family)
    low = slope - half; high = slope + half
    if (family) printf "; simultaneous [%+.2f, %+.2f]", low, high
    print "\n"
    if (low > 0) verdict = "contradicted in this regime"
    else if (high < 0) verdict = low > -1 || high < -1 ? "contradicted in this regime" : "reproduced"
    else verdict = low > -1 ? sprintf("smaller than %.2f (slope)", -low) : "inconclusive"
    print "verdict: width: " verdict
}
