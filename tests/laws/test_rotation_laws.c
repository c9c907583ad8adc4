/* The laws of rotation by position times theta (RoFormer, eq. 14 to 34). */

#include "laws.h"

#include <complex.h>

enum { MOST = 64 };

static const int sizes[] = {2, 4, 8, 16, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

TEST(position_0_changes_no_bit)
{
    real x[MOST], y[MOST];
    double theta[MOST / 2];
    uint64_t next = 300000;
    for (int n = 0; n < 2 * SIZES; n++) {
        const int D = sizes[n / 2];
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(x, (size_t)D, &next);
        turn(y, x, theta, D, 0, n % 2 ? RT_HALF : RT_INTERLEAVED);
        for (int i = 0; i < D; i++)
            ck_assert_msg(!memcmp(&x[i], &y[i], sizeof *x),
                          "feature %d of %d: expected the bits of %.17g, got %.17g", i, D, x[i],
                          y[i]);
    }
}

/* Which keeps lengths, and makes scores depend on the distance alone. */
TEST(a_rotation_multiplies_complex_numbers_by_e_to_the_i_m_theta)
{
    real x[MOST], y[MOST];
    double theta[MOST / 2];
    uint64_t next = 0;
    for (int n = 0; n < 2000; n++) {
        const int D = sizes[n % SIZES], m = draw_below(&next, 200000) - 100000;
        rt_theta_geometric(theta, D / 2, 10000);
        draw_row(x, (size_t)D, &next);
        for (int half = 0; half < 2; half++) {
            turn(y, x, theta, D, m, half ? RT_HALF : RT_INTERLEAVED);
            for (int i = 0; i < D / 2; i++) {
                const int a = half ? i : 2 * i, b = half ? i + D / 2 : 2 * i + 1;
                const double complex z = (x[a] + I * x[b]) * cexp(I * (m * theta[i]));
                expect_near(y[a], creal(z), 1e-15, "half %d, m = %d, feature %d", half, m, a);
                expect_near(y[b], cimag(z), 1e-15, "half %d, m = %d, feature %d", half, m, b);
            }
        }
    }
}
