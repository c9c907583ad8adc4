# The tables of the registered experiment (README.md, "What decides"). Added after the results, as
# ../README.md says: accuracy, the simultaneous intervals of docs/studies.md, the interval of the gain in
# compute with the error of the worth, what the sizes have together, and what a reset costs.
#
#     awk -F, -f statistics.awk -f analyse.awk runs.csv

NR == 1 { next }
{
    if ($6 != 0) failed_runs[$1]++
    if ($1 == "rates") { rate_sum[$4, $5] += $7; rate_n[$4, $5]++; next }
    if ($6 != 0 || $7 == "") next
    split($2, name, "-")
    seed = name[2] == "" ? $2 : name[2]
    loss[$1, $3, seed] = $7
    accuracy[$1, $3, seed] = 100 * $8
    if ($3 == "learned") {
        reset[$1, seed] = $12 - $7
        drift[$1] += $11; needed[$1] += $14; learned[$1]++
    }
    rate[$4] = $5
    if ($1 == "twice") { twice[$4, seed] = $7; twice_seeds[$4] = twice_seeds[$4] " " seed }
    if (!((($1), seed) in known)) { known[$1, seed]; seeds[$1] = seeds[$1] " " seed }
}

# Differences in loss or accuracy of an arm of a row less an arm of another row with the same seeds.
function differences(row, arm, base_row, base, x, result,    list, n, i, count) {
    n = split(seeds[row], list, " ")
    for (i in x) delete x[i]
    for (i = 1; i <= n; i++)
        if ((row, arm, list[i]) in loss && (base_row, base, list[i]) in loss)
            x[++count] = result == "accuracy" ? \
                accuracy[row, arm, list[i]] - accuracy[base_row, base, list[i]] : \
                loss[row, arm, list[i]] - loss[base_row, base, list[i]]
    return count + 0
}

# One line of a table, kept until p is corrected.
function compare(family, row, arm, base_row, base,    n, i, lower, x) {
    n = differences(row, arm, base_row, base, x)
    if (n < 2) return 0
    for (i = 1; i <= n; i++) lower += x[i] < 0
    lines++
    p[lines] = t_test(x, n)
    m = family_of[family]
    text[lines] = row " | " arm " less " base " | " n " | " interval(x, n, "%+.4f") " | " smallest(x, n, "%.4f") " | " \
        lower + 0 " / " n - lower " | " simultaneous(x, n, "%+.4f", m) " | " chance(p[lines]) " | " \
        chance(in_family(p[lines], m)) " of " m
    simultaneous_low[lines] = mean - half; simultaneous_high[lines] = mean + half
    paired(x, n)
    low[lines] = mean - half; high[lines] = mean + half; mean_of[lines] = mean
    error_of[lines] = half / t_bound(n - 1); pairs_of[lines] = n
    n = differences(row, arm, base_row, base, x, "accuracy")
    text[lines] = text[lines] " | " interval(x, n, "%+.2f")
    return lines
}

# The worth of twice the steps at a size: sets worth_mean, 0 if it was not measured.
function worth(size,    list, n, i, x, count) {
    n = split(twice_seeds[size], list, " ")
    for (i = 1; i <= n; i++)
        if ((size, "fixed", list[i]) in loss) x[++count] = loss[size, "fixed", list[i]] - twice[size, list[i]]
    worth_mean = 0
    if (count < 2) return "not measured"
    worth_text = interval(x, count, "%.4f")
    worth_mean = mean
    worth_error = standard_error; worth_pairs = count
    return worth_text
}

# The gain in compute at a size with Fieller's interval: t of the worth, which has fewer pairs.
function share_of_compute(line) {
    if (!worth_mean || !fieller(-mean_of[line], error_of[line], worth_mean, worth_error, t_bound(worth_pairs - 1)))
        return "–"
    return sprintf("%+.1f %% [%+.1f, %+.1f]", 100 * (2 ^ (-mean_of[line] / worth_mean) - 1), \
        100 * (2 ^ ratio_low - 1), 100 * (2 ^ ratio_high - 1))
}

# The verdict on a claimed gain of `published` nats, or of any size (0).
function judge(low, high, published) {
    if (high < 0) return published && (-low < published || -high > published) ? "reproduced in direction" : "reproduced"
    if (low > 0) return "contradicted in this regime"
    if (worth_mean && -low < worth_mean * log(1.034) / log(2)) return sprintf("smaller than %.4f nats", -low)
    return "inconclusive"
}

# What a reset of theta costs the models of a row, its ratio to what learning gains, and the rule.
function print_reset(line, row,    list, n, i, x, count, higher) {
    n = split(seeds[row], list, " ")
    for (i = 1; i <= n; i++)
        if ((row, list[i]) in reset) { x[++count] = reset[row, list[i]]; higher += x[count] > 0 }
    text_of_reset = interval(x, count, "%+.4f")
    printf "| %s | %s | %.2f | %s | %d of %d | %.0f | %d of %d |\n", row, rate[row], drift[row] / learned[row], \
        text_of_reset, higher, count, mean / -mean_of[line], needed[row], learned[row]
}

