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
function chance(p) { return p < 0.0005 ? sprintf("%.0e", p) : sprintf("%.3f", p) }

# Numbers from 0 to 1 that are the same with every awk (Park and Miller 1988).
function draw() { random_state = random_state * 16807 % 2147483647; return random_state / 2147483647 }
