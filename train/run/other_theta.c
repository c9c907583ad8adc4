#include "train/run/other_theta.h"

#include "core/memory.h"
#include "core/path.h"
#include "models/encodings/encoding.h"
#include "text/number.h"
#include "text/quote.h"
#include "train/run/theta_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What numbers are found for. */
typedef struct search {
    const char *what;     /* the whole of it */
    const char *argument; /* behind the colon */
    const rt_transformer *model;
    int length;
    double *numbers;
} search;

static size_t size_of(const search *s)
{
    return rt_shape_size(rt_transformer_rotation_shape(&s->model->options));
}

rt_status rt_theta_expect(const char *asked, const rt_transformer_options *o)
{
    if (!rt_encoding_of(o)->rotation)
        return rt_error(RT_CONFIG, "%.1000s: position.kind = %s has no theta", asked,
                        rt_encoding_of(o)->word);
    if (!rt_transformer_pairs(o))
        return rt_error(RT_CONFIG, "%.1000s: position.fraction = 0 leaves no pair that rotates",
                        asked);
    return rt_ok();
}

/* ---- what there is ---- */

/* A learned theta as it began; a fixed one has never changed. */
static rt_status find_start(const search *s, bool *factors)
{
    const rt_transformer_options *o = &s->model->options;
    const double *start = rt_transformer_theta_start(s->model);
    const rt_shape of = rt_transformer_theta_shape(o), shape = rt_transformer_rotation_shape(o);
    const int rows = shape.axis[1], pairs = shape.axis[2];
    *factors = !start;
    for (int i = 0; i < (int)size_of(s); i++) {
        const int layer = of.axis[0] > 1 ? i / pairs / rows : 0;
        const int row = of.axis[1] > 1 ? i / pairs % rows : 0;
        s->numbers[i] = start ? start[(layer * of.axis[1] + row) * pairs + i % pairs] : 1;
    }
    return rt_ok();
}

static rt_status find_base(const search *s, bool *factors)
{
    const rt_transformer_options *o = &s->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int heads = shape.axis[1], pairs = shape.axis[2];
    *factors = false;
    for (int n = 0; n < shape.axis[0] * heads; n++) {
        const int layer = rt_transformer_theta_layer(o, n / heads);
        rt_theta_geometric(s->numbers + (size_t)n * (size_t)pairs, pairs,
                           rt_layer_row_of(o, layer).base);
    }
    return rt_ok();
}

static rt_status find_scale(const search *s, bool *factors)
{
    char quoted[RT_QUOTE_SIZE];
    double factor;
    if (!rt_number_read(s->argument, &factor))
        return rt_error(RT_CONFIG, "--theta scale:X: X must be a number%s; got %s",
                        rt_number_is_decimal(s->argument) ? " in the range of a double" : "",
                        rt_quote(quoted, s->argument));
    *factors = true;
    for (size_t i = 0; i < size_of(s); i++)
        s->numbers[i] = factor;
    return rt_ok();
}

void rt_theta_switch_off(double *factors, const rt_transformer_options *o, int K)
{
    const size_t count = rt_shape_size(rt_transformer_rotation_shape(o));
    const size_t pairs = (size_t)rt_transformer_pairs(o);
    for (size_t i = 0; i < count; i++)
        factors[i] = i % pairs < (size_t)K;
}

/* Of fewer than so many turns. */
static rt_status switch_turns_off(const search *s, double turns)
{
    const rt_transformer_options *o = &s->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const size_t of_layer = (size_t)shape.axis[1] * (size_t)shape.axis[2];
    rt_transformer_rotation(s->model, s->length, s->numbers);
    for (int n = 0; n < shape.axis[0]; n++) {
        const int reach = rt_transformer_reach(o, rt_transformer_theta_layer(o, n), s->length);
        double *numbers = s->numbers + (size_t)n * of_layer;
        for (size_t i = 0; i < of_layer; i++)
            numbers[i] = rt_theta_turns(numbers[i], reach) >= turns;
    }
    return rt_ok();
}