# The difference of two sizes (Welch), and their mean weighted by 1 / SE^2.
function compare_sizes(i, j,    a, b, nu, d) {
    a = error_of[i] ^ 2; b = error_of[j] ^ 2
    nu = int((a + b) ^ 2 / (a ^ 2 / (pairs_of[i] - 1) + b ^ 2 / (pairs_of[j] - 1)))
    d = mean_of[j] - mean_of[i]
    printf "\nmiddle less small: %+.4f [%+.4f, %+.4f], p = %s; both together: %+.4f [%+.4f, %+.4f]\n", d, \
        d - t_bound(nu) * sqrt(a + b), d + t_bound(nu) * sqrt(a + b), \
        chance(1 - t_within((d < 0 ? -d : d) / sqrt(a + b), nu)), \
        (mean_of[i] / a + mean_of[j] / b) / (1 / a + 1 / b), \
        (mean_of[i] / a + mean_of[j] / b - 1.96 * sqrt(1 / a + 1 / b)) / (1 / a + 1 / b), \
        (mean_of[i] / a + mean_of[j] / b + 1.96 * sqrt(1 / a + 1 / b)) / (1 / a + 1 / b)
}

END {
    # The number of comparisons that each family was planned to have.
    family_of["primary"] = 3; family_of["placebo"] = 2; family_of["controls"] = 10; family_of["long"] = 1
    split("small middle large", sizes, " ")
    parameters["small"] = 0.16e6; parameters["middle"] = 1.1e6; parameters["large"] = 4.3e6
    print "| size | rate | mean loss of three | chosen |"
    print "|---|---|---|---|"
    for (s = 1; s <= 3; s++)
        for (k = split("1e-3 2e-3 4e-3", rates, " "); k > 0; k--)
            if ((sizes[s], rates[k]) in rate_n)
                printf "| %s | %s | %.4f | %s |\n", sizes[s], rates[k], \
                    rate_sum[sizes[s], rates[k]] / rate_n[sizes[s], rates[k]], rates[k] == rate[sizes[s]] ? "yes" : ""
    for (s = 1; s <= 3; s++) main[s] = compare("primary", sizes[s], "learned", sizes[s], "fixed")
    compare("placebo", "middle", "placebo", "middle", "fixed")
    compare("placebo", "middle", "learned", "middle", "placebo")
    count = split("frozen base100 base1000 layer head", arms, " ")
    for (k = 1; k <= count; k++) {
        compare("controls", "controls", arms[k], "middle", "fixed")
        compare("controls", "controls", arms[k], "middle", "learned")
    }
    last = compare("long", "long", "learned", "long", "fixed")
    print ""
    print "| row | difference | pairs | loss [95 %] | detectable | lower / higher | simultaneous | p | in its family | accuracy, points [95 %] |"
    print "|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= lines; i++) print "| " text[i] " |"
    print ""
    print "| size | verdict as registered | by the rule of all studies | worth of twice the steps [95 %] | gain in compute [95 %] |"
    print "|---|---|---|---|---|"
    for (s = 1; s <= 3; s++) {
        if (!(i = main[s])) continue
        told = worth(sizes[s])
        print "| " sizes[s] " | " judge(low[i], high[i]) " | " \
            judge(simultaneous_low[i], simultaneous_high[i], worth_mean * log(1.034) / log(2)) " | " \
            told " | " share_of_compute(i) " |"
        w = 1 / error_of[i] ^ 2; x = log(parameters[sizes[s]]) / log(10)
        sw += w; sx += w * x; sy += w * mean_of[i]; sxx += w * x * x; sxy += w * x * mean_of[i]; n++
    }
    print ""
    print "| size | learning rate | mean change | loss with θ reset less without [95 %] | higher | times the gain | depend on θ |"
    print "|---|---|---|---|---|---|---|"
    for (s = 1; s <= 3; s++) if (main[s]) print_reset(main[s], sizes[s])
    if (main[1] && main[2]) compare_sizes(main[1], main[2])
    if (n == 3) {
        slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx)
        error = sqrt(sw / (sw * sxx - sx * sx))
        printf "\nslope of the difference on log10 of the parameters: %+.4f [%+.4f, %+.4f]\n", slope, \
            slope - 1.96 * error, slope + 1.96 * error
    }
    if (last && main[2]) {
        a = error_of[last] ^ 2; b = error_of[main[2]] ^ 2
        nu = int((a + b) ^ 2 / (a ^ 2 / (pairs_of[last] - 1) + b ^ 2 / (pairs_of[main[2]] - 1)))
        d = mean_of[last] - mean_of[main[2]]
        worth_mean = 0
        printf "\nafter 4,000 steps: %s; less the difference after 1,000: %+.4f [%+.4f, %+.4f]\n", judge(low[last], high[last]), d, \
            d - t_bound(nu) * sqrt(a + b), d + t_bound(nu) * sqrt(a + b)
    }
    for (row in failed_runs) print "\nruns of " row " that did not end: " failed_runs[row]
}
