# Prints the lines of each folder against its budget: awk -f scripts/size.awk PAGE FILES. The page has rows
# "| FOLDER/, FOLDER/ | BUDGET | LIMIT |" and a row "all"; FILES has lines "PATH LINES". Fails if a folder has no
# budget, or is above it by more than 5 %. A folder that was above it when it got its budget has a limit, which
# only falls: the check fails above it, and if it is more than 25 lines above the folder.

function print_row(name, lines, budget, limit) {
    note = ""
    most = limit ? limit : budget * 1.05
    if (lines > most)
        note = limit ? "above its limit of " limit : "more than 5 % above the budget"
    else if (limit && limit - lines > 25)
        note = "lower its limit of " limit
    failed = failed || note != ""
    printf "%-24s %7d %7d %+7d%s\n", name, lines, budget, lines - budget, \
        note != "" ? "  " note : limit ? "  limit " limit : ""
}

FNR == NR {
    cells_of_row = split($0, cells, " *[|] *")
    if (cells_of_row == 5 && (cells[2] ~ /\/$/ || cells[2] == "all") && cells[3] ~ /^[0-9,]+$/) {
        gsub(",", "", cells[3])
        gsub(",", "", cells[4])
        names[++rows] = cells[2]
        budget[rows] = cells[3]
        limit[rows] = cells[4]
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
        print_row(names[i], lines[i], budget[i], limit[i])
    exit failed
}
