# Sums up what gcov printed (gcov -t): the lines of the library that ran, per folder. A line that
# any of the two precisions, or any clone of a kernel, ran has run. Those that none did go to the
# file `missed`. Exit code 1 below 95 %.
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
END {
    for (place in ran) {
        folder = substr(place, 1, index(place, "/") - 1)
        lines[folder]++
        hit[folder] += ran[place]
        all++
        all_hit += ran[place]
        if (!ran[place])
            print place | ("sort -t: -k1,1 -k2n >" missed)
    }
    for (folder in lines)
        printf "%-8s %5d of %5d lines  %5.1f %%\n", folder, hit[folder], lines[folder],
            100 * hit[folder] / lines[folder] | "sort"
    close("sort")
    printf "%-8s %5d of %5d lines  %5.1f %%\n", "all", all_hit, all, 100 * all_hit / all
    exit all_hit < 0.95 * all
}
