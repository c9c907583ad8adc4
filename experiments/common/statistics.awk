# What the tables of the study count with.

# The probability that n fair coins show as many heads as `heads`, or a number that is as rare.
function sign_test(heads, n,    few, k, term, sum) {
    few = heads < n - heads ? heads : n - heads
    if (2 * few == n) return 1
    term = 1
    for (k = 0; k <= few; k++) {
        if (k) term *= (n - k + 1) / k
        sum += term
    }
    return 2 * sum / 2 ^ n
}

# Mean and standard deviation of x[1] ... x[n], as text.
function spread(x, n, format,    i, mean, squares) {
    if (!n) return "–"
    for (i = 1; i <= n; i++) mean += x[i] / n
    for (i = 1; i <= n; i++) squares += (x[i] - mean) ^ 2
    if (n < 2) return sprintf(format, mean)
    mean = sprintf(format, mean)
    sub(/\+/, "", format)
    return mean " ± " sprintf(format, sqrt(squares / (n - 1)))
}

function median(x, n,    i, j, t, y) {
    for (i = 1; i <= n; i++) {
        for (j = i; j > 1 && y[j - 1] > x[i]; j--) y[j] = y[j - 1]
        y[j] = x[i]
    }
    return n ? (y[int((n + 1) / 2)] + y[int(n / 2) + 1]) / 2 : "–"
}

# A probability as tables show it.
function chance(p) {
    return !p ? "below 1e-12" : p < 0.0005 ? sprintf("%.0e", p) : sprintf("%.3f", p)
}

# Numbers from 0 to 1 that are the same with every awk (Park and Miller 1988).
function draw() { random_state = random_state * 16807 % 2147483647; return random_state / 2147483647 }

# ---- intervals ----

# The share of a standard normal below x, by a series (Marsaglia 2004).
function normal_below(x,    sum, before, term, k) {
    if (x > 8) return 1
    if (x < -8) return 0
    sum = term = x
    for (k = 3; sum != before; k += 2) {
        before = sum
        term *= x * x / k
        sum += term
    }
    return 0.5 + sum * exp(-x * x / 2) / 2.5066282746310002
}

# The probability that |T| exceeds `bound`, for a t statistic with `nu` degrees of freedom whose mean
# is shifted by `shift`: the normal tails for each ratio s of estimated to true deviation, weighted
# by the density of s.
function t_exceeds(bound, nu, shift,    n, i, s, low, high, h, density, sum, all, w) {
    low = 1 - 8 / sqrt(2 * nu); if (low < 0) low = 0
    high = 1 + 8 / sqrt(2 * nu); n = 400; h = (high - low) / n
    for (i = 0; i <= n; i++) {
        s = low + i * h
        if (!s && nu > 1) continue
        density = exp((nu > 1 ? (nu - 1) * log(s) : 0) - nu * (s * s - 1) / 2)
        w = (i == 0 || i == n ? 1 : i % 2 ? 4 : 2) * density
        all += w
        sum += w * (normal_below(shift - bound * s) + normal_below(-shift - bound * s))
    }
    return sum / all
}

# The probability that |T| stays below t, without a shift: a finite sum for each whole `nu`
# (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
function t_within(t, nu,    angle, c, k, term, sum) {
    angle = atan2(t, sqrt(nu))
    c = cos(angle)
    term = nu % 2 ? c : 1
    for (k = nu % 2 ? 3 : 2; k <= nu; k += 2) {
        sum += term
        term *= c * c * (k - 1) / k
    }
    return nu % 2 ? (angle + sin(angle) * sum) / 1.5707963267948966 : sin(angle) * sum
}

# The t that |T| exceeds with a probability of 5 %, or of 5 % / m in a family of m comparisons.
function t_bound(nu, m,    low, high, middle, i) {
    if (m < 1) m = 1
    if ((nu, m) in t_bounds) return t_bounds[nu, m]
    high = 2000
    for (i = 0; i < 44; i++) {
        middle = (low + high) / 2
        if (t_within(middle, nu) < 1 - 0.05 / m) low = middle; else high = middle
    }
    return t_bounds[nu, m] = (low + high) / 2
}

