#include "train/run/embed.h"

#include "core/memory.h"
#include "io/checkpoint/image.h"
#include "text/number.h"

#include <limits.h>
#include <string.h>

enum { MOST_AT_ONCE = 1024 }; /* lines, of which the vectors wait to be printed */

typedef struct embedding {
    const rt_embed_options *o;
    const rt_text_row *rows;
    int dim;
    real *vectors; /* (rows, dim) */
} embedding;

bool rt_pooling_find(const char *word, rt_pooling *pool)
{
    static const char *const words[] = {RT_POOLINGS(RT_CHOICE_WORD)};
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
        if (!strcmp(words[i], word)) {
            *pool = (rt_pooling)i;
            return true;
        }
    return false;
}

static rt_status embed_row(void *context, int job, rt_transformer *model, rt_graph *g)
{
    const embedding *e = context;
    const rt_text_row *row = e->rows + job;
    const int layer = e->o->layer;
    const bool inside = layer >= 0 && layer < model->options.layers;
    rt_tensor **states =
        inside ? rt_graph_memory(g, (size_t)model->options.layers + 1, sizeof *states) : NULL;
    const rt_transformer_input in = {.B = 1,
                                     .T = row->count,
                                     .ids = row->ids,
                                     .token_types = row->types,
                                     .padding_id = RT_NO_PADDING,
                                     .hidden_states = states};
    rt_tensor *hidden = rt_transformer_encode(model, g, &in);
    const rt_tensor *vector =
        rt_pool(g, hidden && inside ? states[layer] : hidden, e->o->pool, NULL);
    if (vector)
        memcpy(e->vectors + (size_t)job * (size_t)e->dim, vector->data,
               (size_t)e->dim * sizeof *vector->data);
    return rt_graph_status(g);
}

/* ---- as CSV ---- */

static void print_heading(FILE *to, int dim)
{
    for (int i = 0; i < dim; i++)
        fprintf(to, "%sv%d", i ? "," : "", i);
    fputc('\n', to);
}

static void print_vectors(FILE *to, const embedding *e, int count)
{
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < e->dim; i++)
            fprintf(to, "%s%.9g", i ? "," : "",
                    (double)e->vectors[(size_t)r * (size_t)e->dim + (size_t)i]);
        fputc('\n', to);
    }
}

static rt_status print_all(FILE *to, rt_trainer *trainer, embedding *e, const rt_text_rows *rows)
{
    rt_status status = rt_ok();
    print_heading(to, e->dim);
    for (size_t first = 0; first < rows->count && !status.code; first += MOST_AT_ONCE) {
        const size_t left = rows->count - first;
        const int count = left < MOST_AT_ONCE ? (int)left : MOST_AT_ONCE;
        e->rows = rows->rows + first;
        status = rt_trainer_run_jobs(trainer, embed_row, e, count);
        if (!status.code)
            print_vectors(to, e, count);
    }
    return status;
}

/* ---- as a dataset ---- */

static rt_status write_image(const char *path, const embedding *e, int count)
{
    rt_durable_file file;
    rt_image *image = rt_image_new();
    rt_image_put_reals(image, "/embeddings", e->vectors, RT_SHAPE_OF(count, e->dim));
    rt_status status = rt_image_status(image);
    if (!status.code) {
        status = rt_durable_open(&file, path);
        if (!status.code)
            status = rt_image_write(image, &file);
        status = rt_durable_close(&file, status);
    }
    rt_image_close(image);
    return status;
}

static rt_status write_all(rt_trainer *trainer, embedding *e, const rt_text_rows *rows)
{
    if (rows->count > (size_t)(INT_MAX / e->dim))
        return rt_error(RT_DATA,
                        "%.600s has %zu lines; a dataset of vectors of %d numbers has up to %d",
                        e->o->source.name, rows->count, e->dim, INT_MAX / e->dim);
    e->rows = rows->rows;
    rt_status status = rt_trainer_run_jobs(trainer, embed_row, e, (int)rows->count);
    return status.code ? status : write_image(e->o->output, e, (int)rows->count);
}

/* ---- both ---- */

rt_status rt_embed(FILE *to, rt_trainer *trainer, const rt_embed_options *o, long *cut,
                   rt_unknown *unknown)
{
    const rt_transformer_options *model = &rt_trainer_state(trainer)->model->options;
    embedding e = {.o = o, .dim = model->dim};
    rt_text_rows rows;
    if (o->layer > model->layers)
        return rt_error(RT_CONFIG,
                        "--layer %d: the model has layers 1 to %d, and 0 for the embeddings",
                        o->layer, model->layers);
    rt_status status = rt_text_rows_read(&rows, rt_trainer_data(trainer), o->source);
    *cut = rows.cut;
    *unknown = rows.unknown;
    const size_t kept = o->output || rows.count < MOST_AT_ONCE ? rows.count : MOST_AT_ONCE;
    if (!status.code && !(e.vectors = rt_alloc_unset(kept * (size_t)e.dim, sizeof *e.vectors)))
        status = rt_out_of_memory("the vectors of the lines");
    if (!status.code)
        status = o->output ? write_all(trainer, &e, &rows) : print_all(to, trainer, &e, &rows);
    rt_free(e.vectors);
    rt_text_rows_free(&rows);
    return status;
}
