# The verdicts of all claims, from lines "verdict: NAME: ...", and how many of each kind there are.

BEGIN {
    FS = ": "
    count = split("lerope adarope rate width prope partial ropeid bands drope", order, " ")
    claim["lerope"] = "one learned scalar for each frequency lowers the loss (LeRoPE)"
    claim["adarope"] = "frequencies and factors learned for each head lower it (AdaRoPE)"
    claim["rate"] = "a learned θ with a learning rate of its own lowers it"
    claim["width"] = "for dependencies of width W the best frequency goes as 1/W"
    claim["prope"] = "rotating the fastest three quarters lowers the loss (p-RoPE)"
    claim["partial"] = "rotating a tenth of the dimensions converges as well"
    claim["ropeid"] = "with fast pairs only, longer inputs do better (RoPE-ID)"
    claim["bands"] = "a base of about the training length extrapolates better (frequency bands)"
    claim["drope"] = "with positions dropped after training, longer inputs do better (DroPE)"
}
{ verdict[$2] = $3 }
END {
    print "| name | claim | verdict here |"
    print "|---|---|---|"
    for (k = 1; k <= count; k++)
        if (order[k] in verdict) print "| `" order[k] "` | " claim[order[k]] " | " verdict[order[k]] " |"
    kinds = split("reproduced,smaller than X,inconclusive,contradicted in this regime,premise not met,not run", kind, ",")
    for (k = 1; k <= count; k++)
        for (j = 1; j <= kinds; j++) {
            known = kind[j] == "smaller than X" ? verdict[order[k]] ~ /^smaller than/ : verdict[order[k]] == kind[j]
            if (known) { total[j]++; names[j] = names[j] (names[j] == "" ? "" : ", ") "`" order[k] "`" }
        }
    for (j = 1; j <= kinds; j++)
        line = line (j == 1 ? "" : "; ") kind[j] ": " total[j] + 0 (total[j] ? " (" names[j] ")" : "")
    print ""
    print line "."
}
