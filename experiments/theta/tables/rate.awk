# Where theta ended at several learning rates, from theta-rate-found.csv; a period is served by
# multiples of what is wanted as well. Runs are named
# lr=..._lr_scale=..._seed=...

NR == 1 { next }
{
    split($1, part, "_seed="); key = part[1]
    if (!(key in n)) order[++rows] = key
    theta[key, ++n[key]] = $5
    times = int($5 / $2 + 0.5); error = times ? $5 / $2 / times - 1 : 1
    found[key] += error * error < 0.0001
    wanted = $2
}
END {
    print "| learning rate | times for θ | where θ ended, for " sprintf("%.4f", wanted) " | found to 1 %, once or a multiple |"
    print "|---|---|---|---|"
    for (r = 1; r <= rows; r++) {
        key = order[r]; text = ""
        for (i = 1; i <= n[key]; i++) text = text (i > 1 ? ", " : "") sprintf("%.4f", theta[key, i])
        split(key, part, "_lr_scale="); sub("lr=", "", part[1])
        printf "| %s | %s | %s | %d of %d |\n", part[1], part[2], text, found[key], n[key]
    }
}
