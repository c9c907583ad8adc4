# A result at two values of a column side by side, and their difference seed by seed: its mean, the
# interval of 95 % (t, n - 1) and the smallest difference that as many pairs show in 90 of 100 cases.
#
#     awk -F, -v row=COLUMN -v column=COLUMN -v heading=NAME -f statistics.awk -f beside.awk runs.csv
#
# The result is the accuracy, or another column with -v result=COLUMN; the values of `column` are in
# the order of the file.

NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    if (!result) result = "eval_accuracy"
    if (!(row in at && column in at && "run.seed" in at && result in at)) { failed = 1; exit 1 }
    next
}
$at[result] != "" {
    r = $at[row]; c = $at[column]; s = $at["run.seed"]
    if (!(r in rows)) { rows[r]; row_order[++row_count] = r }
    if (!(c in columns)) { columns[c]; column_order[++column_count] = c }
    if (!(s in seeds)) { seeds[s]; seed_order[++seed_count] = s }
    found[r, c, s] = $at[result]
}

function cell(r, c,    i, n, x) {
    for (i = 1; i <= seed_count; i++)
        if ((r, c, seed_order[i]) in found) x[++n] = found[r, c, seed_order[i]]
    return spread(x, n, "%.3f")
}

function differences(r, a, b,    i, s, n, x, up, down) {
    for (i = 1; i <= seed_count; i++) {
        s = seed_order[i]
        if (!((r, a, s) in found && (r, b, s) in found)) continue
        x[++n] = found[r, b, s] - found[r, a, s]
        up += x[n] > 0; down += x[n] < 0
    }
    return interval(x, n, "%+.3f") " | " smallest(x, n, "%.3f") " | " up + 0 " / " down + 0
}

END {
    if (failed || column_count != 2) { print FILENAME ": not two values to set side by side" >"/dev/stderr"; exit 1 }
    a = column_order[1]; b = column_order[2]
    print "| " heading " | " a " | " b " | " b " less " a " [95 %] | detectable | higher / lower |"
    print "|---|---|---|---|---|---|"
    for (i = 1; i <= row_count; i++) {
        r = row_order[i]
        print "| " r " | " cell(r, a) " | " cell(r, b) " | " differences(r, a, b) " |"
    }
}
