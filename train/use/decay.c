/* --decay: how much theta can prefer near keys, by distance. */

#include "train/use/use.h"

#include "core/memory.h"
#include "models/positions.h"
#include "models/transformer.h"

#include <stdio.h>

enum { FARTHEST = 256 }; /* distance of the last row, or more */

/* Prints the table of the initial theta and of learned ones, if there are any. The initial theta is
 * that of all layers or, if sliding layers have another base, that of layers that see all tokens
 * and that of sliding layers. */
static rt_status print_table(const rt_config *config, const rt_checkpoint_theta *l)
{
    const rt_transformer_options *o = &config->model;
    const int pairs = rt_transformer_pairs(o), longest = rt_config_longest(config) - 1;
    const int heads = l->shape.axis[1], learned = l->values ? l->shape.axis[0] * heads : 0;
    const double xpos = o->position.xpos;
    const int starts = rt_layers_differ_in_base(o) ? 2 : 1;
    rt_frequency_options of[2] = {rt_layer_frequencies(o, -1)};
    if (starts > 1) {
        of[0] = of[1] = o->position.frequencies;
        of[1].base = o->position.local_base;
    }
    RT_OWNED double *theta = rt_alloc((size_t)(starts * pairs), sizeof *theta);
    RT_TRY(rt_allocated(theta, "theta"));
    for (int n = 0; n < starts; n++)
        rt_frequencies_at(theta + n * pairs, pairs, &of[n], config->data.length);
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
            printf(",%.9g", rt_decay(theta + n * pairs, pairs, r, xpos));
        for (int n = 0; n < learned; n++)
            printf(",%.9g", rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
        putchar('\n');
    }
    return rt_ok();
}

rt_status rt_print_decay(const rt_config *config, rt_trained_model *found)
{
    RT_CLOSED_BY(rt_checkpoint_theta_free) rt_checkpoint_theta learned = {.values = NULL};
    if (found->imported)
        return rt_error(RT_CONFIG, "--decay reads the learned theta of a checkpoint, not of %s",
                        found->path);
    if (!rt_transformer_pairs(&config->model))
        return rt_error(RT_CONFIG, "--decay needs position.kind = rope and a position.fraction "
                                   "above 0: nothing is rotated");
    if (config->model.position.axes > 1)
        return rt_error(RT_CONFIG, "--decay needs position.axes = 1: with two coordinates, scores "
                                   "depend on more than a distance");
    if (found->checkpoint.image)
        RT_TRY(rt_checkpoint_read_theta(&found->checkpoint, &learned));
    return print_table(config, &learned);
}
