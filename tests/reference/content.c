/* Positions that depend on content, and other encodings of 2025 and 2026: the encodings of a layer,
 * with the parameters of the file, before attention. */

#include "reference.h"

#include "models/encodings/encoding.h"
#include "option_words.h"

#include <math.h>

enum { MOST_LEAVES = 12 };

/* A group of the file. Every leaf has a gradient in it. */
typedef struct content_case {
    reference *r;
    rt_graph *g;
    const char *name;
    rt_tensor *leaves[MOST_LEAVES];
    const char *names[MOST_LEAVES];
    int count;
} content_case;

/* Reads an array into *to if the file has its gradient. */
static void read_leaf(content_case *c, const char *name, rt_tensor **to)
{
    if (!reference_has(c->r, "%s/d%s", c->name, name))
        return;
    ck_assert_int_lt(c->count, MOST_LEAVES);
    c->names[c->count] = name;
    *to = c->leaves[c->count++] = reference_input(c->r, c->name, name);
}

static void check_result(content_case *c, rt_tensor *y)
{
    char gradient[64];
    const real *g = reference_upstream(c->r, y, reference_array(c->r, "%s/g", c->name), c->name);
    check_output(c->r, y, c->name, "y");
    check_status(c->r, rt_graph_backward_from(c->g, y, g), c->name);
    for (int i = 0; i < c->count; i++) {
        snprintf(gradient, sizeof gradient, "d%s", c->names[i]);
        check_input(c->r, c->leaves[i], c->name, gradient);
    }
}

static void check_rope_of_angles(content_case *c)
{
    const rt_pairing pairing = strstr(c->name, "half") ? RT_HALF : RT_INTERLEAVED;
    rt_tensor *x, *angles;
    read_leaf(c, "x", &x);
    read_leaf(c, "angles", &angles);
    check_result(c, rt_rope(c->g, x, rt_rotation_by_angles(c->g, angles, pairing)));
}

/* Returns a model of a layer with the sizes of the file. */
static rt_transformer *new_model(const content_case *c, const char *words, const rt_tensor *query)
{
    const int H = query->shape[2], D = query->shape[3];
    rt_transformer_options o = {.vocab = 5,
                                .layers = 1,
                                .dim = H * D,
                                .heads = H,
                                .norm_eps = 1e-12,
                                .causal = true,
                                .position = {.frequencies = {.base = 10000}, .fraction = 1}};
    rt_transformer *m;
    set_options(&o, words);
    if (reference_has(c->r, "%s/down", c->name)) {
        o.position.rank = reference_array(c->r, "%s/down", c->name).axis[0];
        o.position.taps = reference_array(c->r, "%s/taps", c->name).axis[1];
    }
    if (o.position.key_shift)
        o.position.fraction = reference_number(c->r, c->name, "R") / D;
    check_status(c->r, rt_transformer_new(&m, &o, 1, NULL), c->name);
    return m;
}

/* Overrides theta, unless it is a leaf, by that of the file for all heads. */
static void fix_theta(const content_case *c, rt_transformer *m, const char *name)
{
    if (!reference_has(c->r, "%s/%s", c->name, name) || m->options.theta.learn)
        return;
    const array theta = reference_array(c->r, "%s/%s", c->name, name);
    const size_t size = rt_shape_size(rt_transformer_rotation_shape(&m->options));
    double *numbers = rt_arena_take(&c->r->memory, size * sizeof *numbers);
    for (size_t i = 0; i < size; i++)
        numbers[i] = theta.values[i % theta.size];
    rt_theta_change *change = rt_arena_take(&c->r->memory, sizeof *change);
    *change = (rt_theta_change){.numbers = numbers};
    rt_transformer_change_theta(m, change);
}

