# Where theta ended in short sequences, in long ones, and in long ones after short ones, from
# theta-stages.csv.

NR == 1 { next }
{ theta[$1, ++n[$1]] = $3; accuracy[$1, n[$1]] = $4; error = $3 / (6.283185307179586 / 5) - 1; found[$1] += error * error < 1e-4 }
END {
    split("12 32 second", stages, " ")
    told[12] = "T = 12"; told[32] = "T = 32"; told["second"] = "T = 32, from the models of T = 12"
    print "| training | where θ ended, for 1.2566 | found to 1 % | accuracy |"
    print "|---|---|---|---|"
    for (s = 1; s <= 3; s++) {
        text = ""
        for (i = 1; i <= n[stages[s]]; i++) {
            text = text (i > 1 ? ", " : "") sprintf("%.4f", theta[stages[s], i])
            x[i] = accuracy[stages[s], i]
        }
        printf "| %s | %s | %d of %d | %s |\n", told[stages[s]], text, found[stages[s]], n[stages[s]], spread(x, n[stages[s]], "%.3f")
    }
}
