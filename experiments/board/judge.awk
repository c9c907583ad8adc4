# The cells of the board, from its encodings (of the board, then of the results), questions and runs.csv.
# README.md has the rule. Writes `cells`, a CSV, and `boxes` and `heads`, which board.gp draws.

function option(name,    i, words, pair) { # of a line of questions
    split(line, words, " ")
    for (i in words) {
        split(words[i], pair, "=")
        if (pair[1] == name) return pair[2]
    }
    return ""
}

# The result of a question in the current row of runs.csv, or "" if the run has none.
function result_of(q,    i, n, names, sum) {
    n = split(result[q], names, "+")
    for (i = 1; i <= n; i++) {
        if (!(names[i] in at) || $at[names[i]] == "") return ""
        sum += $at[names[i]] / n
    }
    if (less[q] == "") return sum
    return (less[q] in at) && $at[less[q]] != "" ? sum - $at[less[q]] : ""
}

BEGIN {
    seeds = split("8011 8012 8013 8014 8015", seed, " ")
    reference = "rope"
    far = 0.03
}
FNR == 1 { file++ }
/^#/ { next }
file <= 3 {
    line = $0
    if (!match(line, /^[A-Za-z0-9-]+:/)) next
    name = substr(line, 1, RLENGTH - 1)
    if (file == 1) registered++
    if (file == 2) { encodings[++rows] = name; marked[name] = line ~ / #/ ? "*" : "" }
    if (file == 3) {
        question[++questions] = name
        training[name] = option("training"); result[name] = option("result"); less[name] = option("less")
        higher[name] = option("better") == "higher"
        if (!((training[name]) in of_training)) {
            trainings[++training_count] = training[name]
            of_training[training[name]]
        }
    }
    next
}
FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
{
    if ($at["parameters"] != "") parameters[$1, $3] = $at["parameters"]
    if (!($1 in of_training)) next # a pilot
    rate[$1, $3] = $at["lr"]
    if ($at["exit_code"] != 0) failed[$1]++
    for (q = 1; q <= questions; q++)
        if (training[question[q]] == $1 && (x = result_of(question[q])) != "")
            value[question[q], $3, $at["seed"]] = x
}

# ---- cells ----

# The standard deviation over all judged runs of a question.
function column_spread(q,    r, s, key, n, sum, squares) {
    for (r = 1; r <= rows; r++)
        for (s = 1; s <= seeds; s++) {
            key = q SUBSEP encodings[r] SUBSEP seed[s]
            if (key in value) { n++; sum += value[key] }
        }
    if (n < 2) return 0
    for (r = 1; r <= rows; r++)
        for (s = 1; s <= seeds; s++) {
            key = q SUBSEP encodings[r] SUBSEP seed[s]
            if (key in value) squares += (value[key] - sum / n) ^ 2
        }
    return sqrt(squares / (n - 1))
}

# Sets the numbers of a cell. `told` is better, worse or open; of a cell that has not all seeds: missing.
function make_cell(e, q,    s, n, pairs, x, total, key) {
    for (s = 1; s <= seeds; s++) {
        if (!((q, e, seed[s]) in value)) continue
        n++; total += value[q, e, seed[s]]
        if ((q, reference, seed[s]) in value) x[++pairs] = value[q, e, seed[s]] - value[q, reference, seed[s]]
    }
    key = e SUBSEP q
    cell_n[key] = n + 0
    if (n) cell_mean[key] = total / n
    cell_told[key] = n == seeds && (e == reference || pairs == seeds) ? "open" : "missing"
    if (pairs < 2 || e == reference) return
    paired(x, pairs, rows - 1)
    cell_difference[key] = mean; cell_low[key] = mean - half; cell_high[key] = mean + half
    cell_seen[key] = detectable
    cell_better[key] = higher[q] == (mean > 0)
    if (cell_told[key] == "open" && (cell_low[key] > 0 || cell_high[key] < 0))
        cell_told[key] = cell_better[key] ? "better" : "worse"
}

function text_of(e, q,    key) {
    key = e SUBSEP q
    if (!cell_n[key]) return "–"
    if (cell_told[key] == "missing") return sprintf("– (%d of %d)", cell_n[key], seeds)
    if (e == reference) return sprintf("%.3f", cell_mean[key])
    return sprintf("%s%+.3f (%s)", arrow(key), cell_difference[key], cell_seen[key] ? sprintf("%.3f", cell_seen[key]) : "–")
}

function arrow(key) { return cell_told[key] == "better" ? "▲ " : cell_told[key] == "worse" ? "▼ " : "" }

# ---- predictions, whose rules are in predictions.awk ----

function has(e, q) {
    if ((e, q) in cell_told && cell_told[e, q] != "missing") return 1
    absent = 1
    return 0
}
function told(e, q) { return has(e, q) ? cell_told[e, q] : "" }
function mean_of(e, q) { return has(e, q) ? cell_mean[e, q] : 0 }
function difference(e, q) { return has(e, q) ? cell_difference[e, q] : 0 }
function size_of(e, q,    d) { d = difference(e, q); return d < 0 ? -d : d }
function seen(e, q) { return has(e, q) ? cell_seen[e, q] : 0 }
function predict(what) { prediction = what; needed = kept = absent = 0 }
function need(condition) { needed++; kept += condition ? 1 : 0 }
function close_prediction() {
    printf "| %s | %s |\n", prediction, absent ? "not run" : kept == needed ? "holds" : \
        sprintf("does not hold: %d of %d conditions", kept, needed)
}

# ---- the figure ----

function hex(a, b, share) { return sprintf("%02x", int(a + (b - a) * share + 0.5)) }

# A colour between two of them. Better is dark and worse is light, also in gray.
function shade(is_better, share) {
    return is_better ? hex(75, 8, share) hex(135, 48, share) hex(190, 107, share) : \
        hex(255, 250, share) hex(240, 190, share) hex(220, 110, share)
}

function short(x, sign,    size) {
    size = x < 0 ? -x : x
    x = sprintf("%" sign (size < 0.9995 ? ".3f" : size < 99.5 ? ".2f" : ".0f"), x)
    if (x + 0 == 0) x = "0"
    sub(/-/, "−", x)
    return x
}

function draw_cell(e, q, r, c,    key, fill, ink, label, share) {
    key = e SUBSEP q
    fill = "ffffff"; ink = "666666"
    if (cell_told[key] == "missing") label = "–"
    else if (e == reference) { label = short(cell_mean[key], ""); ink = "000000" }
    else {
        label = short(cell_difference[key], "+")
        if (cell_told[key] != "open") {
            share = cell_difference[key] / (column_sd[q] ? column_sd[q] : 1)
            share = (share < 0 ? -share : share) / 2
            if (share > 1) share = 1
            fill = shade(cell_better[key], share)
            ink = cell_better[key] ? "ffffff" : "000000"
            label = (cell_better[key] ? "▲" : "▼") label
        }
    }
    printf "%d\t%d\t%d\t%d\t%s\n", c, r, number("0x" fill), number("0x" ink), label >boxes
}

function number(text,    i, n) { # of 0xRRGGBB, which awk need not read
    for (i = 3; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return n
}

# ---- everything ----

END {
    for (q = 1; q <= questions; q++) {
        column_sd[question[q]] = column_spread(question[q])
        for (r = 1; r <= rows; r++) make_cell(encodings[r], question[q])
    }

    print "question,encoding,n,mean,difference,low,high,seen,told,spread" >cells
    line = "| encoding |"; rule = "|---|"
    for (q = 1; q <= questions; q++) {
        line = line " " question[q] (higher[question[q]] ? " ↑" : " ↓") " |"; rule = rule "---|"
        what = result[question[q]] ~ /loss/ ? "loss" : result[question[q]] ~ /exact/ ? "exact" : "accuracy"
        printf "%d\t0\t%s\t%s\n", q, two_lines(question[q]), what (higher[question[q]] ? " ↑" : " ↓") >heads
    }
    print line; print rule
    for (r = 1; r <= rows; r++) {
        e = encodings[r]
        line = "| " e marked[e] " |"
        printf "0\t%d\t%s\t\n", r, e marked[e] (e == reference ? " (its mean)" : "") >heads
        for (q = 1; q <= questions; q++) {
            key = e SUBSEP question[q]
            line = line " " text_of(e, question[q]) " |"
            draw_cell(e, question[q], r, q)
            printf "%s,%s,%d", question[q], e, cell_n[key] >cells
            printf cell_n[key] ? ",%.9g" : ",%s", cell_mean[key] >cells
            printf key in cell_difference ? ",%.9g,%.9g,%.9g,%.9g" : ",%s,%s,%s,%s", cell_difference[key],
                cell_low[key], cell_high[key], cell_seen[key] >cells
            printf ",%s,%.9g\n", e == reference ? "" : cell_told[key], column_sd[question[q]] >cells
        }
        print line
    }

    print ""
    line = "| encoding | parameters |"; rule = "|---|---|"
    for (t = 1; t <= training_count; t++) { line = line " " trainings[t] " |"; rule = rule "---|" }
    print line; print rule
    for (r = 1; r <= rows; r++) {
        e = encodings[r]; most = ""
        for (t = 1; t <= training_count; t++)
            if (((trainings[t], e) in parameters) && ((trainings[t], reference) in parameters)) {
                more = parameters[trainings[t], e] / parameters[trainings[t], reference] - 1
                if (most == "" || more > most) most = more
            }
        line = "| " e marked[e] " | " (most == "" ? "–" : sprintf("%+.1f %%", 100 * most) (most > far ? " !" : "")) " |"
        for (t = 1; t <= training_count; t++)
            line = line " " ((trainings[t], e) in rate ? 1000 * rate[trainings[t], e] : "–") " |"
        print line
    }

    print ""
    print "| prediction | outcome |"; print "|---|---|"
    predictions()
    for (t in failed) printf "\n%d judged runs of %s had a loss that is not finite.\n", failed[t], t
}

function two_lines(name) { return sub(/-/, "\\n", name) ? name : " \\n" name }
