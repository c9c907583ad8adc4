#include "train/decay.h"

#include "core/memory.h"
#include "io/checkpoint/checkpoint.h"
#include "models/positions.h"
#include "models/transformer.h"

enum { FARTHEST = 256 };

/* A column for each row of theta, of which there may be none. */

/* Of a fixed theta, or of the start of a learned one: of all layers, or of those that see all
 * tokens and then of those that have a window, where these start apart. */
typedef struct starts {
    double *theta; /* (count, pairs) */
    int count, pairs;
} starts;

static void print_header(FILE *to, const starts *s, const rt_checkpoint_theta *l)
{
    fprintf(to, s->count > 1 ? "r,C,C_sliding" : "r,C");
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

static void print_row(FILE *to, int r, const starts *s, double xpos, const rt_checkpoint_theta *l)
{
    fprintf(to, "%d", r);
    for (int n = 0; n < s->count; n++)
        fprintf(to, ",%.9g", rt_decay(s->theta + n * s->pairs, s->pairs, r, xpos));
    for (int n = 0; l->values && n < l->shape.axis[0] * l->shape.axis[1]; n++)
        fprintf(to, ",%.9g", rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
    fputc('\n', to);
}

static rt_status find_starts(starts *s, const rt_transformer_options *o)
{
    rt_frequency_options of[2] = {rt_layer_frequencies(o, -1)};
    *s = (starts){.count = 1, .pairs = rt_transformer_pairs(o)};
    if (rt_layers_start_apart(o)) {
        s->count = 2;
        of[0] = of[1] = o->position.frequencies;
        of[1].base = o->position.local_base;
    }
    s->theta = rt_alloc((size_t)(s->count * s->pairs), sizeof *s->theta);
    if (!s->theta)
        return rt_out_of_memory("theta");
    for (int n = 0; n < s->count; n++)
        rt_frequencies(s->theta + n * s->pairs, s->pairs, &of[n]);
    return rt_ok();
}

rt_status rt_decay_print(FILE *to, const rt_config *config, rt_image *checkpoint)
{
    const int longest = rt_config_longest(config) - 1;
    rt_checkpoint_theta l = {.values = NULL};
    starts s = {.theta = NULL};
    if (!rt_transformer_pairs(&config->model)) {
        rt_image_close(checkpoint);
        return rt_error(RT_CONFIG, "--decay needs position.kind = rope and a position.fraction "
                                   "above 0: nothing is rotated");
    }
    rt_status status = rt_ok();
    if (checkpoint)
        status = rt_checkpoint_read_theta(checkpoint, &l);
    if (!status.code)
        status = find_starts(&s, &config->model);
    if (!status.code) {
        print_header(to, &s, &l);
        for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++)
            print_row(to, r, &s, config->model.position.xpos, &l);
    }
    rt_free(s.theta);
    rt_checkpoint_theta_free(&l);
    return status;
}
