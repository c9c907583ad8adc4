# Where learned theta ended whose target is known, and how well the data tell it:
#
#     awk -F, -f statistics.awk -f known.awk theta-known-found.csv curvature.csv
#
# The standard error is that of a parameter that is estimated from as many labels as the training
# has seen while all others are known, 1 / sqrt(N L''), L'' the second derivative of the evaluation
# loss, from a parabola through five points.

FNR == 1 { file++; next }

file == 1 {
    split($1, part, "_")
    task = part[1]
    if (!(task in wanted)) { wanted[task] = $2; order[++tasks] = task }
    if ($1 ~ /learn=no/) { fixed[task, ++fixes[task]] = $6; next }
    k = ++n[task]
    theta[task, k] = $5; accuracy[task, k] = $6
    error = ($5 / $2 - 1) * 100; if (error < 0) error = -error
    if (error > largest[task]) largest[task] = error
    next
}

# Least squares of a parabola at steps -2h ... 2h.
{
    key = $1 SUBSEP $2
    h = 0.01; z = $4 / h
    curvature[key] += (z * z - 2) * $5 / 7 / (h * h)
    slope[key] += z * $5 / 10 / h
    if ($4 == 0) labels[key] = $6
    points[key]++
}

END {
    print "| task | wanted | learned | largest error | standard error | bottom of the loss, from there | accuracy, learned | fixed at 1 |"
    print "|---|---|---|---|---|---|---|---|"
    for (t = 1; t <= tasks; t++) {
        task = order[t]; c = 0
        for (k = 1; k <= n[task]; k++) {
            x[k] = theta[task, k]; a[k] = accuracy[task, k]
            key = task SUBSEP k
            if (points[key] == 5 && curvature[key] > 0) {
                errors[++c] = 1 / sqrt(1500 * 32 * 23 * 0.15 * curvature[key])
                bottoms[c] = -slope[key] / curvature[key]
            }
        }
        for (k = 1; k <= fixes[task]; k++) f[k] = fixed[task, k]
        printf "| %s | %.4f | %s | %.2f %% | %.4f | %s | %s | %s |\n", task, wanted[task],
            spread(x, n[task], "%.4f"), largest[task], median(errors, c), spread(bottoms, c, "%+.4f"),
            spread(a, n[task], "%.3f"), spread(f, fixes[task], "%.3f")
    }
}
