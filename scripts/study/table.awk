# A table of a sweep (sweep.csv) in Markdown:
#
#     awk -v columns='SPEC;SPEC;...' -f csv-table.awk sweep.csv
#
# SPEC is COLUMN=HEADING for a column as it stands, or NAME:FORMAT=HEADING for a result, as mean
# and standard deviation over the seeds; "(k of n)" follows if only some runs have it.

BEGIN { FS = ","; count = split(columns, specs, ";") }

function field(name) { return name in at ? $at[name] : "" }

function number(x, format) { return sprintf(format, x) }

function cell(name, format,    mean, sd, n) {
    mean = field(name "_mean"); sd = field(name "_sd"); n = field(name "_n")
    if (mean == "") return "–"
    mean = number(mean, format)
    if (sd != "") mean = mean " ± " number(sd, format)
    if (n != "" && n + 0 < field("runs") + 0) mean = mean " (" n " of " field("runs") ")"
    return mean
}

NR == 1 {
    for (i = 1; i <= NF; i++) at[$i] = i
    line = "|"; rule = "|"
    for (c = 1; c <= count; c++) {
        split(specs[c], part, "=")
        line = line " " part[2] " |"; rule = rule "---|"
    }
    print line; print rule
    next
}

{
    line = "|"
    for (c = 1; c <= count; c++) {
        split(specs[c], part, "=")
        if (split(part[1], name, ":") == 2) line = line " " cell(name[1], name[2]) " |"
        else line = line " " field(part[1]) " |"
    }
    print line
}
