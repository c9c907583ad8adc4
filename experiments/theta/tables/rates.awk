# The evaluation loss of each encoding at each learning rate, from rates.csv; the best in bold.

NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{
    kind = $at["variant"]; rate = $at["optimizer.lr"]
    if (!(kind in known)) { known[kind]; order[++kinds] = kind; best[kind] = 1e9 }
    if (!(rate in there)) { there[rate]; rates[++columns] = rate }
    loss[kind, rate] = $at["eval_loss"]
    if (loss[kind, rate] != "" && loss[kind, rate] + 0 < best[kind]) best[kind] = loss[kind, rate] + 0
}
END {
    line = "| model |"; rule = "|---|"
    for (c = 1; c <= columns; c++) { line = line " " rates[c] " |"; rule = rule "---|" }
    print line; print rule
    for (k = 1; k <= kinds; k++) {
        line = "| " order[k] " |"
        for (c = 1; c <= columns; c++) {
            x = loss[order[k], rates[c]]
            line = line (x == "" ? " – |" : x + 0 == best[order[k]] ? sprintf(" **%.3f** |", x) : sprintf(" %.3f |", x))
        }
        print line
    }
}
