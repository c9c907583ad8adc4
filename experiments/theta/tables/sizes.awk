# What learning theta does to the loss, by the size of the training: the registered runs and what others published.
#
#     awk -F, -f statistics.awk -f sizes.awk registered/results/runs.csv published_gains.csv
#
# The registered runs have 1,000 steps of eight sequences of 128 bytes.

FNR == 1 { file++; next }
file == 1 {
    if ($1 == "small" || $1 == "middle") {
        loss[$1, $2, $3] = $7
        if ($3 == "learned") { count[$1]++; unit[$1, count[$1]] = $2 }
    }
    next
}
{
    lines[++published] = sprintf("| %s | %s | %s | %s | %s | %s | %s |", $1, millions($2), $3, steps($4), $5, \
        sprintf("%+.4f", -$6) ($7 == "" ? "" : sprintf(" [%+.4f, %+.4f]", -$8, -$7)), $10)
}

function millions(text) { return text ~ /e6$/ ? substr(text, 1, length(text) - 2) " M" : text }

function steps(text) { return text ~ /^[0-9]+000$/ ? substr(text, 1, length(text) - 3) ",000 steps" : text }

function registered(row, name, parameters,    i, x) {
    for (i = 1; i <= count[row]; i++) x[i] = loss[row, unit[row, i], "learned"] - loss[row, unit[row, i], "fixed"]
    printf "| registered, %s | %s | 128 | 1.0 million tokens | %d | %s | no |\n", name, parameters, count[row], \
        interval(x, count[row], "%+.4f")
}

END {
    print "| training | parameters | T | length of training | pairs of runs | learned less fixed, nats [95 %] | second hand |"
    print "|---|---|---|---|---|---|---|"
    registered("small", "2 × 64", "0.16 M")
    registered("middle", "4 × 128", "1.1 M")
    for (i = 1; i <= published; i++) print lines[i]
}
