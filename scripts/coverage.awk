# Sums up what gcov printed (gcov -t): the lines of the library and the program that ran, per
# folder. A line that any of the two precisions, or any clone of a kernel, ran has run. Those that
# none did go to the file `missed`. Exit code 1 below 97 %, of all lines or of those of train/.
/^ *-: *0:Source:/ {
    sub(/.*Source:/, "")
    if (index($0, root "/") == 1)
        $0 = substr($0, length(root) + 2)
    file = /^(core|ops|models|data|train)\// ? $0 : ""
    next
}
file != "" {
    split($0, part, ":")
    gsub(/ /, "", part[1])
    gsub(/ /, "", part[2])
    if (part[1] ~ /^-?$/ || part[2] !~ /^[0-9]+$/)
        next
    place = file ":" part[2]
    ran[place] = ran[place] || part[1] !~ /^[#=]/
}
function count(folder, has_run) {
    lines[folder]++
    hit[folder] += has_run
}
function row(folder) {
    return sprintf("%-18s %5d of %5d lines  %5.1f %%", folder, hit[folder], lines[folder],
        100 * hit[folder] / lines[folder])
}
END {
    for (place in ran) {
        folder = place
        while (sub(/\/[^\/]*$/, "", folder))
            count(folder "/", ran[place])
        count("all", ran[place])
        if (!ran[place])
            print place | ("sort -t: -k1,1 -k2n >" missed)
    }
    for (folder in lines)
        if (folder != "all")
            print row(folder) | "sort"
    close("sort")
    print row("all")
    exit !(hit["all"] >= 0.97 * lines["all"] && hit["train/"] >= 0.97 * lines["train/"])
}
