# A table over the runs of a sweep (its runs.csv) in Markdown: a row for each set of values, with
# mean and standard deviation over the runs that share them.
#
#     awk -v columns='SPEC;SPEC;...' [-v where=COLUMN=VALUE] -f statistics.awk -f table.awk runs.csv
#
# SPEC is COLUMN=HEADING for what sets rows apart, NAME:FORMAT=HEADING for a result, or =HEADING for
# the number of runs. "(k of n)" follows if only some runs have the result.

function fail(why) { print FILENAME ": " why >"/dev/stderr"; failed = 1; exit 1 }

BEGIN { FS = ","; count = split(columns, specs, ";"); split(where, wanted, "=") }

NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    line = "|"; rule = "|"
    for (c = 1; c <= count; c++) {
        split(specs[c], part, "=")
        line = line " " part[2] " |"; rule = rule "---|"
        results[c] = split(part[1], name, ":") == 2
        column[c] = results[c] ? name[1] : part[1]; format[c] = name[2]
        if (column[c] && !(column[c] in at)) fail("no column " column[c])
    }
    print line; print rule
    next
}

function value(name) { return name in at ? $at[name] : "" }

where && value(wanted[1]) != wanted[2] { next }

{
    key = ""
    for (c = 1; c <= count; c++) if (!results[c] && column[c]) key = key SUBSEP value(column[c])
    if (!(key in runs)) { order[++rows] = key; for (c = 1; c <= count; c++) word[key, c] = value(column[c]) }
    runs[key]++
    for (c = 1; c <= count; c++) {
        x = value(column[c])
        if (!results[c] || x == "") continue
        seen[key, c, ++n[key, c]] = x
    }
}

function cell(key, c,    k, i, x) {
    k = n[key, c]
    for (i = 1; i <= k; i++) x[i] = seen[key, c, i]
    return spread(x, k, format[c]) (k && k < runs[key] ? " (" k " of " runs[key] ")" : "")
}

END {
    if (failed) exit 1
    for (r = 1; r <= rows; r++) {
        line = "|"
        for (c = 1; c <= count; c++)
            line = line " " (results[c] ? cell(order[r], c) : column[c] ? word[order[r], c] : runs[order[r]]) " |"
        print line
    }
}
