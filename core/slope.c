#include "core/slope.h"

#include "core/worse.h"

#include <math.h>

enum { POINTS = 5 };

/* f'(0) = sum weight_i f(first + i) / 12, in steps. */
typedef struct stencil {
    int first;
    double weight[POINTS];
} stencil;

static const stencil central = {-2, {1, -8, 0, 8, -1}};
static const stencil one_sided = {0, {-25, 48, -36, 16, -3}};

typedef struct estimate {
    double slope;
    double roughness; /* the largest third difference, per step: bounds what a kink can do */
} estimate;

/* A kink spoils central differences by at most half of their roughness; the rest is a margin
 * for more than one kink. */
static const double explained = 2;

/* The share of the tolerance that a roughness may be of differences that count. */
static const double smooth = 0.25;

/* How many times the rounding of f, per step, one-sided differences are off. */
static const double rounding_of_sides = 4;

static rt_status measure(rt_curve *f, void *context, const stencil *s, double step, estimate *e)
{
    double value[POINTS];
    *e = (estimate){0, 0};
    for (int i = 0; i < POINTS; i++) {
        const int at = s->first + i;
        rt_status status = at ? f(context, at * step, value + i) : rt_ok();
        if (status.code)
            return status;
        if (!at)
            value[i] = 0;
        e->slope += s->weight[i] * value[i] / (12 * step);
    }
    for (int i = 0; i + 3 < POINTS; i++) {
        const double third = value[i + 3] - value[i] - 3 * (value[i + 2] - value[i + 1]);
        e->roughness = rt_worse(e->roughness, fabs(third / step));
    }
    return rt_ok();
}

/* The search for differences that count. */
typedef struct search {
    const rt_slope_options *o;
    double claim;
    bool any;       /* some do */
    double nearest; /* of them, to the claim */
} search;

static bool agrees(const search *s)
{
    return s->any && fabs(s->claim - s->nearest) <= s->o->tolerance;
}

static bool counts(const search *s, const estimate *e)
{
    return e->roughness <= smooth * s->o->tolerance;
}

static void keep(search *s, double slope)
{
    if (!s->any || fabs(s->claim - slope) < fabs(s->claim - s->nearest))
        s->nearest = slope;
    s->any = true;
}

static bool lies_between(double x, double a, double b)
{
    return (x - a) * (x - b) < 0;
}

static rt_status try_step(rt_curve *f, void *context, double step, search *s)
{
    estimate middle, left, right;
    if (!(rounding_of_sides * s->o->rounding / step <= s->o->tolerance))
        return rt_ok();
    rt_status status = measure(f, context, &central, step, &middle);
    if (!status.code)
        status = measure(f, context, &one_sided, -step, &left);
    if (!status.code)
        status = measure(f, context, &one_sided, step, &right);
    if (status.code)
        return status;
    if (counts(s, &middle))
        keep(s, middle.slope);
    if (counts(s, &left))
        keep(s, left.slope);
    if (counts(s, &right))
        keep(s, right.slope);
    if (counts(s, &left) && counts(s, &right) && lies_between(s->claim, left.slope, right.slope))
        keep(s, s->claim);
    return status;
}

rt_status rt_slope_find(rt_curve *f, void *context, const rt_slope_options *o, double claim,
                        rt_slope *slope)
{
    /* The first is larger than the step: one-sided differences round worse than central ones. */
    static const double shares[] = {2, 0.25, 0.03};
    search s = {.o = o, .claim = claim};
    estimate middle;
    rt_status status = measure(f, context, &central, o->step, &middle);
    if (status.code)
        return status;
    const double error = fabs(claim - middle.slope);
    *slope = (rt_slope){.numeric = middle.slope};
    if (error <= o->tolerance || !isfinite(error))
        return status;
    for (int i = 0; i < 3 && !agrees(&s); i++) {
        status = try_step(f, context, shares[i] * o->step, &s);
        if (status.code)
            return status;
    }
    if (s.any)
        slope->numeric = s.nearest;
    slope->unknown = !s.any && error <= explained * middle.roughness;
    slope->kink = slope->unknown || agrees(&s);
    return status;
}
