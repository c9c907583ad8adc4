#include "reference.h"

#include "optim/rules.h"

/* Both rules were computed in double, step by step. */
#define RULE_TOLERANCE 1e-12

static void copy(real *to, const double *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (real)from[i];
}

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
