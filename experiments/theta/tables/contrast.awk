# The law of contrast beside where theta went: for each kind of runs, how many cells (a pair in a
# layer, mean drift over seeds) have the sign that it predicts, how many of those that moved went up,
# and where the drift first changes its sign.
#
#     awk -F, -f statistics.awk -f contrast.awk law-pairs.csv law-conditions-pairs.csv
#
# A task is named length=T..., window=T..., windowT, or has a reach of 128. Kinds of runs whose names
# differ in their numbers alone are a group, which has a sum; one of three kinds has, for each layer,
# the slope of ln theta at the first change of sign on ln reach. A pair whose theta went through 0
# has no drift of ln theta, and is in no cell.

BEGIN { lowest = 0.1; highest = 4.2; moved = 0.05; circle = 6.283185307179586 }
FNR == 1 { next }
{
    kind = $1
    if (!(kind in reaches)) {
        reaches[kind] = match(kind, /^(length|window)=?[0-9]+/) ? reach_in(substr(kind, 1, RLENGTH)) : 128
        for (k = ++kind_count; k > 1 && precedes(kind, kinds[k - 1]); k--) kinds[k] = kinds[k - 1]
        kinds[k] = kind
    }
    if ($4 > pairs[kind]) pairs[kind] = $4
    if ($3 > layers[kind]) layers[kind] = $3
    key = kind SUBSEP $3 SUBSEP $4
    if ($6 ~ /nan/) { through_0[key]; next }
    if (!(key in runs)) start[key] = $5 * exp(-$6)
    drift[key] += $6
    runs[key]++
}

function reach_in(name) {
    sub(/^[a-z]+=?/, "", name)
    return name + 0
}

function group(kind) { return kind ~ /^length=/ ? "length" : kind ~ /^window=/ ? "window" : "" }

# Groups before all else, each with short reaches first.
function precedes(a, b) {
    if (group(a) != group(b)) return group(a) > "" && (group(b) == "" || group(a) < group(b))
    return group(a) > "" && reaches[a] < reaches[b]
}

function title(kind) {
    gsub(/=/, " = ", kind)
    sub(/length/, "T", kind)
    sub(/window =/, "window", kind)
    sub(/_base =/, ", base", kind)
    return kind
}

# The direction of ln theta in which the contrast falls.
function predicted(theta, reach,    r, sum) {
    for (r = 1; r < reach; r++) sum += r * r * sin(theta * r)
    return sum > 0 ? 1 : -1
}

# The turns at which the drift of a layer falls below 0 for the first time beyond 0.15, or 0.
function crossing(kind, layer,    i, key, u, d, before, at) {
    before = ""
    for (i = pairs[kind]; i >= 0; i--) {
        key = kind SUBSEP layer SUBSEP i
        if (key in through_0) continue
        u = start[key] * (reaches[kind] - 1) / circle
        if (u < 0.15) continue
        d = drift[key] / runs[key]
        if (before != "" && before > 0 && d <= 0)
            return exp(log(at) + (log(u) - log(at)) * before / (before - d))
        before = d
        at = u
    }
    return 0
}

# The interval of 95 % of a share, by Wilson.
function share(k, n,    p, z, middle, half) {
    if (!n) return "–"
    p = k / n; z = 1.959964
    middle = (p + z * z / 2 / n) / (1 + z * z / n)
    half = z * sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    return sprintf("%d of %d [%.2f, %.2f]", k, n, middle - half, middle + half)
}

# The crossing of a layer of a group, for the slope.
function keep_crossing(kind, layer, at,    n) {
    crossings[group(kind), layer] += 0
    if (!at) return
    n = ++crossings[group(kind), layer]
    ln_reach[group(kind), layer, n] = log(reaches[kind])
    ln_theta[group(kind), layer, n] = log(at * circle / (reaches[kind] - 1))
}

function slopes_of(name,    layer, i, n, x, y) {
    for (layer = 0; (name, layer) in crossings; layer++) {
        n = crossings[name, layer]
        if (n < 3) continue
        for (i = 1; i <= n; i++) { x[i] = ln_reach[name, layer, i]; y[i] = ln_theta[name, layer, i] }
        fit_line(x, y, n)
        slopes = slopes sprintf("\nslope of ln θ at the first change of sign on ln %s, layer %d: " \
            "%+.2f [%+.2f, %+.2f] (95 %%, %d rows)\n", name, layer, slope, slope - half, slope + half, n)
    }
}

function row(name, n, k, m, j, up, where) {
    printf "| %s | %s | %s | %s | %s |\n", name, share(k, n), share(j, m), m ? up + 0 : "–", where
}

END {
    print "| runs | signs predicted [95 %] | of cells that moved by more than 0.05 | up, of these | first change of sign, turns, by layer |"
    print "|---|---|---|---|---|"
    for (t = 1; t <= kind_count; t++) {
        kind = kinds[t]; n = k = m = j = up = 0; where = ""
        for (layer = 0; layer <= layers[kind]; layer++) {
            for (i = 0; i <= pairs[kind]; i++) {
                key = kind SUBSEP layer SUBSEP i
                if (key in through_0) continue
                u = start[key] * (reaches[kind] - 1) / circle
                if (u < lowest || u > highest) continue
                d = drift[key] / runs[key]
                right = d * predicted(start[key], reaches[kind]) > 0
                n++; k += right
                if (d > moved || d < -moved) { m++; j += right; up += d > 0 }
            }
            at = crossing(kind, layer)
            where = where (layer ? ", " : "") (at ? sprintf("%.2f", at) : "–")
            keep_crossing(kind, layer, at)
        }
        if (group(kind) != of) sum_up()
        of = group(kind)
        row(title(kind), n, k, m, j, up, where)
        if (of) { kinds_of_group++; all_n += n; all_k += k; all_m += m; all_j += j; all_up += up }
    }
    sum_up()
    printf "%s", slopes
}

# The end of a group.
function sum_up() {
    if (kinds_of_group > 1) row("all of these", all_n, all_k, all_m, all_j, all_up, "")
    if (of) slopes_of(of)
    kinds_of_group = all_n = all_k = all_m = all_j = all_up = 0
}
