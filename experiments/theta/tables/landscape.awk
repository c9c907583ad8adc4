# The bottoms of the loss along theta, of models that were trained with each theta and of models that
# have learned their own, from known-landscape.csv: on the side of 2 pi / 6 on which the optimum is,
# and on the other, where its mirror image is. A bottom is that of a parabola through the lowest loss
# of a seed on that side and the losses beside it.
#
#     awk -F, -f statistics.awk -f landscape.awk known-landscape.csv

BEGIN { middle = 6.283185307179586 / 6 }
NR == 1 { next }
{
    kind = $1 SUBSEP $2 SUBSEP $3
    if (!(kind in known)) { known[kind]; order[++kinds] = kind }
    if (!((kind, $5) in place)) { place[kind, $5] = ++thetas[kind]; theta[kind, thetas[kind]] = $5 }
    loss[kind, $4, place[kind, $5]] = $6
    if ($4 > seeds) seeds = $4
}

# Sets `where` and `depth`; 0 if there is no bottom above, or below, the middle.
function find_bottom(kind, seed, above,    i, least, slope, curvature) {
    least = 0
    for (i = 2; i < thetas[kind]; i++)
        if ((theta[kind, i] > middle) == above && loss[kind, seed, i] < loss[kind, seed, i - 1] && \
                loss[kind, seed, i] < loss[kind, seed, i + 1] && \
                (!least || loss[kind, seed, i] < loss[kind, seed, least]))
            least = i
    if (!least) return 0
    slope = (loss[kind, seed, least + 1] - loss[kind, seed, least - 1]) / 2
    curvature = loss[kind, seed, least + 1] - 2 * loss[kind, seed, least] + loss[kind, seed, least - 1]
    where = theta[kind, least] - slope / curvature * (theta[kind, 2] - theta[kind, 1])
    depth = loss[kind, seed, least] - slope * slope / curvature / 2
    return 1
}

END {
    print "| T | optimum | models | bottom less the optimum [95 %] | detectable | bottom on the other side of 2π/6 less the mirror image | its loss less the other's |"
    print "|---|---|---|---|---|---|---|"
    for (k = 1; k <= kinds; k++) {
        split(order[k], part, SUBSEP)
        above = part[2] > middle
        n = m = 0
        for (s = 1; s <= seeds; s++) {
            if (!find_bottom(order[k], s, above)) continue
            x[++n] = where - part[2]
            own = depth
            if (!find_bottom(order[k], s, !above)) continue
            y[++m] = where - (2 * middle - part[2])
            z[m] = depth - own
        }
        printf "| %d | %s | %s | %s | %s | %s | %s |\n", part[1], part[2], part[3], \
            interval(x, n, "%+.4f"), smallest(x, n, "%.4f"), interval(y, m, "%+.4f"), \
            interval(z, m, "%+.4f")
    }
}
