# What learning theta changes in the loss, over models: each of a variant less another one of the
# same sweep, seed by seed, with the interval of 95 % (t, n - 1) and the smallest difference that as
# many pairs show in 90 of 100 cases.
#
#     awk -F, -f statistics.awk -f gains.awk model=NAME theta=WHICH of=VARIANT than=VARIANT \
#         runs.csv [model=... runs.csv ...]
#
# A variant of a sweep that has theta.learn beside the variants is VARIANT-yes or VARIANT-no.

FNR == 1 {
    row++
    names[row] = model; thetas[row] = theta
    for (name in at) delete at[name]
    for (i = 1; i <= NF; i++) at[$i] = i
    if (!("variant" in at && "run.seed" in at && "eval_loss" in at)) {
        print FILENAME ": not a table of runs" >"/dev/stderr"
        failed = 1
        exit 1
    }
    next
}
$at["eval_loss"] != "" {
    variant = $at["variant"]
    if ("theta.learn" in at) variant = variant "-" $at["theta.learn"]
    seed = $at["run.seed"]
    if (variant == of) { learned[row, seed] = $at["eval_loss"]; seeds[row, ++count[row]] = seed }
    if (variant == than) fixed[row, seed] = $at["eval_loss"]
}

END {
    if (failed) exit 1
    print "| models | one θ for each | pairs | loss, learned less fixed [95 %] | detectable | lower / higher |"
    print "|---|---|---|---|---|---|"
    for (r = 1; r <= row; r++) {
        n = less = more = 0
        for (i = 1; i <= count[r]; i++) {
            seed = seeds[r, i]
            if (!((r, seed) in fixed)) continue
            x[++n] = learned[r, seed] - fixed[r, seed]
            less += x[n] < 0; more += x[n] > 0
        }
        if (n > 1) paired(x, n)
        form = n > 1 && half < 0.001 ? "%+.5f" : "%+.4f"
        printf "| %s | %s | %d | %s | %s | %d / %d |\n", names[r], thetas[r], n, \
            interval(x, n, form), smallest(x, n, form), less, more
    }
}
