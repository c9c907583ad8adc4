# The signed drift of every pair of one task, its mean and the interval of 95 % over the seeds (t,
# n - 1), from theta-pairs.csv:
#
#     awk -F, -v task=TASK -f statistics.awk -f pairs.awk theta-pairs.csv

NR == 1 || $1 != task || $9 == "" { next } # not measured

{
    k = ++n[$3, $4]
    drift[$3, $4, k] = $6; down[$3, $4, k] = $9; up[$3, $4, k] = $10
    if ($3 > layers) layers = $3
    if ($4 > pairs) pairs = $4
}

END {
    print "| layer | i | drift of ln θ [95 %] | up / down | chance | tolerance down | tolerance up | beyond its tolerance |"
    print "|---|---|---|---|---|---|---|---|"
    for (l = 0; l <= layers; l++)
        for (i = 0; i <= pairs; i++) {
            runs = n[l, i]; positive = beyond = 0
            for (k = 1; k <= runs; k++) {
                x[k] = drift[l, i, k]; d[k] = down[l, i, k]; u[k] = up[l, i, k]
                positive += x[k] > 0
                beyond += x[k] > 0 ? x[k] > d[k] : -x[k] > u[k]
            }
            printf "| %d | %d | %s | %d / %d | %s | %.3g | %.3g | %d of %d |\n", l, i,
                interval(x, runs, "%+.3f"), positive, runs - positive, chance(sign_test(positive, runs)),
                median(d, runs), median(u, runs), beyond, runs
        }
}
