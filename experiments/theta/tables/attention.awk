# The law of contrast with several weights of the distances: one for all, the distance r, and what the
# heads of a layer attend to each, measured. For each kind of runs, how many cells (as contrast.awk
# counts them) have the sign that each foretells, how many go up, how many the third foretells to go
# down, and what it changes of the second.
#
#     awk -F, -f statistics.awk -f attention.awk law-attention.csv name=NAME law-pairs.csv ...
#
# The first file is the measured weights, task,layer,distance,attention; a task is named length=T...,
# or has sequences of 128 tokens.

BEGIN { lowest = 0.1; highest = 4.2; moved = 0.05; circle = 6.283185307179586 }
FNR == 1 { file++; next }
file == 1 { attention[$1, $2, $3] = $4; measured[$1] = 1; next }
measured[$1] {
    kind = name SUBSEP $1
    if (!(kind in reaches)) {
        kinds[++kind_count] = kind
        reaches[kind] = $1 ~ /^length=/ ? substr($1, 8) + 0 : 128
    }
    key = kind SUBSEP $3 SUBSEP $4
    if (!(key in runs)) start[key] = $5 * exp(-$6)
    drift[key] += $6
    runs[key]++
    if ($3 > layers[kind]) layers[kind] = $3
    if ($4 > pairs[kind]) pairs[kind] = $4
}

# The direction of ln theta in which the weighted mean of cos(theta r) falls.
function foretold(weights, task, layer, theta, reach,    r, w, sum) {
    if (weights == 0) return 1
    for (r = 1; r < reach; r++) {
        w = weights == 1 ? 1 : weights == 2 ? r : attention[task, layer, r]
        sum += w * r * sin(theta * r)
    }
    return sum > 0 ? 1 : -1
}

function share(k, n) { return n ? k " of " n : "–" }

function row(from, what, n, k, m, j, closed, opened,    w, line) {
    line = "| " from " | " what " |"
    for (w = 0; w <= 3; w++) line = line " " share(k[w], n) " |"
    line = line " " k["down"] " |"
    for (w = 0; w <= 3; w++) line = line " " share(j[w], m) " |"
    print line " " closed ", " opened " |"
}

END {
    print "| drift of | runs | up | all the same | r | attention | attention foretells down | moved cells: up | all the same | r | attention | misses of r that attention closes, opens |"
    print "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for (t = 1; t <= kind_count; t++) {
        kind = kinds[t]
        split(kind, part, SUBSEP)
        n = m = closed = opened = 0
        for (w = 0; w <= 3; w++) k[w] = j[w] = 0
        k["down"] = 0
        for (layer = 0; layer <= layers[kind]; layer++)
            for (i = 0; i <= pairs[kind]; i++) {
                key = kind SUBSEP layer SUBSEP i
                u = start[key] * (reaches[kind] - 1) / circle
                if (u < lowest || u > highest) continue
                d = drift[key] / runs[key]
                far = d > moved || d < -moved
                n++; m += far
                for (w = 0; w <= 3; w++) {
                    told = foretold(w, part[2], layer, start[key], reaches[kind])
                    right[w] = d * told > 0
                    k[w] += right[w]
                    if (far) j[w] += right[w]
                }
                k["down"] += told < 0
                closed += !right[2] && right[3]
                opened += right[2] && !right[3]
            }
        row(part[1], part[2], n, k, m, j, closed, opened)
        if (part[2] !~ /^length=/) continue
        of = part[1]
        if (!(of in all_n)) sums[++sum_count] = of
        all_n[of] += n; all_m[of] += m; all_closed[of] += closed; all_opened[of] += opened
        for (w = 0; w <= 3; w++) { all_k[of, w] += k[w]; all_j[of, w] += j[w] }
        all_k[of, "down"] += k["down"]
    }
    for (s = 1; s <= sum_count; s++) {
        of = sums[s]
        for (w = 0; w <= 3; w++) { k[w] = all_k[of, w]; j[w] = all_j[of, w] }
        k["down"] = all_k[of, "down"]
        row(of, "all lengths and bases", all_n[of], k, all_m[of], j, all_closed[of], all_opened[of])
    }
}
