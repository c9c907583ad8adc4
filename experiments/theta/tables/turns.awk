# The mean drift of ln theta, and how many pairs drift up, by how often a pair turned over the length
# of a sequence at its start:
#
#     awk -F, -f turns.awk name=NAME base=B tokens=T pairs=P task=TASK theta-pairs.csv [name=...]

BEGIN { count = split("0.02 0.05 0.1 0.2 0.35 0.5 0.8 1.1 1.7 5 1e9", edges, " ") }

FNR == 1 { if (!(name in known)) { known[name]; order[++names] = name } next }
$1 != task { next }
{
    turns = exp(-$4 / pairs * log(base)) * (tokens - 1) / 6.283185307179586
    for (e = 1; e < count && turns >= edges[e]; e++);
    n[name, e]++; sum[name, e] += $6; up[name, e] += $6 > 0
}

function cell(name, e) {
    return n[name, e] ? sprintf("%+.3f (%d of %d)", sum[name, e] / n[name, e], up[name, e], n[name, e]) : "–"
}

END {
    line = "| turns at the start |"; rule = "|---|"
    for (k = 1; k <= names; k++) { line = line " " order[k] " |"; rule = rule "---|" }
    print line; print rule
    for (e = 1; e <= count; e++) {
        line = "| " (e == 1 ? "below " edges[1] : e == count ? edges[e - 1] " and more" : edges[e - 1] " to " edges[e]) " |"
        for (k = 1; k <= names; k++) line = line " " cell(order[k], e) " |"
        print line
    }
}
