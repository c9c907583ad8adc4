# Where learned theta ended whose target is known, and how well the data tell it:
#
#     awk -F, -f statistics.awk -f known.awk theta-known-found.csv curvature.csv
#
# The standard error is that of a parameter that is estimated from as many labels as the training
# has seen while all other weights are held, 1 / sqrt(N L''), L'' the second derivative of the
# evaluation loss of the trained model, from three points.

FNR == 1 { file++; next }

file == 1 {
    split($1, part, "_")
    task = part[1]
    if (!(task in wanted)) { wanted[task] = $2; order[++tasks] = task }
    if ($1 ~ /learn=no/) { fixed[task, ++fixes[task]] = $6; next }
    k = ++n[task]
    seed[task, k] = $1; sub(/.*seed=/, "", seed[task, k])
    theta[task, k] = $5; accuracy[task, k] = $6
    error = ($5 / $2 - 1) * 100; if (error < 0) error = -error
    if (error > largest[task]) largest[task] = error
    below[task] += $5 < $2
    next
}

# Columns: task, seed, theta, step, loss, labels.
{ loss[$1, $2, $4 > 0 ? 1 : $4 < 0 ? -1 : 0] = $5; if ($4 > 0) h = $4 }

END {
    print "| task | wanted | learned | largest error | below / above | standard error | bottom of the loss, from there [95 %] | accuracy, learned | fixed at 1 |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (t = 1; t <= tasks; t++) {
        task = order[t]; c = 0
        for (k = 1; k <= n[task]; k++) {
            x[k] = theta[task, k]; a[k] = accuracy[task, k]
            s = seed[task, k]
            if (loss[task, s, 0] == "") continue
            slope = (loss[task, s, 1] - loss[task, s, -1]) / (2 * h)
            curvature = (loss[task, s, 1] - 2 * loss[task, s, 0] + loss[task, s, -1]) / (h * h)
            if (curvature <= 0) continue
            errors[++c] = 1 / sqrt(1500 * 32 * 23 * 0.15 * curvature)
            bottoms[c] = -slope / curvature
        }
        for (k = 1; k <= fixes[task]; k++) f[k] = fixed[task, k]
        printf "| %s | %.4f | %s | %.2f %% | %d / %d | %s | %s | %s | %s |\n", task, wanted[task],
            spread(x, n[task], "%.4f"), largest[task], below[task], n[task] - below[task],
            c ? sprintf("%.4f", median(errors, c)) : "–", interval(bottoms, c, "%+.4f"),
            spread(a, n[task], "%.3f"), spread(f, fixes[task], "%.3f")
    }
}