static void check_layer(content_case *c, const char *words)
{
    rt_attention_pass a = {.options = {.causal = true}};
    rt_tensor *key_bias = NULL;
    read_leaf(c, "q", &a.query);
    read_leaf(c, "k", &a.key);
    read_leaf(c, "v", &a.value);
    const int B = a.query->shape[0], T = a.query->shape[1];
    rt_transformer *m = new_model(c, words, a.query);
    rt_transformer_layer *layer = m->layers;
    const struct {
        const char *name;
        rt_tensor **to;
    } leaves[] = {{"x", &a.input},
                  {"key_bias", &key_bias},
                  {"weight", &layer->forget.weight},
                  {"bias", &layer->forget.bias},
                  {"down", &layer->phase.down},
                  {"up", &layer->phase.up},
                  {"taps", &layer->phase.taps},
                  {"phi_bias", &layer->phase.bias},
                  {"gate_weight", &layer->phase.gate.weight},
                  {"gate_bias", &layer->phase.gate.bias},
                  {"theta", &layer->encoding},
                  {"delta", &layer->polar_phase},
                  {"s", &layer->length_scale}};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        read_leaf(c, leaves[i].name, leaves[i].to);
    fix_theta(c, m, "temperature");
    fix_theta(c, m, "theta");
    rt_tensor none = rt_tensor_of(reference_zeros(c->r, (size_t)(B * T * m->options.dim)), NULL,
                                  RT_SHAPE_OF(B, T, m->options.dim));
    if (!a.input) { /* constant gates */
        a.input = &none;
        for (int h = 0; layer->forget.bias && h < m->options.heads; h++)
            layer->forget.bias->data[h] =
                (real)-log(expm1(-reference_array(c->r, "%s/log_f", c->name).values[h]));
    }
    const rt_encoding *encoding = rt_encoding_of(&m->options);
    a.options.key_bias = key_bias;
    a.at = (rt_token_span){.count = T, .length = T};
    if (encoding->rotation)
        a.rotation = encoding->rotation(m, c->g, 0, a.at);
    for (int n = 0; (encoding = rt_encoding_at(&m->options, n)); n++)
        if (encoding->attention && rt_encoding_acts(encoding, &m->options, 0))
            encoding->attention(m, c->g, 0, &a);
    check_status(c->r, rt_graph_status(c->g), c->name);
    if (a.rotation.query) {
        a.query = rt_rope(c->g, a.query, a.rotation.query);
        a.key = rt_rope(c->g, a.key, a.rotation.key);
    }
    if (reference_has(c->r, "%s/angles", c->name)) {
        check_output(c->r, a.rotation.query->angles, c->name, "angles");
        check_output(c->r, a.query, c->name, "rotated_q");
        check_output(c->r, a.key, c->name, "rotated_k");
    }
    check_result(c, rt_attention(c->g, a.query, a.key, a.value, &a.options));
    rt_transformer_free(m);
}

void check_content_case(reference *r, const char *name)
{
    static const struct {
        const char *name, *words; /* NULL: an op alone */
    } groups[] = {{"fox", "position.kind=none position.forget=gate"},
                  {"fox_is_alibi",
                   "position.kind=none position.forget=bias position.forget_times=1..1"},
                  {"key_bias", "position.kind=none"},
                  {"selective", "position.kind=selective"},
                  {"selective_bias", "position.kind=selective position.phase_bias=yes"},
                  {"selective_gate",
                   "position.kind=selective position.phase_bias=yes position.phase_gate=yes"},
                  {"rope_of_angles_half", NULL},
                  {"rope_of_angles_interleaved", NULL},
                  {"key_shift", "position.key_shift=yes position.pairing=half"},
                  {"pope",
                   "position.kind=pope position.phase=yes theta.learn=yes theta.scope=layer "
                   "theta.form=raw"},
                  {"ssmax", "position.kind=none model.length_scale=learned"}};
    content_case c = {.r = r, .g = r->graph, .name = name};
    size_t i = 0, count = sizeof groups / sizeof *groups;
    while (i < count && strcmp(groups[i].name, name))
        i++;
    ck_assert_msg(i < count, "%s: %s is an encoding that rotor does not have", r->name, name);
    rt_graph_clear(r->graph);
    if (groups[i].words)
        check_layer(&c, groups[i].words);
    else
        check_rope_of_angles(&c);
    r->cases++;
}
