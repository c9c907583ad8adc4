# Where theta ended, by how far away it started, from theta-range-found.csv: at what was wanted, at a
# fraction k/l of it (k, l up to 3; within 5 %), near its start (by a phase of less than 1 over the
# sequence), or elsewhere.

NR == 1 { next }
{
    split("0 2 2.6 3.14159265 4 6 10 30", edge, " ")
    far = ($2 - $4) * $3; if (far < 0) far = -far
    for (b = 1; far >= edge[b + 1]; b++) continue
    n[b]++
    moved = ($5 - $4) * $3; if (moved < 0) moved = -moved
    ratio = $5 / $2; end = "elsewhere"
    for (k = 1; k <= 3; k++)
        for (l = 1; l <= 3; l++) {
            error = ratio * l / k - 1
            if (k != l && error * error < 0.0025) end = "fraction"
        }
    if (moved < 1) end = "stayed"
    error = ratio - 1
    if (error * error < 0.0001) end = "found"
    count[b, end]++
    sum[b, end] += $6
}
function cell(b, end) {
    return count[b, end] ? sprintf("%d (%.2f)", count[b, end], sum[b, end] / count[b, end]) : "0"
}
END {
    print "| difference times T (rad) | runs | found to 1 % | a fraction of it | stayed | elsewhere |"
    print "|---|---|---|---|---|---|"
    for (b = 1; b <= 7; b++)
        if (n[b])
            printf "| %.3g to %.3g | %d | %s | %s | %s | %s |\n", edge[b], edge[b + 1], n[b],
                cell(b, "found"), cell(b, "fraction"), cell(b, "stayed"), cell(b, "elsewhere")
}
