# Learned against fixed theta, in pairs of the same seed, from theta.csv: mean differences with their
# interval of 95 % (t, n - 1), and the smallest that as many pairs show in 90 of 100 cases:
#
#     awk -F, -v by=COLUMN -f statistics.awk -f paired.awk theta.csv

NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    if (!("run.seed" in at && by in at)) { print FILENAME ": not a table of runs" >"/dev/stderr"; exit failed = 1 }
    next
}

{
    task = $at[by]; seed = $at["run.seed"]; learned = $at["theta.learn"] == "yes"
    if (!(task in known)) { known[task]; order[++tasks] = task }
    loss[task, seed, learned] = $at["eval_loss"]; first[task, seed, learned] = $at["first_step_with_accuracy_0.99"]
    if (seed + 0 > seeds) seeds = seed + 0
}

function compare(task, values, format,    s, n, less, more, x, d) {
    for (s = 1; s <= seeds; s++) {
        if (values[task, s, 0] == "" || values[task, s, 1] == "") continue
        d = values[task, s, 1] - values[task, s, 0]
        x[++n] = d; less += d < 0; more += d > 0
    }
    if (!n) return "– | – | – | –"
    return interval(x, n, format) " | " smallest(x, n, format) " | " less + 0 " / " more + 0 " | " chance(sign_test(less, less + more))
}

END {
    if (failed) exit 1
    print "| task | loss, learned less fixed [95 %] | detectable | lower / higher | chance | steps to 99 %, learned less fixed [95 %] | detectable | fewer / more | chance |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (t = 1; t <= tasks; t++)
        print "| " order[t] " | " compare(order[t], loss, "%+.2g") " | " compare(order[t], first, "%+.0f") " |"
}
