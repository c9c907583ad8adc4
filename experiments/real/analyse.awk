# The tables of the page on a pretrained model (README.md, "What decides"). A row is shown when it has ended.
#
#     awk -F, -f statistics.awk -f analyse.awk runs.csv losses.csv gradients.csv usage.csv
#
# With -v points=1, for the figure, of each pair: turns in 512 tokens, and minus the gradient with its interval.

BEGIN { pairs = 32; layers = 30; base = 100000; windows = 8; split("64 512 1900", lengths, " ") }
FNR == 1 { file++; next }
file == 1 { if ($4 == 0) { ended[$1]++; if ($1 == "tuning") tuned[$3, $2] = $5 } next }
file == 2 { loss[$1, $2, $3, $4] = $5; next }
file == 3 && $1 == "gradient" && $3 == "model" { add_gradient($5, $7, $8, $9); next }
file == 3 && $1 == "cut" { moved[$5] += $7 / layers; next }
file == 4 { product[$4, $5, $6] = $9 * $10; theta[$6] = $7; next }

function turns(i, tokens) { return tokens * exp(-log(base) * i / pairs) / 6.283185307179586 }

# Sums of a pair over parts of the text: the number of sequences, the sum and the sum of squares.
function add_gradient(i, mean, deviation, n) {
    count[i] += n
    sum[i] += n * mean
    squares[i] += (n - 1) * deviation ^ 2 + n * mean ^ 2
}

# Sets `mean` and `half` of a pair's gradient, simultaneous in a family of all pairs.
function gradient_of(i,    n, error) {
    n = count[i]
    mean = sum[i] / n
    error = sqrt((squares[i] - n * mean ^ 2) / (n - 1) / n)
    half = t_bound(n - 1, pairs) * error
}

# Differences of a unit from the whole model, window by window: their number.
function differences(row, unit, length_, x,    line) {
    for (line = 1; line <= windows; line++)
        x[line] = loss[row, unit, length_, line] - loss["pairs", "whole-0", length_, line]
    return windows
}

function show_usage(    h, l, i, all, slow, fast, slow_heads, fast_heads, n, most, best, at, x, y) {
    for (l = 0; l < layers; l++)
        for (h = 0; h < 9; h++) {
            all = slow = fast = most = 0
            for (i = 0; i < pairs; i++) {
                all += product[l, h, i]
                if (turns(i, 512) < 1) slow += product[l, h, i]
                if (i < pairs / 4) fast += product[l, h, i]
                if (product[l, h, i] > most) { most = product[l, h, i]; best = i }
            }
            x[++n] = slow / all
            y[n] = fast / all
            at[best]++
            slow_heads += slow > all / 2
            fast_heads += fast > all / 2
        }
    print "| pairs | share of the products of norms, over heads | heads with more than half |"
    print "|---|---|---|"
    printf "| less than one turn in 512 tokens | %s | %d of %d |\n", spread(x, n, "%.2f"), slow_heads, n
    printf "| the fastest quarter | %s | %d of %d |\n", spread(y, n, "%.2f"), fast_heads, n
    printf "\nlargest product, pair (heads):"
    for (i = 0; i < pairs; i++) if (at[i]) printf " %d (%d)", i, at[i]
    print "\n"
}

function show_pairs(    i, k, line, kind, x, n, needed) {
    print "| pair | turns in 512 | unrotated, at 64 | at 512 | at 1,900 | from it on, at 512 | θ × 1.1, at 512 | θ × 0.9 |"
    print "|---|---|---|---|---|---|---|---|"
    for (i = 0; i < pairs; i++) {
        line = sprintf("| %d | %.3g |", i, turns(i, 512))
        for (k = 1; k <= 3; k++) {
            n = differences("pairs", "off-" i, lengths[k], x)
            line = line " " interval(x, n, "%+.4f", pairs) " |"
            paired(x, n, pairs)
            needed[k] += mean - half > 0
        }
        for (k = 1; k <= 3; k++) {
            kind = k == 1 ? "from-" : k == 2 ? "up-" : "down-"
            if (k == 1 && i % 2) { line = line " |"; continue }
            n = differences("pairs", kind i, 512, x)
            line = line " " interval(x, n, "%+.4f") " |"
        }
        print line
    }
    print "\nneeded pairs at 64, 512 and 1,900 tokens: " needed[1] + 0 ", " needed[2] + 0 ", " needed[3] + 0 "\n"
}

