/* --decay: how much theta can prefer near keys, by distance. */

#include "train/use/use.h"

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"
#include "models/transformer.h"

#include <stdio.h>

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

/* Prints the table of the initial theta and of learned ones, if there are any. The initial theta is
 * that of all layers or, if sliding layers have another one, that of layers that see all tokens and
 * that of sliding layers. */
static rt_status print_table(const rt_config *config, const rt_checkpoint_theta *l)
{
    const rt_transformer_options *o = &config->model;
    const int longest = rt_config_longest(config) - 1, most = rt_transformer_pairs(o);
    const int heads = l->shape.axis[1], learned = l->values ? l->shape.axis[0] * heads : 0;
    const double xpos = o->position.xpos;
    int layer[2], pairs[2];
    const int starts = find_kinds(o, layer);
    RT_OWNED double *theta = rt_alloc((size_t)(starts * most), sizeof *theta);
    RT_TRY(rt_allocated(theta, "theta"));
    for (int n = 0; n < starts; n++) {
        const rt_frequency_options frequencies = rt_layer_frequencies(o, layer[n]);
        pairs[n] = rt_layer_pairs(o, layer[n]);
        rt_frequencies_at(theta + n * most, pairs[n], &frequencies, config->data.length);
    }
    printf("%s", starts > 1 ? "r,C,C_sliding" : "r,C");
    for (int n = 0; n < learned; n++) {
        if (l->scope == RT_THETA_MODEL)
            printf(",C_all");
        else if (l->scope == RT_THETA_LAYER)
            printf(",C_layer_%d", l->layers[n / heads]);
        else
            printf(",C_layer_%d_head_%d", l->layers[n / heads], n % heads);
    }
    putchar('\n');
    for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++) {
        printf("%d", r);
        for (int n = 0; n < starts; n++)
            printf(",%.9g", rt_decay(theta + n * most, pairs[n], r, xpos));
        for (int n = 0; n < learned; n++)
            printf(",%.9g", rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
        putchar('\n');
    }
    return rt_ok();
}

rt_status rt_print_decay(const rt_config *config, rt_trained_model *found)
{
    RT_CLOSED_BY(rt_checkpoint_theta_free) rt_checkpoint_theta learned = {.values = NULL};
    const char *obstacle = rt_decay_obstacle(&config->model);
    if (found->imported)
        return rt_error(RT_CONFIG, "--decay reads the learned theta of a checkpoint, not of %s",
                        found->path);
    if (obstacle)
        return rt_error(RT_CONFIG, "--decay %s", obstacle);
    if (found->checkpoint.image)
        RT_TRY(rt_checkpoint_read_theta(&found->checkpoint, &learned));
    return print_table(config, &learned);
}
