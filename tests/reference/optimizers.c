#include "reference.h"

#include "optim/rules.h"

#include <math.h>

enum { MOST_PARAMETERS = 16 };

/* One parameter's history: row t of each array belongs to step t. */
typedef struct history {
    const char *name;
    array params, grads;
    array moments[2]; /* after each step; no values where there are none */
    real *value, *states[RT_MOST_STATES], *gradient;
    size_t size;
    double decay;
} history;

static array if_there(reference *r, const char *path, const char *group, const char *name)
{
    return reference_has(r, "%s/%s/%s", path, group, name)
               ? reference_array(r, "%s/%s/%s", path, group, name)
               : (array){0};
}

static history read_history(reference *r, const char *path, const char *name, const rt_update *u)
{
    const bool sgd = u->settings->rule == RT_OPTIMIZER_SGD;
    const char *const names[] = {sgd ? "momentum_buffer" : "exp_avg", "exp_avg_sq"};
    char dataset[256];
    history h = {.name = name, .decay = u->decay};
    h.params = reference_array(r, "%s/params/%s", path, name);
    h.grads = reference_array(r, "%s/grads/%s", path, name);
    h.size = h.grads.size / (size_t)h.grads.axis[0];
    check_size(r, h.params, h.grads.size + h.size, name);
    for (int i = 0; i < 2; i++) {
        h.moments[i] = if_there(r, path, names[i], name);
        h.states[i] = reference_zeros(r, h.size);
        if (h.moments[i].values)
            check_size(r, h.moments[i], h.grads.size, name);
    }
    snprintf(dataset, sizeof dataset, "%s/params/%s", path, name);
    if (H5Aexists_by_name(r->file, dataset, "weight_decay", H5P_DEFAULT) > 0)
        h.decay = reference_number(r, dataset, "weight_decay");
    h.value = reference_zeros(r, h.size);
    h.gradient = reference_zeros(r, h.size);
    for (size_t i = 0; i < h.size; i++)
        h.value[i] = (real)h.params.values[i];
    return h;
}

static rt_optimizer_settings read_settings(reference *r, const char *path)
{
    if (reference_says(r, path, "algorithm", "sgd"))
        return (rt_optimizer_settings){.rule = RT_OPTIMIZER_SGD,
                                       .momentum = reference_number(r, path, "momentum"),
                                       .nesterov = reference_number(r, path, "nesterov") != 0};
    return (rt_optimizer_settings){.rule = reference_says(r, path, "algorithm", "adamw")
                                               ? RT_OPTIMIZER_ADAMW
                                               : RT_OPTIMIZER_ADAM,
                                   .beta1 = reference_number(r, path, "beta1"),
                                   .beta2 = reference_number(r, path, "beta2"),
                                   .eps = reference_number(r, path, "eps")};
}

static void take_step(reference *r, const char *path, history *h, rt_update u, int t)
{
    u.decay = h->decay;
    for (size_t i = 0; i < h->size; i++)
        h->gradient[i] = (real)h->grads.values[(size_t)t * h->size + i];
    rt_update_rule_of(u.settings)->span(&u, h->value, h->states, h->gradient, h->size);
    check_values(r, h->value, h->size, reference_row(h->params, t + 1), TRAJECTORY_TOLERANCE,
                 "%s: %s after step %d", path, h->name, t + 1);
    for (int i = 0; i < 2; i++)
        if (h->moments[i].values)
            check_values(r, h->states[i], h->size, reference_row(h->moments[i], t),
                         TRAJECTORY_TOLERANCE, "%s: moment %d of %s after step %d", path, i + 1,
                         h->name, t + 1);
}

static double norm_of(const history *h, int count, int t)
{
    double squares = 0;
    for (int p = 0; p < count; p++)
        for (size_t i = 0; i < h[p].size; i++)
            squares += pow(h[p].grads.values[(size_t)t * h[p].size + i], 2);
    return sqrt(squares);
}

void check_optimizer_case(reference *r, const char *path)
{
    history h[MOST_PARAMETERS];
    char group[256];
    snprintf(group, sizeof group, "%s/grads", path);
    name_list names = reference_members(r, group);
    array lr = reference_array(r, "%s/lr", path);
    const double max_norm = reference_number(r, path, "clip_max_norm");
    const rt_optimizer_settings settings = read_settings(r, path);
    rt_update u = {.settings = &settings, .decay = reference_number(r, path, "weight_decay")};
    ck_assert_msg(names.count > 0 && names.count <= MOST_PARAMETERS, "%s: %s has %d parameters",
                  r->name, path, names.count);
    for (int p = 0; p < names.count; p++)
        h[p] = read_history(r, path, names.names[p], &u);
    for (int p = 0; p < names.count; p++)
        check_size(r, h[p].grads, lr.size * h[p].size, path);
    for (int t = 0; t < (int)lr.size; t++) {
        const double norm = norm_of(h, names.count, t);
        u.lr = lr.values[t];
        u.step = t + 1;
        u.gradient_scale = rt_clip_factor(norm, max_norm);
        if (max_norm > 0) {
            check_number(r, norm, reference_array(r, "%s/total_norm", path).values[t],
                         TRAJECTORY_TOLERANCE, "norm");
            check_number(r, u.gradient_scale, reference_array(r, "%s/clip_coef", path).values[t],
                         TRAJECTORY_TOLERANCE, "clipping");
        }
        for (int p = 0; p < names.count; p++)
            take_step(r, path, h + p, u, t);
    }
    r->cases++;
}
