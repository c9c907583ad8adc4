/* The angles of a rotation: theta as the papers define it, and double precision for position
 * times theta whatever the precision of the build. */

#include "laws.h"

enum { PAIRS = 32 }; /* D = 64 */

/* The table stores angles rounded to `real`; the angles are exact to a few units of their last
 * place in double. */
static double tolerance_at(double m)
{
    return (double)RT_REAL_EPSILON + m * 4e-16;
}

/* A table of a million positions is long, so it gets four of the pairs. */
TEST_ROWS(fixed_angles_are_computed_in_double, 0, 2)
{
    static const int few[] = {0, 1, 2, PAIRS - 1};
    const int M = _i ? 1000000 : 10000, count = _i ? ROWS(few) : PAIRS;
    double theta[PAIRS], some[PAIRS];
    rt_graph *g = new_graph();
    rt_theta_geometric(theta, PAIRS, 10000);
    for (int i = 0; i < count; i++)
        some[i] = theta[_i ? few[i] : i];
    const rt_rotation *r = rt_rotation_fixed(g, some, RT_SHAPE_OF(1, count), RT_INTERLEAVED, 1,
                                             (rt_positions){.B = 1, .T = M + 1});
    ck_assert_ptr_nonnull(r);
    for (int i = 0; i < count; i++) {
        const int pair = _i ? few[i] : i;
        expect_near((double)r->cosine[M * count + i],
                    (double)cosl(M * powl(10000, -(long double)pair / PAIRS)), tolerance_at(M),
                    "cosine of pair %d at %d", pair, M);
    }
}

static void expect_angles(const rt_rotation *r, int row, double m, const real *held, int form)
{
    for (int i = 0; i < PAIRS; i++) {
        const long double value =
            form == RT_THETA_LOG ? expl((long double)held[i]) : (long double)held[i];
        const double cosine = (double)cosl(m * value), sine = (double)sinl(m * value);
        expect_near((double)r->cosine[row * PAIRS + i], cosine, tolerance_at(m),
                    "cosine of pair %d at %g, form %d", i, m, form);
        expect_near((double)r->sine[row * PAIRS + i], sine, tolerance_at(m),
                    "sine of pair %d at %g, form %d", i, m, form);
    }
}

TEST(learned_angles_are_computed_in_double)
{
    enum { T = 37 };
    static const double far[] = {1e4 + 0.5, 1e6};
    real held[PAIRS];
    double theta[PAIRS];
    rt_theta_geometric(theta, PAIRS, 10000);
    for (int form = 0; form < 2; form++)
        for (int n = 0; n < 2; n++) {
            rt_graph *g = new_graph();
            rt_tensor t = rt_tensor_of(held, NULL, RT_SHAPE_OF(PAIRS));
            for (int i = 0; i < PAIRS; i++)
                held[i] = (real)(form == RT_THETA_LOG ? log(theta[i]) : theta[i]);
            const rt_rotation *r =
                rt_rotation_learned(g, &t, (rt_theta_form)form, RT_HALF, 1,
                                    (rt_positions){.B = 1, .T = T, .offset = far[n]});
            ck_assert_msg(r != NULL, "%s", rt_graph_status(g).message);
            for (int row = 0; row < T; row++)
                expect_angles(r, row, far[n] + row, held, form);
        }
}

TEST_ROWS(the_readme_states_the_rounding_error_of_theta_in_float, 0, 2)
{
    static const char *const forms[] = {[RT_THETA_LOG] = "(`log`)", [RT_THETA_RAW] = "(`raw`)"};
    static char readme[1 << 17];
    char number[16], sentence[64];
    double theta[PAIRS], worst = 0;
    FILE *file = fopen(TEST_SOURCES "/../README.md", "r");
    ck_assert_ptr_nonnull(file);
    readme[fread(readme, 1, sizeof readme - 1, file)] = '\0';
    fclose(file);
    rt_theta_geometric(theta, PAIRS, 10000);
    for (int i = 0; i < PAIRS; i++) {
        const volatile float held = (float)(_i == RT_THETA_LOG ? log(theta[i]) : theta[i]);
        const double used = _i == RT_THETA_LOG ? exp((double)held) : (double)held;
        worst = rt_larger_error(worst, 1e4 * fabs(used - theta[i]));
    }
    snprintf(number, sizeof number, "%.1e", worst);
    memmove(strstr(number, "e-0") + 2, strstr(number, "e-0") + 3, 2); /* e-5 for e-05 */
    snprintf(sentence, sizeof sentence, " %s radians %s", number, forms[_i]);
    ck_assert_msg(strstr(readme, sentence) != NULL, "README does not say%s", sentence);
}
