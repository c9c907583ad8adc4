# Another theta for a trained model, made of its theta_final.csv, for `train --eval --theta`:
#
#     awk -v kind=KIND -v seed=N -f statistics.awk -f other-theta.awk theta_final.csv
#
# base       base^(-2i/R)
# half       half of the way, in ln theta
# flipped    as far on the other side
# signs      as far, up or down by chance
# shuffled   the same values, in the layer's pairs by chance

BEGIN { FS = ","; OFS = ","; random_state = 1 + seed * 7919; for (i = 0; i < 10; i++) draw() }

NR == 1 { print "layer", "head", "i", "theta"; next }

{
    row++
    place[row] = $1 OFS $2 OFS $3; group[row] = $1 OFS $2
    theta[row] = $4; drift = log($4 / $6)
    factor = kind == "base" ? 0 : kind == "half" ? 0.5 : kind == "flipped" ? -1 : \
        kind == "signs" ? (draw() < 0.5 ? -1 : 1) : 1
    other[row] = $6 * exp(factor * drift)
}

END {
    if (kind == "shuffled")
        for (last = row; last > 1; last--) {
            first = last
            while (first > 1 && group[first - 1] == group[last]) first--
            chosen = first + int(draw() * (last - first + 1))
            kept = theta[chosen]; theta[chosen] = theta[last]; theta[last] = kept
        }
    for (r = 1; r <= row; r++)
        printf "%s,%.9g\n", place[r], kind == "shuffled" ? theta[r] : other[r]
}
