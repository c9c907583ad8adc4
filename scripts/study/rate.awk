# Where theta ended at several learning rates, from theta-rate-found.csv; runs are named
# lr=..._lr_scale=..._seed=...

NR == 1 { next }
{
    split($1, part, "_seed="); key = part[1]
    if (!(key in n)) order[++rows] = key
    theta[key, ++n[key]] = $5; error = $5 / $2 - 1; if (error < 0) error = -error
    found[key] += error < 0.01
    wanted = $2
}
END {
    print "| learning rate | times for θ | where θ ended, for " sprintf("%.4f", wanted) " | found to 1 % |"
    print "|---|---|---|---|"
    for (r = 1; r <= rows; r++) {
        key = order[r]; text = ""
        for (i = 1; i <= n[key]; i++) text = text (i > 1 ? ", " : "") sprintf("%.4f", theta[key, i])
        split(key, part, "_lr_scale="); sub("lr=", "", part[1])
        printf "| %s | %s | %s | %d of %d |\n", part[1], part[2], text, found[key], n[key]
    }
}
