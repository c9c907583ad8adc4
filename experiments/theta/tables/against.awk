# The loss of each variant of a sweep less that of another one, seed by seed.
#
#     awk -F, -v than=VARIANT -v heading=NAME -f statistics.awk -f against.awk runs.csv

NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    if (!("variant" in at && "run.seed" in at && "eval_loss" in at)) { failed = 1; exit 1 }
    next
}
$at["eval_loss"] != "" {
    v = $at["variant"]; s = $at["run.seed"]
    if (!(v in known)) { known[v]; order[++variants] = v }
    if (!(s in seeds)) { seeds[s]; seed_order[++seed_count] = s }
    loss[v, s] = $at["eval_loss"]
}

function row(v,    i, s, n, x, less, more) {
    for (i = 1; i <= seed_count; i++) {
        s = seed_order[i]
        if (!((v, s) in loss && (than, s) in loss)) continue
        x[++n] = loss[v, s] - loss[than, s]
        less += x[n] < 0; more += x[n] > 0
    }
    return spread(x, n, "%+.4f") " | " less + 0 " / " more + 0
}

END {
    if (failed || !(than in known)) { print FILENAME ": no " than " to compare with" >"/dev/stderr"; exit 1 }
    print "| " heading " | loss less that of " than " | lower / higher |"
    print "|---|---|---|"
    for (i = 1; i <= variants; i++)
        if (order[i] != than) print "| " order[i] " | " row(order[i]) " |"
}