# The shift with which 90 % of all |T| exceed that t.
function t_shift(nu, m,    low, high, middle, i) {
    if (m < 1) m = 1
    if ((nu, m) in t_shifts) return t_shifts[nu, m]
    high = 400
    for (i = 0; i < 40; i++) {
        middle = (low + high) / 2
        if (t_exceeds(t_bound(nu, m), nu, middle) < 0.9) low = middle; else high = middle
    }
    return t_shifts[nu, m] = (low + high) / 2
}

# Of x[1] ... x[n]: sets `mean`, `standard_error`, `half` (the interval is mean - half to mean + half)
# and `detectable`, the smallest difference that n pairs with this deviation show with a probability
# of 90 %. n has to be 2 at least. The interval is that of 95 %, or the simultaneous one of a family of
# m comparisons.
function paired(x, n, m,    i, squares) {
    mean = squares = 0
    for (i = 1; i <= n; i++) mean += x[i] / n
    for (i = 1; i <= n; i++) squares += (x[i] - mean) ^ 2
    standard_error = sqrt(squares / (n - 1) / n)
    half = t_bound(n - 1, m) * standard_error
    detectable = t_shift(n - 1, m) * standard_error
}

# The p of the t-test that the mean of x[1] ... x[n] is 0; 0 if it is below 1e-12.
function t_test(x, n,    i, mean, squares, p) {
    for (i = 1; i <= n; i++) mean += x[i] / n
    for (i = 1; i <= n; i++) squares += (x[i] - mean) ^ 2
    if (!mean) return 1
    if (!squares) return 0
    p = 1 - t_within((mean < 0 ? -mean : mean) / sqrt(squares / (n - 1) / n), n - 1)
    return p < 1e-12 ? 0 : p
}

# p in a family of m comparisons (Bonferroni): below 0.05 if the simultaneous interval excludes 0.
function in_family(p, m) { return p * m < 1 ? p * m : 1 }

# The verdict on a difference of which more is claimed, from its simultaneous interval (docs/studies.md),
# with the smallest and the largest size that was published in the same unit, if there are any.
function verdict_on(low, high, format, smallest_size, largest_size) {
    if (low > 0) return smallest_size != "" && (high < smallest_size || low > largest_size) ? \
        "reproduced in direction" : "reproduced"
    if (high < 0) return "contradicted in this regime"
    if (smallest_size != "" && high < smallest_size) return sprintf("smaller than " format, high)
    return "inconclusive"
}

# The mean of differences and its interval as text: of 95 %, or simultaneous in a family of m.
function interval(x, n, format, m) {
    if (!n) return "–"
    if (n < 2) return sprintf(format, x[1])
    paired(x, n, m)
    return sprintf(format " [" format ", " format "]", mean, mean - half, mean + half)
}

# The simultaneous interval alone.
function simultaneous(x, n, format, m) {
    paired(x, n, m)
    return sprintf("[" format ", " format "]", mean - half, mean + half)
}

# The smallest difference that the pairs could show, as text; of differences that are all the same
# there is none.
function smallest(x, n, format, m) {
    if (n < 2) return "–"
    paired(x, n, m)
    if (!detectable) return "–"
    sub(/\+/, "", format)
    return sprintf(format, detectable)
}

# The interval of a ratio g / w of two independent means with their standard errors (Fieller 1954):
# sets `ratio_low` and `ratio_high`. Returns 0 if w is not told from 0, which leaves no interval.
function fieller(g, g_error, w, w_error, t,    a, b, root) {
    a = w * w - t * t * w_error * w_error
    if (a <= 0) return 0
    b = g * w
    root = sqrt(b * b - a * (g * g - t * t * g_error * g_error))
    ratio_low = (b - root) / a
    ratio_high = (b + root) / a
    return 1
}

# Of the line through (x[1], y[1]) ... (x[n], y[n]) by least squares: sets `slope` and `half`, whose
# interval of 95 %, or simultaneous one in a family of m, is slope - half to slope + half. n has to be
# 3 at least.
function fit_line(x, y, n, m,    i, mean_x, mean_y, squares, rest) {
    slope = 0
    for (i = 1; i <= n; i++) { mean_x += x[i] / n; mean_y += y[i] / n }
    for (i = 1; i <= n; i++) {
        squares += (x[i] - mean_x) ^ 2
        slope += (x[i] - mean_x) * y[i]
    }
    slope /= squares
    for (i = 1; i <= n; i++) rest += (y[i] - mean_y - slope * (x[i] - mean_x)) ^ 2
    half = t_bound(n - 2, m) * sqrt(rest / (n - 2) / squares)
}
