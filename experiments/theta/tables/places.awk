# Where theta drifts: the root mean square of the drift of ln theta by layer and by quarter of the
# pairs, from fast to slow, and in brackets the share of pairs that drift to the side to which most
# of their quarter do.
#
#     awk -F, -v pairs=COUNT -f statistics.awk -f places.awk theta-pairs.csv

NR == 1 { next }
{
    if (!($1 in known)) { known[$1]; order[++tasks] = $1 }
    if ($3 > layers[$1]) layers[$1] = $3
    q = int($4 * 4 / pairs)
    n[$1, $3, q]++; squares[$1, $3, q] += $6 * $6; up[$1, $3, q] += $6 > 0
}

function cell(t, l, q,    k, more) {
    k = n[t, l, q]
    if (!k) return "–"
    more = up[t, l, q] > k / 2 ? up[t, l, q] : k - up[t, l, q]
    return sprintf("%.3f (%d %% %s)", sqrt(squares[t, l, q] / k), 100 * more / k + 0.5, \
        2 * up[t, l, q] == k ? "each" : 2 * up[t, l, q] > k ? "up" : "down")
}

END {
    printf "| one θ for each | layer |"
    for (q = 0; q < 4; q++) printf " i = %d to %d |", q * pairs / 4, (q + 1) * pairs / 4 - 1
    print "\n|---|---|---|---|---|---|"
    for (t = 1; t <= tasks; t++)
        for (l = 0; l <= layers[order[t]]; l++) {
            line = "| " order[t] " | " l
            for (q = 0; q < 4; q++) line = line " | " cell(order[t], l, q)
            print line " |"
        }
}
