# Where the band of used pairs lies, and which pairs are not needed, a row for each model.
#
#     awk -F, -f statistics.awk -f bands.awk bands-layers.csv

FNR == 1 { next }
{
    key = $1 SUBSEP $2 SUBSEP $3
    if (!(key in needed)) order[++rows] = key
    turns[key] = turns[key] (turns[key] == "" ? "" : ", ") sprintf("%.2f", $5)
    use[key] = use[key] (use[key] == "" ? "" : ", ") sprintf("%.1f", $6)
    needed[key] = $7 == "" ? "–" : sprintf("%.2f", $7)
}
END {
    print "| model | base | length | turns of the pair used most below 4 turns, by layer | its use, times the mean | fewest turns that are needed |"
    print "|---|---|---|---|---|---|"
    for (r = 1; r <= rows; r++) {
        split(order[r], part, SUBSEP)
        print "| " part[1] " | " part[2] " | " part[3] " | " turns[order[r]] " | " use[order[r]] " | " \
            needed[order[r]] " |"
    }
}
