# What a model becomes with another theta, from theta-swap.csv: accuracy, and how many of the runs
# need their own by the rule that train has.
#
#     awk -F, -f statistics.awk -f swap.awk theta-swap.csv

NR == 1 { next }

{
    if (!($1 in known)) { known[$1]; order[++tasks] = $1 }
    k = ++n[$1, $3]
    loss[$1, $3, k] = $4 == "inf" ? 1e300 : $4; accuracy[$1, $3, k] = $5; seed[$1, $3, k] = $2
    if ($3 == "learned") { own_loss[$1, $2] = $4; own_accuracy[$1, $2] = $5 }
}

function cell(task, kind,    i, needed, x, l, own, most) {
    if (!n[task, kind]) return "–"
    for (i = 1; i <= n[task, kind]; i++) {
        x[i] = accuracy[task, kind, i]
        l = own_loss[task, seed[task, kind, i]]; own = own_accuracy[task, seed[task, kind, i]]
        most = (own < 0.9 ? l : 1.5 * l) + 0.01
        needed += x[i] < own - 0.01 - 1e-9 || !(loss[task, kind, i] <= most)
    }
    return spread(x, n[task, kind], "%.3f") (kind == "learned" ? "" : ": " needed + 0 " of " n[task, kind])
}

END {
    split("learned half base flipped signs shuffled", kinds, " ")
    print "| task | learned | half of the drift | base^(-2i/d) | drift flipped | signs by chance | shuffled |"
    print "|---|---|---|---|---|---|---|"
    for (t = 1; t <= tasks; t++) {
        line = "| " order[t]
        for (k = 1; k <= 6; k++) line = line " | " cell(order[t], kinds[k])
        print line " |"
    }
}
