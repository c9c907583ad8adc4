# Evaluation losses along the training, from KIND,SEED,STEP,LOSS.

NR == 1 { next }
{
    if (!($1 in known)) { known[$1]; order[++kinds] = $1 }
    loss[$1, $3, ++n[$1, $3]] = $4
    if ($3 > last) last = $3
}
END {
    line = "| positions |"; rule = "|---|"
    for (p = 1; p <= 5; p++) { line = line " " last * p / 5 (p == 1 ? " steps" : "") " |"; rule = rule "---|" }
    print line; print rule
    for (k = 1; k <= kinds; k++) {
        line = "| " order[k] " |"
        for (p = 1; p <= 5; p++) {
            step = last * p / 5
            for (i = 1; i <= n[order[k], step]; i++) x[i] = loss[order[k], step, i]
            line = line " " spread(x, n[order[k], step], "%.3f") " |"
        }
        print line
    }
}
