# How often theta is found, by how far away it starts, from theta-range-found.csv.

NR == 1 { next }
{
    split("0 1 2 2.6 3.14159265 4 6 10 30", edge, " ")
    far = ($2 - $4) * $3; if (far < 0) far = -far
    for (b = 1; far >= edge[b + 1]; b++) continue
    error = $5 / $2 - 1; if (error < 0) error = -error
    n[b]++; found[b] += error < 0.01; e[b, n[b]] = 100 * error
}
END {
    print "| difference times T (rad) | runs | found to 1 % | median error |"
    print "|---|---|---|---|"
    for (b = 1; b <= 8; b++) {
        if (!n[b]) continue
        for (i = 1; i <= n[b]; i++) x[i] = e[b, i]
        printf "| %.3g to %.3g | %d | %d | %.2f %% |\n", edge[b], edge[b + 1], n[b], found[b], median(x, n[b])
    }
}
