#include "reference.h"

#include "optim/rules.h"

#include <math.h>

enum { MOST_PARAMETERS = 16 };

static void copy(real *to, const double *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (real)from[i];
}

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
    copy(h.value, h.params.values, h.size);
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
    copy(h->gradient, reference_row(h->grads, t).values, h->size);
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

/* Lion and Muon were computed in double, step by step. */

#define RULE_TOLERANCE 1e-12

static void check_rule(reference *r, const char *path, rt_optimizer_settings settings)
{
    const char *word = rt_update_rule_of(&settings)->word;
    const array start = reference_array(r, "%s/w", path),
                grads = reference_array(r, "%s/grads", path),
                after = reference_array(r, "%s/%s/w", path, word);
    rt_parameters p = {0};
    rt_parameters_add(&p, RT_ROLE_MATRIX, RT_INIT_ZERO, RT_SHAPE_OF(start.axis[0], start.axis[1]),
                      "matrix");
    check_status(r, rt_parameters_allocate(&p, 0, NULL), path);
    const size_t room = rt_update_scratch(rt_update_rule_of(&settings), &p);
    real *const states[RT_MOST_STATES] = {reference_zeros(r, start.size),
                                          reference_zeros(r, start.size)};
    const double lr = reference_number(r, path, "lr");
    copy(p.values, start.values, start.size);
    for (int t = 0; t < grads.axis[0]; t++) {
        rt_update u = rt_update_of(&settings, p.list[0], (rt_rates){lr, lr}, 1, t + 1);
        const rt_span part = rt_span_at(rt_update_rule_of(&settings), &p, 0, 0);
        ck_assert_uint_eq(part.size, start.size);
        copy(p.grads, reference_row(grads, t).values, start.size);
        u.scratch = room ? reference_zeros(r, room) : NULL;
        rt_update_span(&u, p.list[0], &part, p.values, states, p.grads);
        check_values(r, p.values, start.size, reference_row(after, t), RULE_TOLERANCE,
                     "%s: %s after step %d", path, word, t + 1);
    }
    check_values(r, states[0], start.size, reference_array(r, "%s/%s/state", path, word),
                 RULE_TOLERANCE, "%s: the state of %s", path, word);
    rt_parameters_free(&p);
}

void check_lion_muon_case(reference *r, const char *name)
{
    rt_optimizer_settings lion = rt_optimizer_defaults(RT_OPTIMIZER_LION),
                          muon = rt_optimizer_defaults(RT_OPTIMIZER_MUON);
    lion.weight_decay = muon.weight_decay = 0.1;
    check_rule(r, name, lion);
    check_rule(r, name, muon);
    r->cases++;
}
