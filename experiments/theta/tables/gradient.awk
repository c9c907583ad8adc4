# The norm of theta's gradient beside that of all, from gradient.csv.

NR == 1 { print "| task | θ, first fifth | all | θ, last fifth | all |"; print "|---|---|---|---|---|"; next }
{ t[$1, $2] = $3; g[$1, $2] = $4; if (!($1 in known)) { known[$1]; order[++n] = $1 } }
END {
    for (i = 1; i <= n; i++)
        printf "| %s | %.2g | %.2g | %.2g | %.2g |\n", order[i], t[order[i], "first"],
            g[order[i], "first"], t[order[i], "last"], g[order[i], "last"]
}
