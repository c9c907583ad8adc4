# The tables of the registered experiment (README.md, "What decides").
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
    rate[$4] = $5
    if ($1 == "twice") { twice[$4, seed] = $7; twice_seeds[$4] = twice_seeds[$4] " " seed }
    if (!((($1), seed) in known)) { known[$1, seed]; seeds[$1] = seeds[$1] " " seed }
}

# Differences of an arm of a row less an arm of another row with the same seeds.
function differences(row, arm, base_row, base, x,    list, n, i, count) {
    n = split(seeds[row], list, " ")
    for (i in x) delete x[i]
    for (i = 1; i <= n; i++)
        if ((row, arm, list[i]) in loss && (base_row, base, list[i]) in loss)
            x[++count] = loss[row, arm, list[i]] - loss[base_row, base, list[i]]
    return count + 0
}

# One line of a table, kept until p is corrected.
function compare(family, row, arm, base_row, base,    n, i, lower, x) {
    n = differences(row, arm, base_row, base, x)
    if (n < 2) return 0
    for (i = 1; i <= n; i++) lower += x[i] < 0
    lines++
    of_family[lines] = family
    p[lines] = t_test(x, n)
    text[lines] = row " | " arm " less " base " | " n " | " interval(x, n, "%+.4f") " | " smallest(x, n, "%.4f") " | " \
        lower + 0 " / " n - lower
    low[lines] = mean - half; high[lines] = mean + half; mean_of[lines] = mean
    error_of[lines] = half / t_bound(n - 1); pairs_of[lines] = n
    row_of[lines] = row
    return lines
}

# Holm's correction within a family.
function holm(line,    i, k, count, order, largest, q) {
    for (i = 1; i <= lines; i++) {
        if (of_family[i] != of_family[line]) continue
        for (k = ++count; k > 1 && p[order[k - 1]] > p[i]; k--) order[k] = order[k - 1]
        order[k] = i
    }
    for (k = 1; k <= count; k++) {
        q = p[order[k]] * (count - k + 1)
        if (q > largest) largest = q
        if (order[k] == line) return largest < 1 ? largest : 1
    }
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
    return worth_text
}

function judge(line, size) {
    if (high[line] < 0) return "reproduced"
    if (low[line] > 0) return "contradicted in this regime"
    if (worth_mean && -low[line] < worth_mean * log(1.034) / log(2)) return sprintf("smaller than %.4f nats", -low[line])
    return "inconclusive"
}

END {
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
    print "| row | difference | pairs | loss [95 %] | detectable | lower / higher | p | Holm, in its family |"
    print "|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= lines; i++) print "| " text[i] " | " chance(p[i]) " | " chance(holm(i)) " |"
    print ""
    print "| size | verdict | worth of twice the steps [95 %] | gain in compute [95 %] |"
    print "|---|---|---|---|"
    for (s = 1; s <= 3; s++) {
        if (!(i = main[s])) continue
        told = worth(sizes[s])
        share = "–"
        if (worth_mean) share = sprintf("%+.1f %% [%+.1f, %+.1f]", 100 * (2 ^ (-mean_of[i] / worth_mean) - 1), \
            100 * (2 ^ (-high[i] / worth_mean) - 1), 100 * (2 ^ (-low[i] / worth_mean) - 1))
        print "| " sizes[s] " | " judge(i) " | " told " | " share " |"
        w = 1 / error_of[i] ^ 2; x = log(parameters[sizes[s]]) / log(10)
        sw += w; sx += w * x; sy += w * mean_of[i]; sxx += w * x * x; sxy += w * x * mean_of[i]; n++
    }
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
        printf "\nafter 4,000 steps: %s; less the difference after 1,000: %+.4f [%+.4f, %+.4f]\n", judge(last), d, \
            d - t_bound(nu) * sqrt(a + b), d + t_bound(nu) * sqrt(a + b)
    }
    for (row in failed_runs) print "\nruns of " row " that did not end: " failed_runs[row]
}
