# Rows of a table of pairs, 16 to a head, as "turns drift usage": the turns of the initial theta over a
# sequence, and the share of the pair over the mean of its theta. `tokens` and `base` are of rows of
# `task`; without a task each row names its own, "length=64_base=3000".
NR == 1 {
    for (i = 1; i <= NF; i++) column[$i] = i
    next
}
task != "" && $1 != task { next }
{
    if (task == "") {
        split($1, part, /[=_]/)
        tokens = part[2]
        base = part[4]
    }
    turns = base ^ (-$(column["i"]) / 16) * (tokens - 1) / (2 * atan2(0, -1))
    print turns, $(column["drift"]), "use" in column ? 16 * $(column["use"]) : "NaN"
}
