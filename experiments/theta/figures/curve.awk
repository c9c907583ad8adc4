# Mean and standard deviation over the seeds along the training of one kind: STEP MEAN DEVIATION
#
#     awk -F, -v kind=KIND -f curve.awk NAME-curves.csv

NR == 1 || $1 != kind { next }
{ if (!n[$3]) order[++rows] = $3; x[$3, ++n[$3]] = $4; sum[$3] += $4 }
END {
    for (r = 1; r <= rows; r++) {
        step = order[r]; squares = 0
        for (i = 1; i <= n[step]; i++) squares += (x[step, i] - sum[step] / n[step]) ^ 2
        deviation = n[step] > 1 ? sqrt(squares / (n[step] - 1)) : 0
        print step, sum[step] / n[step], deviation
    }
}
