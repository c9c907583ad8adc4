# Where theta ended beside the optimum and its mirror image in 2 pi / 6, by where it started: at that
# image, as far on the other side of the optimum, or at 1; from known-mirror.csv (runs are named
# mirror-... and other-...), also with a tenth of the rate for theta, or known-short.csv.
#
#     awk -F, -f mirror.awk known-mirror.csv slow=1 known-mirror-slow.csv

BEGIN {
    told["mirror"] = "from the mirror image"
    told["other"] = "from as far on the other side"
    told["one"] = "from 1"
    told["mirror slow"] = "from the image with a tenth of the rate"
    told["other slow"] = "from the other side with a tenth of the rate"
}
FNR == 1 { next }
{
    if (!($2 in wanted)) { wanted[$2]; order[++rows] = $2 }
    side = $1 ~ /^mirror/ ? "mirror" : $1 ~ /^other/ ? "other" : "one"
    if (slow) side = side " slow"
    if (!(side in sides)) { sides[side]; side_order[++side_count] = side }
    ends[$2, side] = ends[$2, side] (ends[$2, side] ? ", " : "") sprintf("%.4f", $5)
}
END {
    line = "| optimum | mirror image |"; rule = "|---|---|"
    for (i = 1; i <= side_count; i++) { line = line " ends, " told[side_order[i]] " |"; rule = rule "---|" }
    print line; print rule
    for (r = 1; r <= rows; r++) {
        line = sprintf("| %.4f | %.4f |", order[r], 2 * 6.283185307179586 / 6 - order[r])
        for (i = 1; i <= side_count; i++) line = line " " ends[order[r], side_order[i]] " |"
        print line
    }
}
