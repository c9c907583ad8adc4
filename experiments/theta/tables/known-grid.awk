# Where theta ended, by the length of the sequences and by the phase from its start to the optimum,
# from known-grid.csv: at the optimum, at its mirror image in 2 pi / 6 or 2 pi / 7 (the optima of
# periods within a phase of pi of the start; as near as 0.25 rad over the sequence), or elsewhere.
#
#     awk -F, -f statistics.awk -f known-grid.awk known-grid.csv

BEGIN { turn = 6.283185307179586; bins = 4 }
NR == 1 { next }
{
    phase = ($2 - $4) * $3
    if (!($3 in lengths)) { lengths[$3]; length_order[++length_count] = $3 }
    bin = int((phase < 0 ? -phase : phase) / (turn / 2) * bins)
    key = $3 SUBSEP bin
    n[key]++
    error = $5 / $2 - 1
    if (error * error < 0.0001) found[key]++
    off = ($5 - $2) * $3
    if (off * off < 0.0625) { near[key]++; next }
    end = "elsewhere"
    for (period = 6; period <= 7; period++) {
        off = ($5 - (2 * turn / period - $2)) * $3
        if (off * off < 0.0625) end = "mirror"
    }
    count[key, end]++
    if (end == "elsewhere")
        list[$3] = list[$3] (list[$3] ? ", " : "") sprintf("%.4f → %.4f", $2, $5)
}

END {
    print "| T | difference times T (rad) | runs | found to 1 % | to 0.25 rad over the sequence | mirror image in 2π/6 or 2π/7 | elsewhere |"
    print "|---|---|---|---|---|---|---|"
    for (t = 1; t <= length_count; t++)
        for (b = 0; b < bins; b++) {
            key = length_order[t] SUBSEP b
            printf "| %d | %.2f to %.2f | %d | %d | %d | %d | %d |\n", length_order[t], \
                turn / 2 * b / bins, turn / 2 * (b + 1) / bins, n[key], found[key], near[key], \
                count[key, "mirror"], count[key, "elsewhere"]
        }
    for (t = 1; t <= length_count; t++)
        if (list[length_order[t]])
            print "\nElsewhere, T = " length_order[t] ": " list[length_order[t]] "."
}
