# Pairs of several files put together: what a variant has less than another one, file by file and seed
# by seed, with the interval of 95 %, the p of the t-test, and that of the sign test.
#
#     awk -F, -f statistics.awk -f pooled.awk of=VARIANT than=VARIANT set=NAME runs.csv ... set=NAME ...

FNR == 1 {
    if (set != before) { names[++sets] = set; before = set }
    file++
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
    key = file SUBSEP $at["run.seed"]
    if ($at["variant"] == of) { learned[key] = $at["eval_loss"]; keys[sets, ++count[sets]] = key }
    if ($at["variant"] == than) fixed[key] = $at["eval_loss"]
}

END {
    if (failed) exit 1
    print "| pairs of | pairs | loss, learned less fixed [95 %] | p | lower / higher | chance |"
    print "|---|---|---|---|---|---|"
    for (r = 1; r <= sets; r++) {
        n = less = more = 0
        for (i = 1; i <= count[r]; i++) {
            if (!(keys[r, i] in fixed)) continue
            x[++n] = learned[keys[r, i]] - fixed[keys[r, i]]
            less += x[n] < 0; more += x[n] > 0
        }
        if (n < 2) continue
        printf "| %s | %d | %s | %s | %d / %d | %s |\n", names[r], n, interval(x, n, "%+.4f"), \
            chance(t_test(x, n)), less, more, chance(sign_test(less, less + more))
    }
}
