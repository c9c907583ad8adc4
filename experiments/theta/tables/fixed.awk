# How soon reverse is learned with theta fixed, from theta.csv (fixed at base^(-2i/d), and learned)
# and theta-fixed.csv (variants KIND-SEED):
#
#     awk -F, -f statistics.awk -f fixed.awk theta.csv theta-fixed.csv

FNR == 1 { file++; for (i = 1; i <= NF; i++) at[$i] = i; next }

file == 1 && $at["variant"] == "reverse" {
    first[$at["theta.learn"] == "no" ? "base" : "free", $at["run.seed"]] = $at["first_step_with_accuracy_0.99"]
}
file == 2 {
    split($at["variant"], part, "-")
    first[part[1], part[2]] = $at["first_step_with_accuracy_0.99"]
}

END {
    split("base learned flipped signs free", kinds, " ")
    told["base"] = "base^(-2i/d)"; told["learned"] = "where the same seed learned it"
    told["flipped"] = "that drift, flipped"; told["signs"] = "that drift, signs by chance"
    told["free"] = "not fixed: learned"
    print "| θ fixed at | runs that reach 99 % | steps to 99 % | less those at base^(-2i/d) [95 %] | detectable | fewer / more | chance |"
    print "|---|---|---|---|---|---|---|"
    for (k = 1; k <= 5; k++) {
        n = pairs = less = more = 0
        for (s = 1; s <= 10; s++) {
            tried[k] += (kinds[k], s) in first
            if (first[kinds[k], s] == "") continue
            x[++n] = first[kinds[k], s]
            if (first["base", s] == "") continue
            d[++pairs] = x[n] - first["base", s]
            less += d[pairs] < 0; more += d[pairs] > 0
        }
        printf "| %s | %d of %d | %s | %s |\n", told[kinds[k]], n, tried[k], spread(x, n, "%.0f"),
            k == 1 ? "– | – | – | –" : interval(d, pairs, "%+.0f") " | " smallest(d, pairs, "%.0f") " | " less " / " more " | " chance(sign_test(less, less + more))
    }
}
