#include "reference.h"

#include "models/positions.h"

/* Compares doubles: none of these depends on the precision of the build. */
static void check_doubles(reference *r, const double *got, array expected, const char *what)
{
    for (size_t i = 0; i < expected.size; i++)
        check_number(r, got[i], expected.values[i], VALUE_TOLERANCE, what);
    r->cases++;
}

static void check_table(reference *r, const char *name)
{
    static const struct {
        const char *name;
        rt_pairing layout;
    } layouts[] = {{"interleaved", RT_INTERLEAVED}, {"half_split", RT_HALF}};
    char path[256];
    snprintf(path, sizeof path, "sinusoidal/%s", name);
    for (int l = 0; l < 2; l++) {
        array expected = reference_array(r, "%s/%s", path, layouts[l].name);
        const size_t rows = (size_t)expected.axis[0];
        real *table = rt_arena_take(&r->memory, expected.size * sizeof *table);
        double *position = rt_arena_take(&r->memory, rows * sizeof *position);
        double *w = rt_arena_take(&r->memory, expected.size * sizeof *w);
        rt_sinusoidal_frequencies(w, expected.axis[1], reference_number(r, path, "base"));
        for (size_t t = 0; t < rows; t++)
            position[t] = (double)t;
        rt_sinusoidal_table(table, expected.axis[1], position, rows,
                            (rt_sinusoids){expected.axis[1], w, layouts[l].layout});
        check_values(r, table, expected.size, expected, VALUE_TOLERANCE, "%s", path);
    }
}

static void check_slopes(reference *r, const char *name)
{
    array expected = reference_array(r, "alibi/%s", name);
    double *slopes = rt_arena_take(&r->memory, expected.size * sizeof *slopes);
    rt_alibi_slopes(slopes, (int)expected.size);
    check_doubles(r, slopes, expected, name);
}

static void check_decay(reference *r, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "decay/%s", name);
    array distance = reference_array(r, "%s/m", path), expected = reference_array(r, "%s/f", path);
    const int pairs = (int)reference_number(r, path, "head_dim") / 2;
    double *theta = rt_arena_take(&r->memory, (size_t)pairs * sizeof *theta);
    double *curve = rt_arena_take(&r->memory, expected.size * sizeof *curve);
    rt_theta_geometric(theta, pairs, reference_number(r, path, "base"));
    ck_assert_msg(distance.size == expected.size, "%s: %s/m and f differ in length", r->name, path);
    for (size_t i = 0; i < expected.size; i++)
        curve[i] = rt_decay(theta, pairs, distance.values[i], 0);
    check_doubles(r, curve, expected, path);
}

void check_position_file(reference *r)
{
    name_list tables = reference_members(r, "sinusoidal");
    for (int i = 0; i < tables.count; i++)
        check_table(r, tables.names[i]);
    name_list alibi = reference_members(r, "alibi");
    for (int i = 0; i < alibi.count; i++) {
        if (strncmp(alibi.names[i], "bias", 4)) /* which are slopes times distances */
            check_slopes(r, alibi.names[i]);
    }
    name_list curves = reference_members(r, "decay");
    for (int i = 0; i < curves.count; i++)
        check_decay(r, curves.names[i]);
}
