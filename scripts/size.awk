# Prints the lines of each folder against its budget: awk -f scripts/size.awk PAGE FILES. The page has rows
# "| FOLDER/, FOLDER/ | BUDGET |" and a row "all"; FILES has lines "PATH LINES". Fails if a folder has no
# budget, or is above it by more than 5 %.

function print_row(name, lines, budget) {
    bad = lines > budget * 1.05
    printf "%-24s %7d %7d %+7d%s\n", name, lines, budget, lines - budget, bad ? "  more than 5 % above the budget" : ""
    failed = failed || bad
}

FNR == NR {
    if (split($0, cells, " *[|] *") == 4 && (cells[2] ~ /\/$/ || cells[2] == "all") && cells[3] ~ /^[0-9,]+$/) {
        gsub(",", "", cells[3])
        names[++rows] = cells[2]
        budget[rows] = cells[3]
        count = split(cells[2], folders, ", ")
        for (i = 1; i <= count; i++)
            row_of[folders[i]] = rows
    }
    next
}

{
    folder = $1
    while (sub("[^/]*/?$", "", folder) && folder != "" && !(folder in row_of))
        ;
    if (folder == "") {
        print $1 ": its folder has no budget"
        failed = 1
        next
    }
    lines[row_of[folder]] += $2
    lines[row_of["all"]] += $2
}

END {
    if (!("all" in row_of)) {
        print "the page has no table of budgets"
        exit 1
    }
    printf "%-24s %7s %7s %7s\n", "folder", "lines", "budget", "above"
    for (i = 1; i <= rows; i++)
        print_row(names[i], lines[i], budget[i])
    exit failed
}
