# How far pairs with a function drift and how far those without, from theta-pairs.csv. A pair has a
# function in a run if ln theta cannot go by 1 in one direction without being noticed; it has none
# if it can go as far as was tried, in both.
#
#     awk -F, -f statistics.awk -f floor.awk theta-pairs.csv

NR == 1 || $9 == "" { next } # not measured

{
    if (!($1 in known)) { known[$1]; order[++tasks] = $1 }
    kind = $9 < 1 || $10 < 1 ? "with" : $9 >= 3 && $10 >= 3 ? "without" : "between"
    n[$1, kind]++; squares[$1, kind] += $6 * $6
    beyond[$1] += $6 > 0 ? $6 > $9 : -$6 > $10
    all[$1]++
}

function root(task, kind) {
    return n[task, kind] ? sprintf("%.3f (%d)", sqrt(squares[task, kind] / n[task, kind]), n[task, kind]) : "–"
}

END {
    print "| task | with a function | between | without | beyond its tolerance |"
    print "|---|---|---|---|---|"
    for (t = 1; t <= tasks; t++)
        print "| " order[t] " | " root(order[t], "with") " | " root(order[t], "between") " | " \
            root(order[t], "without") " | " beyond[order[t]] + 0 " of " all[order[t]] " |"
}
