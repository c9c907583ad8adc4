#include "models/positions.h"

#include <math.h>

void rt_sinusoidal_table(double *table, int T, int C, double base, rt_pairing layout)
{
    const int sines = (C + 1) / 2;
    for (int t = 0; t < T; t++) {
        double *row = table + (size_t)t * (size_t)C;
        for (int i = 0; i < sines; i++) {
            const double angle = t * pow(base, -2.0 * i / C);
            const int cosine = layout == RT_INTERLEAVED ? 2 * i + 1 : sines + i;
            row[layout == RT_INTERLEAVED ? 2 * i : i] = sin(angle);
            if (2 * i + 1 < C)
                row[cosine] = cos(angle);
        }
    }
}

void rt_alibi_slopes(double *slopes, int heads)
{
    int n = 1;
    while (2 * n <= heads)
        n *= 2;
    for (int k = 0; k < heads; k++)
        slopes[k] = k < n ? pow(2, -8.0 * (k + 1) / n) : pow(2, -4.0 * (2 * (k - n) + 1) / n);
}

double rt_decay(const double *theta, int pairs, double r)
{
    double real_part = 0, imaginary_part = 0, sum = 0;
    for (int i = 0; i < pairs; i++) {
        real_part += cos(r * theta[i]);
        imaginary_part += sin(r * theta[i]);
        sum += hypot(real_part, imaginary_part);
    }
    return sum / pairs;
}