function show_bands(    i, k, x, n, name, line) {
    split("early middle late", name, " ")
    print "| pair | layers 0 to 9 | 10 to 19 | 20 to 29 |"
    print "|---|---|---|---|"
    for (i = 0; i < pairs; i++) {
        line = "| " i " |"
        for (k = 1; k <= 3; k++) { n = differences("bands", name[k] "-" i, 512, x); line = line " " interval(x, n, "%+.4f") " |" }
        print line
    }
    print ""
}

function claim_on(as_said, other, all) {
    return as_said == all ? "reproduced" : other == all ? "contradicted" : "inconclusive"
}

function show_gradient(    i, t, up, down, all) {
    print "| pair | turns in 512 | gradient of the loss by ln θ [simultaneous 95 %] | ln θ would go |"
    print "|---|---|---|---|"
    for (i = 0; i < pairs; i++) {
        gradient_of(i)
        t = turns(i, 512)
        if (t >= 0.1 && t < 0.35) { all++; down += mean - half > 0; up += mean + half < 0 }
        printf "| %d | %.3g | %+.2e [%+.2e, %+.2e] | %s |\n", i, t, mean, mean - half, mean + half, \
            (mean - half > 0 ? "down" : mean + half < 0 ? "up" : "undecided")
    }
    print "\n| claim | verdict |\n|---|---|"
    printf "| pairs of 0.1 to 0.35 turns go down | %s |\n", claim_on(down, up, all)
    printf "| pairs of 0.1 to 0.35 turns go up | %s |\n\n", claim_on(up, down, all)
}

function show_tuning(    k, seed, n, x, name, verdict) {
    split("learned faster placebo", name, " ")
    print "| difference | seeds | nats [simultaneous 95 %] | detectable | p |\n|---|---|---|---|---|"
    for (k = 1; k <= 3; k++) {
        n = 0
        for (seed = 9001; seed <= 9008; seed++) x[++n] = tuned[name[k], seed] - tuned["fixed", seed]
        printf "| %s less fixed | %d | %s | %s | %s |\n", name[k], n, interval(x, n, "%+.5f", 3), \
            smallest(x, n, "%+.5f", 3), chance(in_family(t_test(x, n), 3))
        paired(x, n, 3)
        if (name[k] == "faster")
            verdict = mean + half < 0 ? "reproduced" : mean - half > 0 ? "contradicted in this regime" : "inconclusive"
    }
    print "\nlearning θ helps when fine-tuning: " verdict "\n"
}

function show_longer() {
    print "| scaling | window 1 | window 2 |\n|---|---|---|"
    printf "| none | %.4f | %.4f |\n", loss["longer", "longer-0", "none", 1], loss["longer", "longer-0", "none", 2]
    printf "| NTK | %.4f | %.4f |\n", loss["longer", "longer-0", "ntk", 1], loss["longer", "longer-0", "ntk", 2]
    printf "| YaRN | %.4f | %.4f |\n\n", loss["longer", "longer-0", "yarn", 1], loss["longer", "longer-0", "yarn", 2]
}

function show_cut(    k, n, i, line, x, tokens) {
    split("512 1024 2048", tokens, " ")
    print "| tokens | as it is | θ cut | θ cut, then learned | learned less cut [95 %] |\n|---|---|---|---|---|"
    for (k = 1; k <= 3; k++) {
        n = tokens[k]
        for (line = 1; line <= windows; line++) {
            x[line] = loss["cut", "9101", "theta_final-" n, line] - loss["cut", "9101", "cut-" n, line]
            whole[k] += loss["cut", "9101", "whole-" n, line] / windows
            cut[k] += loss["cut", "9101", "cut-" n, line] / windows
            learned[k] += loss["cut", "9101", "theta_final-" n, line] / windows
        }
        printf "| %d | %.4f | %.4f | %.4f | %s |\n", n, whole[k], cut[k], learned[k], interval(x, windows, "%+.4f")
    }
    printf "\nmean change of ln θ by pair:"
    for (i = 0; i < pairs; i++) printf " %+.2f", moved[i]
    print ""
}

END {
    if (points) {
        for (i = 0; i < pairs && ended["gradient"] == 8; i++) {
            gradient_of(i)
            print turns(i, 512), -mean, -mean - half, -mean + half
        }
        exit
    }
    if (ended["usage"] == 1) show_usage()
    if (ended["pairs"] == 3 * (1 + 3 * pairs + pairs / 2)) show_pairs()
    if (ended["bands"] == 3 * pairs) show_bands()
    if (ended["gradient"] == 8) show_gradient()
    if (ended["tuning"] == 32) show_tuning()
    if (ended["longer"] == 3) show_longer()
    if (ended["cut"] == 1) show_cut()
}
