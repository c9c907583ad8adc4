#include "train/run/theta.h"

#include "core/memory.h"
#include "core/path.h"
#include "util/csv.h"
#include "util/number.h"
#include "util/writer.h"

#include <math.h>
#include <string.h>

/* State of reading a table of theta. */
typedef struct reading {
    const char *path;
    const rt_transformer_options *model;
    rt_shape shape;                 /* layers, heads, pairs */
    bool share_layers, share_heads; /* all layers, all heads share one learned theta */
    bool positive;                  /* theta must be positive, because its logarithm is stored */
    double *theta;                  /* result; NaN where no theta was read yet */
} reading;

static rt_status open_table(rt_csv *csv, const char *path)
{
    static const char *const required[] = {"layer", "head", "i", "theta"};
    char folder[RT_PATH_SIZE];
    const char *name = rt_path_split(path, folder);
    const bool open = name && *path && rt_csv_open(csv, folder, name);
    if (!open && (!name || !csv->status.code))
        return rt_error(RT_CONFIG, "%.1000s: there is no table of theta", path);
    for (size_t i = 0; open && i < sizeof required / sizeof *required; i++)
        if (rt_csv_column(csv, required[i]) == csv->columns)
            return rt_error(RT_CONFIG, "%.1000s has no column '%s'", path, required[i]);
    return open ? rt_ok() : csv->status;
}

static rt_status refuse_cell(const reading *r, const rt_csv *csv, const char *name,
                             const char *wish)
{
    return rt_error(RT_CONFIG, "%.1000s: %s must be %s; got %s", r->path, name, wish,
                    RT_QUOTED(rt_csv_cell(csv, name)));
}

/* Parses a cell as the range *first ... *end - 1: one number below `count`, or all of them. */
static rt_status read_range(const reading *r, const rt_csv *csv, const char *name, int count,
                            bool shared, int *first, int *end)
{
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
    return refuse_cell(r, csv, name,
                       RT_PRINTED(64, "'all' or from 0 to %d in this model", count - 1));
}

static rt_status take_row(const reading *r, const rt_csv *csv)
{
    const rt_transformer_options *o = r->model;
    const int *axis = r->shape.axis;
    const double theta = rt_csv_number(csv, "theta");
    const bool signs = !r->positive || theta > 0;
    int layer, last_layer, head, last_head, i;
    bool taken = false;
    RT_TRY(read_range(r, csv, "layer", o->layers, r->share_layers, &layer, &last_layer));
    RT_TRY(read_range(r, csv, "head", axis[1], r->share_heads, &head, &last_head));
    if (!isfinite((double)(real)theta) || !signs) {
        const bool beyond =
            isfinite(theta) ? signs : rt_number_is_decimal(rt_csv_cell(csv, "theta"));
        return refuse_cell(r, csv, "theta",
                           beyond        ? "in the range of numbers in " RT_PRECISION
                           : r->positive ? "a number above 0, since theta.form = log"
                                         : "a number");
    }
    if (!rt_csv_whole(csv, "i", &i) || i >= axis[2])
        return refuse_cell(r, csv, "i", RT_PRINTED(64, "from 0 to %d in this model", axis[2] - 1));
    for (int n = 0; n < axis[0]; n++) {
        const int l = rt_transformer_theta_layer(o, n);
        if (l < layer || l >= last_layer)
            continue;
        taken = true;
        for (int h = head; h < last_head; h++) {
            double *to = &r->theta[(n * axis[1] + h) * axis[2] + i];
            if (!isnan(*to))
                return rt_error(RT_CONFIG, "%.1000s has theta of layer %d, head %d, i %d twice",
                                r->path, l, h, i);
            *to = theta;
        }
    }
    return taken ? rt_ok() : refuse_cell(r, csv, "layer", "of a layer that has positions");
}

rt_status rt_theta_table_read(const char *path, const rt_transformer_options *model, rt_shape shape,
                              bool positive, double *theta)
{
    reading r = {.path = path,
                 .model = model,
                 .shape = shape,
                 .share_layers = model->theta.learn && model->theta.scope == RT_THETA_MODEL,
                 .share_heads = model->theta.learn && model->theta.scope != RT_THETA_HEAD,
                 .positive = positive,
                 .theta = theta};
    const int *axis = shape.axis, count = (int)rt_shape_size(shape);
    RT_CLOSED_BY(rt_csv_close) rt_csv csv = {0};
    rt_status status = open_table(&csv, path), rows = rt_ok();
    const bool has_steps = !status.code && rt_csv_column(&csv, "step") < csv.columns;
    csv.whole = true;
    int step = -1, last_step = -2; /* -1 for all rows without a column step */
    while (!status.code && rt_csv_row(&csv)) {
        if (has_steps && !rt_csv_whole(&csv, "step", &step)) {
            status = refuse_cell(&r, &csv, "step", "a whole number");
        } else if (step > last_step) { /* rows of earlier steps, and their errors, do not count */
            last_step = step;
            rows = rt_ok();
            for (int n = 0; n < count; n++)
                theta[n] = (double)NAN;
        }
        if (!status.code && !rows.code && step == last_step)
            rows = take_row(&r, &csv);
    }
    if (!status.code)
        status = csv.status.code ? csv.status : rows;
    if (status.code && status.code != RT_MEMORY)
        status.code = RT_CONFIG;
    for (int n = 0; n < count && !status.code; n++)
        if (last_step == -2 || isnan(theta[n])) /* -2: there was no row */
            status = rt_error(RT_CONFIG,
                              "%.1000s has no theta for layer %d, head %d, i %d of this model (a "
                              "line needs all columns)",
                              path, rt_transformer_theta_layer(model, n / axis[2] / axis[1]),
                              n / axis[2] % axis[1], n % axis[2]);
    return status;
}