/* "12", or "0.5turns". */
static rt_status find_off(const search *s, bool *factors)
{
    static const char unit[] = "turns";
    char quoted[RT_QUOTE_SIZE], number[RT_NUMBER_SIZE];
    const int pairs = rt_transformer_pairs(&s->model->options);
    const size_t length = strlen(s->argument), rest = length < strlen(unit) ? 0 : strlen(unit);
    double turns;
    int64_t K;
    *factors = true;
    snprintf(number, sizeof number, "%.*s", (int)(length - rest), s->argument);
    if (rest && !strcmp(s->argument + length - rest, unit) && rt_number_read(number, &turns) &&
        turns >= 0)
        return switch_turns_off(s, turns);
    if (!rt_whole_read(s->argument, &K) || K < 0)
        return rt_error(RT_CONFIG,
                        "--theta off:K: K must be the number of a pair, or a number of turns as in "
                        "off:0.5turns; got %s",
                        rt_quote(quoted, s->argument));
    if (K >= pairs)
        return rt_error(RT_CONFIG, "--theta %.100s: the model has pairs 0 to %d", s->what,
                        pairs - 1);
    rt_theta_switch_off(s->numbers, &s->model->options, (int)K);
    return rt_ok();
}

static rt_status find_file(const search *s, bool *factors)
{
    *factors = false;
    return rt_theta_file_read_rotation(s->what, s->model, s->numbers);
}

/* ---- by name ---- */

static const struct {
    const char *word; /* whole, or with what follows its colon; NULL: any other is a file */
    rt_status (*find)(const search *s, bool *factors);
} kinds[] = {{"start", find_start},
             {"base", find_base},
             {"off:", find_off},
             {"scale:", find_scale},
             {NULL, find_file}};

static bool is_of(const char *what, const char *word)
{
    const size_t length = strlen(word);
    return word[length - 1] == ':' ? !strncmp(what, word, length) : !strcmp(what, word);
}

rt_status rt_other_theta_find(rt_other_theta *other, const char *what, const rt_transformer *model,
                              int length)
{
    char asked[RT_PATH_SIZE];
    search s = {.what = what, .model = model, .length = length};
    int kind = 0;
    *other = (rt_other_theta){.numbers = NULL};
    snprintf(asked, sizeof asked, "--theta %.900s", what);
    const rt_status there = rt_theta_expect(asked, &model->options);
    if (there.code)
        return there;
    while (kinds[kind].word && !is_of(what, kinds[kind].word))
        kind++;
    s.argument = what + (kinds[kind].word ? strlen(kinds[kind].word) : 0);
    s.numbers = other->numbers = rt_alloc(size_of(&s), sizeof *s.numbers);
    if (!s.numbers)
        return rt_out_of_memory("theta");
    other->change.numbers = s.numbers;
    return kinds[kind].find(&s, &other->change.factors);
}

void rt_other_theta_free(rt_other_theta *other)
{
    rt_free(other->numbers);
    *other = (rt_other_theta){.numbers = NULL};
}

/* ---- the report ---- */

typedef struct extent {
    double low, high; /* of |theta| that is not 0 */
    int least, most;  /* pairs of a head that turn */
} extent;

static extent find_extent(const double *theta, int heads, int pairs)
{
    extent e = {.low = INFINITY, .least = pairs};
    for (int h = 0; h < heads; h++) {
        int count = 0;
        for (int i = 0; i < pairs; i++) {
            const double size = fabs(theta[h * pairs + i]);
            if (!(size > 0))
                continue;
            count++;
            e.low = fmin(e.low, size);
            e.high = fmax(e.high, size);
        }
        e.least = count < e.least ? count : e.least;
        e.most = count > e.most ? count : e.most;
    }
    return e;
}

rt_status rt_other_theta_report(rt_writer *w, const char *what, const rt_transformer *model,
                                int length)
{
    const rt_transformer_options *o = &model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const int pairs = shape.axis[2], reach = rt_transformer_reach(o, -1, length);
    double *theta = rt_alloc(rt_shape_size(shape), sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    rt_transformer_rotation(model, length, theta);
    const extent e = find_extent(theta, shape.axis[0] * shape.axis[1], pairs);
    rt_writer_add(w, "theta: %s in the place of the model's own: ", what);
    if (e.least == e.most)
        rt_writer_add(w, "%d of %d pairs of a head rotate", e.most, pairs);
    else
        rt_writer_add(w, "%d to %d of %d pairs of a head rotate", e.least, e.most, pairs);
    if (e.most)
        rt_writer_add(w, ", |theta| from %.6g to %.6g, from %.3g to %.3g turns over %d positions",
                      e.low, e.high, rt_theta_turns(e.low, reach), rt_theta_turns(e.high, reach),
                      reach - 1);
    rt_writer_add(w, "\n");
    rt_free(theta);
    return rt_ok();
}
