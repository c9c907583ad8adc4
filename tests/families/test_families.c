/* Folders of families that differ by more than sizes from Llama and RoFormer, and of decoders with
 * labels, against values that transformers computes in double. ROTOR_FAMILIES=DIR names another
 * folder of the same layout; unknown families in it are named and skipped. */

#define FIXTURES_VARIABLE "ROTOR_FAMILIES"
#define FIXTURES_FOLDER   "families"
#include "huggingface/folders.h"

/* transformers computes the angles of ESM and their cosines as floats, in a model of doubles too.
 * A file that was made without that has rotation_in_double. */
static double slack_of(const folder_case *c)
{
    const bool floats = !strcmp(c->there->files->family->type, "esm");
    return floats && !reference_has(&c->r, "rotation_in_double") ? 1e-5 : 0;
}

/* Returns theta of a layer: the file has one for all layers, or another one for layers with a
 * window. */
static array theta_of_layer(folder_case *c, int layer)
{
    const bool slides = rt_layer_row_of(&c->model->options, layer).window > 0;
    if (!reference_has(&c->r, "theta/full_attention") &&
        !reference_has(&c->r, "theta/sliding_attention"))
        return reference_array(&c->r, "theta");
    return reference_array(&c->r, "theta/%s", slides ? "sliding_attention" : "full_attention");
}

/* Takes the theta of the file, which is that of the family's formula, for every layer and head. */
static void take_theta(folder_case *c, rt_theta_change *change)
{
    const rt_transformer_options *o = &c->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const size_t count = rt_shape_size(shape), layer = count / (size_t)shape.axis[0];
    double *numbers = rt_arena_take(&c->r.memory, count * sizeof *numbers);
    rt_transformer_rotation(c->model, c->input.T, numbers);
    for (size_t i = 0; i < count; i++) {
        const array theta = theta_of_layer(c, (int)(i / layer));
        const double own = numbers[i];
        ck_assert_int_eq((int)theta.size, shape.axis[2]);
        numbers[i] = theta.values[i % theta.size];
        ck_assert_msg(fabs(own - numbers[i]) <= 1e-6 * numbers[i],
                      "theta %zu is %.17g instead of %.17g", i, own, numbers[i]);
    }
    *change = (rt_theta_change){.numbers = numbers};
    rt_transformer_change_theta(c->model, change);
}

/* Numbers at padding mean nothing: they are replaced by the expected ones. */
static void check_logits(folder_case *c, const rt_tensor *logits)
{
    const array expected = reference_array(&c->r, "logits");
    const size_t tokens = (size_t)c->input.B * (size_t)c->input.T, size = rt_size(logits);
    const bool by_token = c->model->options.head != RT_HEAD_SEQUENCE;
    const uint8_t *mask = by_token ? c->input.key_mask : NULL;
    real *shown = rt_arena_take(&c->r.memory, size * sizeof *shown);
    check_size(&c->r, expected, size, "logits");
    for (size_t i = 0; i < size; i++)
        shown[i] = mask && !mask[i / (size / tokens)] ? (real)expected.values[i] : logits->data[i];
    check_values(&c->r, shown, size, expected, VALUE_TOLERANCE, "logits");
}

static void check_case(folder_case *c)
{
    rt_theta_change theta;
    c->r.slack = slack_of(c);
    take_theta(c, &theta);
    rt_graph *g = c->r.graph;
    rt_tensor *hidden = rt_transformer_encode(c->model, g, &c->input);
    if (c->model->options.head == RT_HEAD_SEQUENCE)
        hidden = rt_pool(g, hidden, c->model->options.pool, c->input.key_mask);
    rt_tensor *logits = rt_transformer_logits(c->model, g, hidden);
    rt_tensor *loss = rt_cross_entropy(g, logits, c->labels, 0, c->label_count);
    check_status(&c->r, rt_graph_backward(g, loss), "backward");
    check_logits(c, logits);
    check_values(&c->r, loss->data, 1, reference_array(&c->r, "loss"), VALUE_TOLERANCE, "loss");
    check_gradients(c);
    ck_assert(c->there->has_head);
    if (c->model->options.head != RT_HEAD_LM && c->model->options.causal)
        ck_assert_int_eq(c->model->options.pool, RT_POOL_LAST);
    printf("%s largest error of values %.1e, of gradients %.1e\n", c->r.name, c->r.value_error,
           c->r.gradient_error);
    c->r.quiet = true;
}

TEST(a_family_computes_the_values_of_transformers)
{
    check_each(check_case);
}

TEST(folders_become_configurations_and_survive_export_and_import)
{
    check_folders();
}
