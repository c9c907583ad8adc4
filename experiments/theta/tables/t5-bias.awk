# What t5 adds to the scores by distance, from t5-bias.csv. The first 16 buckets hold a distance each,
# the others up to the 27th end at 66: no other distance is in a sequence of 64 tokens.
#
#     awk -F, -f statistics.awk -f t5-bias.awk t5-bias.csv

NR == 1 { next }

{
    group = $2 == 0 ? 1 : $2 < 4 ? 2 : $2 < 16 ? 3 : $2 < 27 ? 4 : 5
    x[group, ++n[group]] = $4
}

END {
    split("0|1 to 3|4 to 15|16 to 63|64 and more, never seen", told, "|")
    print "| distance | added to the score |"
    print "|---|---|"
    for (g = 1; g <= 5; g++) {
        for (k = 1; k <= n[g]; k++) y[k] = x[g, k]
        printf "| %s | %s |\n", told[g], spread(y, n[g], "%+.2f")
    }
}
