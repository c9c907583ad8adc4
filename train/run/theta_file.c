#include "train/run/theta_file.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/quote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct reading {
    const char *path;
    const rt_transformer_options *model;
    rt_shape shape;                 /* layers, heads, pairs */
    bool share_layers, share_heads; /* all of them have one theta */
    bool positive;                  /* theta has a logarithm */
    double *theta;                  /* NaN where there is none yet */
    int last_step;                  /* -1 without such a column */
} reading;

static rt_status open_table(rt_csv *csv, const char *path)
{
    static const char *const required[] = {"layer", "head", "i", "theta"};
    char folder[RT_PATH_SIZE];
    const char *name = rt_path_name(path);
    const int length = (int)(name - path) - 1;
    const bool fits = snprintf(folder, sizeof folder, "%.*s", length < 0 ? 1 : length,
                               length < 0 ? "." : path) < (int)sizeof folder;
    const bool open = fits && *path && rt_csv_open(csv, folder, name);
    if (!open && (!fits || !csv->status.code))
        return rt_error(RT_CONFIG, "%.1000s: there is no table of theta", path);
    for (size_t i = 0; open && i < sizeof required / sizeof *required; i++)
        if (rt_csv_column(csv, required[i]) == csv->columns)
            return rt_error(RT_CONFIG, "%.1000s has no column '%s'", path, required[i]);
    return open ? rt_ok() : csv->status;
}

/* Calls `take` for each row. */
static rt_status each_row(reading *r, rt_status (*take)(reading *, const rt_csv *))
{
    rt_csv csv = {0};
    rt_status status = open_table(&csv, r->path);
    while (!status.code && rt_csv_row(&csv))
        status = take(r, &csv);
    if (!status.code)
        status = csv.status;
    rt_csv_close(&csv);
    if (status.code && status.code != RT_MEMORY)
        status.code = RT_CONFIG;
    return status;
}

static rt_status refuse_cell(const reading *r, const rt_csv *csv, const char *name,
                             const char *wish)
{
    char quoted[RT_QUOTE_SIZE];
    return rt_error(RT_CONFIG, "%.1000s: %s must be %s; got %s", r->path, name, wish,
                    rt_quote(quoted, rt_csv_cell(csv, name)));
}

static rt_status find_last_step(reading *r, const rt_csv *csv)
{
    int step;
    if (rt_csv_column(csv, "step") == csv->columns)
        return rt_ok();
    if (!rt_csv_whole(csv, "step", &step))
        return refuse_cell(r, csv, "step", "a whole number");
    if (step > r->last_step)
        r->last_step = step;
    return rt_ok();
}

/* The range that a cell stands for: one number, or all of them. */
static rt_status read_range(const reading *r, const rt_csv *csv, const char *name, int count,
                            bool shared, int *first, int *end)
{
    char wish[64];
    *first = 0;
    *end = count;
    if (!strcmp(rt_csv_cell(csv, name), "all"))
        return rt_ok();
    if (shared)
        return refuse_cell(r, csv, name, "'all', since the model shares theta");
    if (rt_csv_whole(csv, name, first) && *first < count) {
        *end = *first + 1;
        return rt_ok();
    }
    snprintf(wish, sizeof wish, "'all' or from 0 to %d in this model", count - 1);
    return refuse_cell(r, csv, name, wish);
}

static rt_status read_theta(const reading *r, const rt_csv *csv, double *theta)
{
    *theta = rt_csv_number(csv, "theta");
    if (isfinite((double)(real)*theta) && (!r->positive || *theta > 0))
        return rt_ok();
    if (isfinite(*theta) ? !r->positive || *theta > 0
                         : rt_number_is_decimal(rt_csv_cell(csv, "theta")))
        return refuse_cell(r, csv, "theta", "in the range of numbers in " RT_PRECISION);
    return refuse_cell(r, csv, "theta",
                       r->positive ? "a number above 0, since theta.form = log" : "a number");
}

static rt_status take_row(reading *r, const rt_csv *csv)
{
    const rt_transformer_options *o = r->model;
    const int *axis = r->shape.axis;
    int step, layer, last_layer, head, last_head, i;
    bool taken = false;
    double theta;
    if (r->last_step >= 0 && rt_csv_whole(csv, "step", &step) && step != r->last_step)
        return rt_ok();
    rt_status status = read_range(r, csv, "layer", o->layers, r->share_layers, &layer, &last_layer);
    if (!status.code)
        status = read_range(r, csv, "head", axis[1], r->share_heads, &head, &last_head);
    if (!status.code)
        status = read_theta(r, csv, &theta);
    if (!status.code && (!rt_csv_whole(csv, "i", &i) || i >= axis[2])) {
        char wish[64];
        snprintf(wish, sizeof wish, "from 0 to %d in this model", axis[2] - 1);
        status = refuse_cell(r, csv, "i", wish);
    }
    for (int n = 0; !status.code && n < axis[0]; n++) {
        const int l = rt_transformer_theta_layer(o, n);
        if (l < layer || l >= last_layer)
            continue;
        taken = true;
        for (int h = head; !status.code && h < last_head; h++) {
            double *to = &r->theta[(n * axis[1] + h) * axis[2] + i];
            if (!isnan(*to))
                status = rt_error(RT_CONFIG, "%.1000s has theta of layer %d, head %d, i %d twice",
                                  r->path, l, h, i);
            *to = theta;
        }
    }
    return status.code || taken ? status
                                : refuse_cell(r, csv, "layer", "of a layer that has positions");
}

static rt_status find_missing(const reading *r)
{
    const int *axis = r->shape.axis;
    for (int n = 0; n < axis[0] * axis[1] * axis[2]; n++)
        if (isnan(r->theta[n]))
            return rt_error(RT_CONFIG,
                            "%.1000s has no theta for layer %d, head %d, i %d of this model (a "
                            "line needs all columns, and an end)",
                            r->path, rt_transformer_theta_layer(r->model, n / axis[2] / axis[1]),
                            n / axis[2] % axis[1], n % axis[2]);
    return rt_ok();
}

static rt_status read_file(reading *r)
{
    for (size_t n = 0; n < rt_shape_size(r->shape); n++)
        r->theta[n] = (double)NAN;
    rt_status status = each_row(r, find_last_step);
    if (!status.code)
        status = each_row(r, take_row);
    return status.code ? status : find_missing(r);
}

static reading reading_of(const char *path, const rt_transformer *model, double *theta)
{
    const rt_theta_options *o = &model->options.theta;
    return (reading){.path = path,
                     .model = &model->options,
                     .share_layers = o->learn && o->scope == RT_THETA_MODEL,
                     .share_heads = o->learn && o->scope != RT_THETA_HEAD,
                     .theta = theta,
                     .last_step = -1};
}

rt_status rt_theta_file_read(const char *path, const rt_transformer *model, double *theta)
{
    reading r = reading_of(path, model, theta);
    if (!model->options.theta.learn)
        return rt_error(RT_CONFIG, "%.1000s: this model has no learned theta", path);
    r.shape = rt_transformer_theta_shape(&model->options);
    r.positive = model->options.theta.form == RT_THETA_LOG;
    return read_file(&r);
}

rt_status rt_theta_file_read_rotation(const char *path, const rt_transformer *model, double *theta)
{
    reading r = reading_of(path, model, theta);
    r.shape = rt_transformer_rotation_shape(&model->options);
    return read_file(&r);
}
