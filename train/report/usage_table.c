#include "train/report/usage_table.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/writer.h"

/* Columns behind layer, head and i, of the pairs of a head. */
enum { THETA, TURNS, USE, QUERY, KEY, QUERY_MEAN, KEY_MEAN, COLUMNS };

typedef struct table {
    const rt_transformer *model;
    const rt_usage *usage;
    int length, pairs;
    double *theta; /* laid out as rt_transformer_rotation */
    double *columns[COLUMNS];
} table;

/* Of query head h of the n-th layer that has pairs. */
static void fill(const table *t, int n, int h)
{
    const rt_transformer_options *o = &t->model->options;
    const int kv = n * o->kv_heads + h / (o->heads / o->kv_heads);
    const int l = rt_transformer_theta_layer(o, n), reach = rt_transformer_reach(o, l, t->length);
    for (int i = 0; i < t->pairs; i++) {
        t->columns[THETA][i] = t->theta[kv * t->pairs + i];
        t->columns[TURNS][i] = rt_theta_turns(t->columns[THETA][i], reach);
    }
    rt_transformer_head_use(t->model, l, h, t->columns[USE]);
    rt_usage_shares(t->columns[QUERY], t->columns[QUERY_MEAN],
                    t->usage->query + (size_t)((n * o->heads + h) * t->pairs), t->pairs);
    rt_usage_shares(t->columns[KEY], t->columns[KEY_MEAN], t->usage->key + (size_t)(kv * t->pairs),
                    t->pairs);
}

static void add_rows(rt_writer *w, const table *t)
{
    const rt_transformer_options *o = &t->model->options;
    const int layers = rt_transformer_rotation_shape(o).axis[0];
    rt_writer_add(w, "layer,head,i,theta,turns,use,query,key,query_mean,key_mean\n");
    for (int n = 0; n < layers; n++)
        for (int h = 0; h < o->heads; h++) {
            fill(t, n, h);
            for (int i = 0; i < t->pairs; i++) {
                rt_writer_add(w, "%d,%d,%d", rt_transformer_theta_layer(o, n), h, i);
                for (int c = 0; c < COLUMNS; c++)
                    rt_csv_add_number(w, t->columns[c][i]);
                rt_writer_add(w, "\n");
            }
        }
}

char *rt_usage_csv(const rt_transformer *model, const rt_usage *usage, int length)
{
    const rt_transformer_options *o = &model->options;
    const size_t pairs = (size_t)rt_transformer_pairs(o);
    const size_t count = rt_shape_size(rt_transformer_rotation_shape(o));
    double *room = rt_alloc(count + COLUMNS * pairs, sizeof *room);
    table t = {
        .model = model, .usage = usage, .length = length, .pairs = (int)pairs, .theta = room};
    rt_writer w = {0};
    if (!room)
        return NULL;
    for (size_t c = 0; c < COLUMNS; c++)
        t.columns[c] = room + count + c * pairs;
    rt_transformer_rotation(model, length, t.theta);
    add_rows(&w, &t);
    rt_free(room);
    return rt_writer_take(&w);
}
