#include "train/decay.h"

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "models/positions.h"
#include "models/transformer.h"

enum { FARTHEST = 256 };

/* A column for each row of theta, of which there may be none. */

static void print_header(FILE *to, const rt_checkpoint_theta *l)
{
    fprintf(to, "r,C");
    for (int n = 0; l->values && n < l->shape.axis[0] * l->shape.axis[1]; n++) {
        const int layer = l->layers[n / l->shape.axis[1]], head = n % l->shape.axis[1];
        if (l->scope == RT_THETA_MODEL)
            fprintf(to, ",C_all");
        else if (l->scope == RT_THETA_LAYER)
            fprintf(to, ",C_layer_%d", layer);
        else
            fprintf(to, ",C_layer_%d_head_%d", layer, head);
    }
    fputc('\n', to);
}

static void print_row(FILE *to, int r, const double *start, int pairs, double xpos,
                      const rt_checkpoint_theta *l)
{
    fprintf(to, "%d,%.9g", r, rt_decay(start, pairs, r, xpos));
    for (int n = 0; l->values && n < l->shape.axis[0] * l->shape.axis[1]; n++)
        fprintf(to, ",%.9g", rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
    fputc('\n', to);
}

rt_status rt_decay_print(FILE *to, const rt_config *config, rt_image *checkpoint)
{
    const int pairs = rt_transformer_pairs(&config->model);
    const rt_position_options position = config->model.position;
    const int longest = rt_config_longest(config) - 1;
    rt_checkpoint_theta l = {.values = NULL};
    if (!pairs) {
        rt_image_close(checkpoint);
        return rt_error(RT_CONFIG, "--decay needs position.kind = rope and a position.fraction "
                                   "above 0: nothing is rotated");
    }
    rt_status status = rt_ok();
    if (checkpoint)
        status = rt_checkpoint_read_theta(checkpoint, &l);
    double *start = rt_alloc((size_t)pairs, sizeof *start);
    if (!status.code && !start)
        status = rt_out_of_memory("theta");
    if (!status.code) {
        rt_frequencies(start, pairs, &position.frequencies);
        print_header(to, &l);
        for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++)
            print_row(to, r, start, pairs, position.xpos, &l);
    }
    rt_free(start);
    rt_checkpoint_theta_free(&l);
    return status;
}
