# The theta that turns most of the weights, by the distance that is asked for, from width.csv.

NR == 1 { next }
{
    if (!($1 in n)) order[++rows] = $1
    n[$1]++; theta[$1, n[$1]] = $5; start[$1] += $6; use[$1] += $7
}
END {
    print "| W | 1/W | θ used most | its start | share of the weights |"
    print "|---|---|---|---|---|"
    for (r = 1; r <= rows; r++) {
        w = order[r]
        for (i = 1; i <= n[w]; i++) x[i] = theta[w, i]
        printf "| %d | %.4f | %s | %.4f | %.0f %% |\n", w, 1 / w, spread(x, n[w], "%.4f"), start[w] / n[w], 100 * use[w] / n[w]
    }
}
