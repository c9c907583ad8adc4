/* --decay: how much theta can prefer near keys, by distance. */

#include "train/use/use.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"
#include "models/transformer.h"
#include "train/run/run.h"

#include <stdio.h>
#include <string.h>

enum { FARTHEST = 256 }; /* distance of the last row, or more */

/* Finds a layer that sees all tokens and a sliding one, if theta is not the same in both. Returns
 * how many kinds of layers there are, with the first at of[0]. */
static int find_kinds(const rt_transformer_options *o, int of[2])
{
    int kind[2] = {-1, -1};
    for (int l = o->layers; l--;) {
        const rt_layer_row row = rt_layer_row_of(o, l);
        if (row.has_positions)
            kind[row.window > 0] = l;
    }
    const bool both = kind[0] >= 0 && kind[1] >= 0;
    of[0] = kind[0] >= 0 ? kind[0] : kind[1];
    of[1] = kind[1];
    return both && (rt_layers_differ_in_base(o) ||
                    rt_layer_pairs(o, kind[0]) != rt_layer_pairs(o, kind[1]))
               ? 2
               : 1;
}

typedef struct column {
    char name[48];
    const double *theta;
    int pairs;
} column;

/* Adds a column for each row of `theta`, in the layout of `t`. Returns their number. */
static int add_each(column *to, const char *name, const rt_checkpoint_theta *t, const double *theta)
{
    const int heads = t->shape.axis[1], pairs = t->shape.axis[2];
    const int count = theta ? t->shape.axis[0] * heads : 0;
    for (int n = 0; n < count; n++) {
        const int layer = t->layers[n / heads];
        to[n] = (column){.theta = theta + n * pairs, .pairs = pairs};
        snprintf(to[n].name, sizeof to->name,
                 t->scope == RT_THETA_MODEL   ? "%s_all"
                 : t->scope == RT_THETA_LAYER ? "%s_layer_%d"
                                              : "%s_layer_%d_head_%d",
                 name, layer, n % heads);
    }
    return count;
}

/* Returns the initial theta that all rows of a kind of layers have; NULL if they differ. */
static const double *start_of_kind(const rt_transformer_options *o, const rt_checkpoint_theta *t,
                                   int kinds, bool sliding)
{
    const int heads = t->shape.axis[1], pairs = t->shape.axis[2];
    const double *first = NULL;
    for (int n = 0; n < t->shape.axis[0] * heads; n++) {
        const int layer = t->layers[n / heads];
        const double *row = t->start + n * pairs;
        if (kinds > 1 && layer >= 0 && (rt_layer_row_of(o, layer).window > 0) != sliding)
            continue;
        if (first && memcmp(first, row, (size_t)pairs * sizeof *row) != 0)
            return NULL;
        first = first ? first : row;
    }
    return first;
}

/* Adds the initial theta: that of all layers or, if sliding layers have another one, that of layers
 * that see all tokens and that of sliding layers; or else, if it also differs in other layers or in
 * heads, each. Returns the number of columns. */
static int add_initial(column *to, const rt_transformer_options *o, const rt_checkpoint_theta *t)
{
    int layer[2];
    const int kinds = find_kinds(o, layer);
    for (int k = 0; k < kinds; k++) {
        to[k] = (column){.name = "C",
                         .theta = start_of_kind(o, t, kinds, k > 0),
                         .pairs = rt_layer_pairs(o, layer[k])};
        if (!to[k].theta || to[k].pairs > t->shape.axis[2])
            return add_each(to, "C_initial", t, t->start);
    }
    if (kinds > 1)
        strcpy(to[1].name, "C_sliding");
    return kinds;
}

/* Prints the table of initial theta and of learned ones, if there are any. */
static rt_status print_table(const rt_config *config, const rt_checkpoint_theta *initial,
                             const rt_checkpoint_theta *learned)
{
    const rt_transformer_options *o = &config->model;
    const int longest = rt_config_longest(config) - 1;
    const size_t most = 2 + rt_shape_size(initial->shape) + rt_shape_size(learned->shape);
    RT_OWNED column *columns = rt_alloc(most, sizeof *columns);
    RT_TRY(rt_allocated(columns, "theta"));
    int count = add_initial(columns, o, initial);
    count += add_each(columns + count, "C", learned, learned->values);
    putchar('r');
    for (int n = 0; n < count; n++)
        printf(",%s", columns[n].name);
    putchar('\n');
    for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++) {
        printf("%d", r);
        for (int n = 0; n < count; n++)
            printf(",%.9g", rt_decay(columns[n].theta, columns[n].pairs, r, o->position.xpos));
        putchar('\n');
    }
    return rt_ok();
}

/* Gets the initial theta of a run, or the fixed one. */
static rt_status find_initial(rt_checkpoint_theta *t, const rt_config *config,
                              const rt_arguments *arguments)
{
    const rt_transformer_options *o = &config->model;
    t->scope = o->theta.scope;
    t->shape = rt_transformer_theta_shape(o);
    t->layers = rt_alloc((size_t)t->shape.axis[0], sizeof *t->layers);
    RT_TRY(rt_allocated(t->layers, "theta"));
    RT_TRY(rt_run_initial_theta(&t->start, config, arguments));
    for (int n = 0; n < t->shape.axis[0]; n++) {
        const int layer = t->layers[n] = rt_transformer_theta_layer(o, n);
        const rt_frequency_options frequencies = rt_layer_frequencies(o, layer);
        for (int h = 0; h < t->shape.axis[1] && !o->theta.learn; h++)
            rt_frequencies_at(t->start + (n * t->shape.axis[1] + h) * t->shape.axis[2],
                              rt_layer_pairs(o, layer), &frequencies, config->data.length);
    }
    return rt_ok();
}

rt_status rt_print_decay(const rt_config *config, rt_trained_model *found,
                         const rt_arguments *arguments)
{
    RT_CLOSED_BY(rt_checkpoint_theta_free) rt_checkpoint_theta learned = {.values = NULL};
    RT_CLOSED_BY(rt_checkpoint_theta_free) rt_checkpoint_theta initial = {.values = NULL};
    const char *obstacle = rt_decay_obstacle(&config->model);
    const bool own = found->checkpoint.image && !arguments->override_count &&
                     !(arguments->config && arguments->checkpoint);
    if (found->imported)
        return rt_error(RT_CONFIG, "--decay reads the learned theta of a checkpoint, not of %s",
                        found->path);
    if (obstacle)
        return rt_error(RT_CONFIG, "--decay %s", obstacle);
    if (found->checkpoint.image)
        RT_TRY(rt_checkpoint_read_theta(&found->checkpoint, &learned));
    if (!own)
        RT_TRY(find_initial(&initial, config, arguments));
    return print_table(config, own ? &learned : &initial, &learned);
}
