/* Long-term decay: what the RoFormer paper claims in section 3.4.3, and what it does not. */

#include "laws.h"

#include "models/positions.h"

/* With the decay of xPos each of the sums has smaller terms; at its scale those of pair 0 of 2 are
 * 2/7, of pair 1 9/14, and theta of 0 turns nothing: (2/7 + 13/14) / 2. */
TEST(xpos_is_in_the_sums)
{
    const double still[2] = {0, 0};
    double theta[64];
    rt_theta_geometric(theta, 64, 10000);
    expect_near(rt_decay(still, 2, 30, 30), 17 / 28.0, 1e-15, "C(30) at a scale of 30");
    for (int r = 0; r < 256; r++) {
        expect_near(rt_decay(theta, 64, r, 1e18), rt_decay(theta, 64, r, 0), 1e-12, "C(%d)", r);
        expect_above(rt_decay(theta, 64, r, 40), rt_decay(theta, 64, r + 60, 40), "C(%d)", r);
    }
}
