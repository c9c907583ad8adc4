# The drift of the registered runs beside what others published, by the turns of a pair: of one theta for
# the model, how many pairs between two numbers of turns went up on average, and the mean drift of ln theta.
#
#     awk -F, -f statistics.awk -f published.awk [-v points=SOURCE] registered/results/pairs.csv \
#         causes/results/pairs.csv published_drift.csv
#
# With `points` the pairs of one source instead, a line each: TURNS MEAN LOW HIGH, of the registered runs with
# the 95 % interval over seeds; a single training has no interval.
#
# The registered runs have base 10000, 16 pairs and 128 tokens. Of those of 16,000 steps the table has the end;
# the points are there after 1000, 2000, 4000, 8000 and 16000 steps.

FNR == 1 { file++; next }
file == 1 {
    if ($3 != "learned" || $4 != 0 || $5 != 0) next
    start = exp(-log(10000) * $6 / 16)
    note("registered, " ($1 == "small" ? "2 × 64" : "4 × 128"), $1 == "small" ? "0.16 M" : "1.1 M", 128, "no", \
        $6, start * 127 / 6.283185307, log($7 / start))
    next
}
file == 2 {
    if ($1 == "length" && $3 == "learned" && $5 == 0 && $6 == 0) {
        start = exp(-log(10000) * $7 / 16)
        note("2 × 64, " $4 " steps", "0.16 M", 128, "no", $7, start * 127 / 6.283185307, log($8 / start))
    }
    next
}
{ note($1, $2 ~ /e6$/ ? substr($2, 1, length($2) - 2) " M" : $2, $3, $10, $4, $8, $9) }

function note(source, size, tokens, second_hand, pair, u, drift) {
    if (!(source in rows)) {
        rows[source] = ++row; names[row] = source; sizes[row] = size; lengths[row] = tokens; hands[row] = second_hand
    }
    turns[rows[source], pair] = u
    sum[rows[source], pair] += drift
    squares[rows[source], pair] += drift ^ 2
    count[rows[source], pair]++
    if (pair > most) most = pair
}

function cell(r, from, to,    i, n, up, all, mean) {
    for (i = 0; i <= most; i++) {
        if (!((r, i) in turns) || turns[r, i] < from || turns[r, i] >= to) continue
        mean = sum[r, i] / count[r, i]
        n++; up += mean > 0; all += mean
    }
    return n ? sprintf("%d of %d up, %+.2f", up, n, all / n) : "–"
}

function print_points(r,    i, n, mean, half) {
    for (i = 0; i <= most; i++) {
        if (!((r, i) in turns)) continue
        n = count[r, i]
        mean = sum[r, i] / n
        half = n > 1 ? t_bound(n - 1, 1) * sqrt((squares[r, i] / n - mean ^ 2) / (n - 1)) : 0
        printf "%.6g %.5f %.5f %.5f\n", turns[r, i], mean, mean - half, mean + half
    }
}

END {
    if (points) {
        print_points(rows[points])
        exit
    }
    print "| | parameters | T | below 0.1 turns | 0.1 to 0.35 | 0.35 to 0.8 | 0.8 to 4 | 4 and more | second hand |"
    print "|---|---|---|---|---|---|---|---|---|"
    for (r = 1; r <= row; r++) {
        if (names[r] ~ /^2 × 64/ && names[r] !~ / 16000 /) continue
        printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", names[r], sizes[r], lengths[r], cell(r, 0, 0.1), \
            cell(r, 0.1, 0.35), cell(r, 0.35, 0.8), cell(r, 0.8, 4), cell(r, 4, 1e9), hands[r]
    }
}
