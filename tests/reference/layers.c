#include "reference.h"

#include "ops/ops.h"

/* Runs backward with the upstream gradient of the case. */
static void backward(reference *r, rt_tensor *out, array g, const char *what)
{
    check_status(r, rt_graph_backward_from(r->graph, out, reference_upstream(r, out, g, what)),
                 what);
}

/* A normalization or a linear map. */
static void check_affine(reference *r, const char *path)
{
    rt_tensor *x = reference_input(r, path, "x");
    rt_tensor *weight = reference_input(r, path, "weight");
    rt_tensor *bias = reference_input(r, path, "bias");
    rt_tensor *y = strncmp(path, "linear/", 7)
                       ? rt_layer_norm(r->graph, x, weight, bias, reference_number(r, path, "eps"))
                       : rt_linear(r->graph, x, weight, bias);
    backward(r, y, reference_array(r, "%s/g", path), path);
    check_output(r, y, path, "y");
    check_input(r, x, path, "dx");
    check_input(r, weight, path, "dweight");
    check_input(r, bias, path, "dbias");
}

static void check_activation(reference *r, const char *path)
{
    static const char *const words[] = {RT_ACTIVATION_ROWS(RT_ACTIVATION_WORD, RT_CHOICE_WORD)};
    const char *name = strrchr(path, '/') + 1;
    int kind = -1;
    if (!strcmp(name, "x") || !strcmp(name, "g"))
        return;
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
        if (!strcmp(words[i], !strcmp(name, "gelu_exact") ? "gelu" : name))
            kind = i;
    ck_assert_msg(kind >= 0, "%s: %s is an activation that rotor does not have", r->name, name);
    rt_tensor *x = reference_input(r, "activations", "x");
    rt_tensor *y = rt_activate(r->graph, x, (rt_activation)kind);
    backward(r, y, reference_array(r, "activations/g"), path);
    check_output(r, y, path, "y");
    check_input(r, x, path, "dx");
}

static void check_softmax(reference *r, const char *path)
{
    for (int log = 0; log < 2; log++) {
        rt_graph_clear(r->graph);
        rt_tensor *x = reference_input(r, path, "x");
        rt_tensor *y = log ? rt_log_softmax(r->graph, x) : rt_softmax(r->graph, x);
        backward(r, y, reference_array(r, "%s/g", path), path);
        check_output(r, y, path, log ? "log_y" : "y");
        check_input(r, x, path, log ? "log_dx" : "dx");
    }
}

/* The loss of each row by itself is that of a batch in which only its label counts. */
static void check_rows(reference *r, const char *path, rt_tensor *logits, const int32_t *labels,
                       double smoothing)
{
    array expected = reference_array(r, "%s/per_row", path);
    const int ignored = (int)reference_number(r, path, "ignore_index");
    check_size(r, expected, rt_rows(logits), path);
    int32_t *one = rt_arena_take(&r->memory, expected.size * sizeof *one);
    for (size_t row = 0; row < expected.size; row++) {
        for (size_t i = 0; i < expected.size; i++)
            one[i] = i == row && labels[i] != ignored ? labels[i] : RT_IGNORE;
        rt_tensor *loss = rt_cross_entropy(r->graph, logits, one, smoothing, 1);
        check_status(r, rt_graph_status(r->graph), path);
        check_number(r, (double)loss->data[0], expected.values[row], VALUE_TOLERANCE, path);
    }
}

static void check_cross_entropy(reference *r, const char *path)
{
    rt_tensor *logits = reference_input(r, path, "logits");
    array targets = reference_array(r, "%s/targets", path);
    check_size(r, targets, rt_rows(logits), path);
    int32_t *labels = reference_ids(r, targets);
    const double smoothing = reference_number(r, path, "label_smoothing");
    const int ignored = (int)reference_number(r, path, "ignore_index");
    int counted = 0;
    for (size_t i = 0; i < targets.size; i++) {
        counted += labels[i] != ignored;
        labels[i] = labels[i] == ignored ? RT_IGNORE : labels[i];
    }
    const bool mean = reference_says(r, path, "reduction", "mean");
    ck_assert_msg(mean || reference_says(r, path, "reduction", "sum"),
                  "%s: %s has an unknown reduction", r->name, path);
    rt_tensor *loss = rt_cross_entropy(r->graph, logits, labels, smoothing, mean ? counted : 1);
    check_status(r, rt_graph_backward(r->graph, loss), path);
    check_number(r, (double)loss->data[0], reference_array(r, "%s/loss", path).values[0],
                 VALUE_TOLERANCE, path);
    check_input(r, logits, path, "dlogits");
    rt_graph_clear(r->graph);
    check_rows(r, path, logits, labels, smoothing);
}

static void check_embedding(reference *r, const char *path)
{
    array ids = reference_array(r, "%s/ids", path);
    rt_tensor *weight = reference_input(r, path, "weight");
    rt_shape shape = {.ndim = ids.ndim};
    memcpy(shape.axis, ids.axis, sizeof shape.axis);
    rt_tensor *y = rt_embedding(r->graph, weight, reference_ids(r, ids), shape,
                                (int)reference_number(r, path, "padding_idx"));
    backward(r, y, reference_array(r, "%s/g", path), path);
    check_output(r, y, path, "y");
    check_input(r, weight, path, "dweight");
}

void check_layer_file(reference *r)
{
    static const struct {
        const char *group;
        void (*check)(reference *r, const char *path);
    } kinds[] = {{"layernorm", check_affine},    {"activations", check_activation},
                 {"softmax", check_softmax},     {"cross_entropy", check_cross_entropy},
                 {"embedding", check_embedding}, {"linear", check_affine}};
    name_list groups = reference_members(r, "/");
    for (int i = 0; i < groups.count; i++) {
        size_t kind = 0, count = sizeof kinds / sizeof *kinds;
        while (kind < count && strcmp(kinds[kind].group, groups.names[i]))
            kind++;
        ck_assert_msg(kind < count, "%s: nothing checks the group %s", r->name, groups.names[i]);
        name_list cases = reference_members(r, groups.names[i]);
        for (int c = 0; c < cases.count; c++) {
            char path[256];
            snprintf(path, sizeof path, "%s/%s", groups.names[i], cases.names[c]);
            rt_graph_clear(r->graph);
            kinds[kind].check(r, path);
            r->cases++;
        }
    }
}
