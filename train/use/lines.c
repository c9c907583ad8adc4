/* Commands that read a text line by line: --embed and --eval --per-line.
 *
 * Each line is processed by itself, as a row of labelled data (data/labelled_batch.h) or as the
 * start of a running text, truncated to data.length. So its result is bitwise identical whatever
 * the other lines are, for any number of threads. */

#include "train/use/use.h"

#include "core/memory.h"
#include "data/gzip.h"
#include "data/json_lines.h"
#include "data/labelled_batch.h"
#include "data/tokenizers/vocabulary.h"
#include "io/checkpoint/image.h"
#include "train/step/measurements.h"
#include "util/csv.h"
#include "util/durable_file.h"
#include "util/files.h"
#include "util/npy.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* A line as the input of a model. */
typedef struct text_row {
    int32_t *ids, *types; /* types: NULL if there are none */
    int count;            /* 0: the line has no tokens */
    int scored;           /* --per-line: tokens with a loss */
    double loss;          /* --per-line: sum over these tokens */
} text_row;

/* A text file that is read line by line, and its rows. */
typedef struct text_rows {
    const rt_data *data;
    const char *name;  /* name of the file, for messages */
    int32_t last;      /* running text: token appended to a text; RT_NO_ID: none */
    bool may_be_empty; /* an empty line gives a row without tokens */
    rt_lines lines;
    rt_labelled_batch example; /* labelled data */
    text_row *rows;            /* row of each line */
    size_t count, capacity;
    long cut; /* lines longer than data.length */
    rt_unknown unknown;
} text_rows;

static rt_status copy_ids(int32_t **copy, const int32_t *ids, int count)
{
    *copy = rt_alloc((size_t)count, sizeof **copy);
    RT_TRY(rt_allocated(*copy, "the ids of a text"));
    memcpy(*copy, ids, (size_t)count * sizeof *ids);
    return rt_ok();
}

static rt_status read_labelled(text_rows *r, text_row *row)
{
    RT_CLOSED_BY(rt_example_text_free) rt_example_text text = {0};
    RT_TRY(rt_draw_text(&r->example, r->data, r->lines.bytes, r->lines.size, &text));
    const rt_batch *b = &r->example.batch;
    row->count = b->length;
    r->cut += text.cut;
    rt_unknown_add(&r->unknown, &text.unknown, r->lines.start);
    RT_TRY(copy_ids(&row->ids, b->ids, b->length));
    return b->types ? copy_ids(&row->types, b->types, b->length) : rt_ok();
}

/* Puts the ids of a line between the tokens that begin and end a text, truncated to data.length. */
static rt_status read_running(text_rows *r, text_row *row)
{
    const bool begins = rt_data_begins(r->data), ends = r->last != RT_NO_ID;
    const int capacity = r->data->options.length - begins - ends;
    RT_OWNED int32_t *ids = NULL;
    int count;
    rt_unknown unknown;
    const char *zero = memchr(r->lines.bytes, '\0', r->lines.size);
    if (zero)
        return rt_error(RT_ARGUMENT, "byte 0x00 at byte %zu is not text",
                        (size_t)(zero - r->lines.bytes));
    RT_TRY(rt_data_encode(r->data, r->lines.bytes, &ids, &count, &unknown));
    if (!count && !r->may_be_empty)
        return rt_error(RT_ARGUMENT, "the line has no token");
    const int taken = count < capacity ? count : capacity;
    rt_unknown_add(&r->unknown, &unknown, r->lines.start);
    if (!count)
        return rt_ok();
    row->ids = rt_alloc((size_t)(taken + 2), sizeof *row->ids);
    RT_TRY(rt_allocated(row->ids, "the ids of a text"));
    r->cut += count > capacity;
    if (begins)
        row->ids[row->count++] = r->data->vocabulary->special.cls;
    memcpy(row->ids + row->count, ids, (size_t)taken * sizeof *ids);
    row->count += taken;
    if (ends)
        row->ids[row->count++] = r->last;
    return rt_ok();
}

/* Opens a file, or standard input for "-", and reads all lines. Returns RT_DATA for a file or line
 * that cannot be read, a line without a token, or no lines; RT_CONFIG for data without text. */
static rt_status read_lines(text_rows *r, const char *path)
{
    const bool standard = !strcmp(path, "-");
    r->name = standard ? "standard input" : path;
    if (!standard && (rt_json_is_lines(path) || rt_name_is_packed(path)))
        return rt_error(RT_CONFIG,
                        "%.900s: the lines must be those of a plain text: unpack it, and write the "
                        "field of JSON lines into one",
                        path);
    r->lines.from = standard ? stdin : fopen(path, "r");
    if (!r->lines.from)
        return rt_error(RT_DATA, "%.900s: cannot be read: %s", path, strerror(errno));
    if (!r->data->vocabulary)
        return rt_error(RT_CONFIG, "the model reads no texts: it needs data.task = text, classify "
                                   "or tag, and a vocabulary");
    const bool labelled = r->data->labels != NULL;
    rt_status status = rt_ok();
    if (labelled)
        RT_TRY(rt_labelled_batch_new(&r->example, 1, r->data->options.length, 0, NULL));
    while (!status.code && rt_lines_next(&r->lines)) {
        if (!rt_grow(&r->rows, &r->capacity, r->count + 1, sizeof *r->rows)) {
            status = rt_out_of_memory("the rows of a text");
            break;
        }
        text_row *row = r->rows + r->count++;
        *row = (text_row){0};
        if (r->lines.size)
            status = labelled ? read_labelled(r, row) : read_running(r, row);
        else if (!r->may_be_empty)
            status = rt_error(RT_ARGUMENT, "the line has no token: it is empty");
    }
    if (!status.code)
        status = r->lines.status;
    const rt_code code = status.code == RT_ARGUMENT ? RT_DATA : status.code;
    if (status.code)
        return rt_error(code, "%.600s:%ld: %.800s", r->name, r->lines.number, status.message);
    return r->count ? rt_ok() : rt_error(RT_DATA, "%.900s has no line", r->name);
}

static void free_lines(text_rows *r)
{
    if (r->lines.from && r->lines.from != stdin)
        fclose(r->lines.from);
    rt_lines_free(&r->lines);
    rt_labelled_batch_free(&r->example);
    for (size_t i = 0; i < r->count; i++) {
        rt_free(r->rows[i].ids);
        rt_free(r->rows[i].types);
    }
    rt_free(r->rows);
}

static void report_cut_lines(rt_run *r, long cut)
{
    if (cut)
        rt_run_say(r, "warning: %ld lines are longer than data.length = %d and are cut at the end",
                   cut, r->config->data.length);
}

enum { MOST_AT_ONCE = 1024 }; /* lines whose vectors are computed before any is printed */

typedef struct embedding {
    rt_pooling pool;
    int layer; /* 0: the embeddings; -1: the last layer, after the final norm */
    const text_rows *rows;
    size_t first; /* index of the row of the first vector */
    int dim;
    real *vectors; /* (rows, dim) */
} embedding;

static rt_status embed_row(void *context, int job, const rt_labelled_batch *batch,
                           rt_transformer *model, rt_graph *g)
{
    (void)batch;
    const embedding *e = context;
    const text_row *row = e->rows->rows + e->first + job;
    const int layer = e->layer;
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
    const rt_tensor *vector = rt_pool(g, hidden && inside ? states[layer] : hidden, e->pool, NULL);
    for (int i = 0; vector && i < e->dim; i++) {
        if (!isfinite(vector->data[i]))
            return rt_error(RT_NONFINITE, "%.600s:%zu: component %d of the vector is %g",
                            e->rows->name, e->first + (size_t)job + 1, i, (double)vector->data[i]);
        e->vectors[(size_t)job * (size_t)e->dim + (size_t)i] = vector->data[i];
    }
    return rt_graph_status(g);
}

static rt_status print_vectors(rt_trainer *trainer, embedding *e)
{
    const size_t rows = e->rows->count;
    for (int i = 0; i < e->dim; i++)
        printf("%sv%d", i ? "," : "", i);
    putchar('\n');
    for (; e->first < rows; e->first += MOST_AT_ONCE) {
        const size_t left = rows - e->first;
        const int count = left < MOST_AT_ONCE ? (int)left : MOST_AT_ONCE;
        RT_TRY(rt_trainer_run_jobs(trainer, embed_row, e, count));
        for (int i = 0; i < count * e->dim; i++)
            printf("%.9g%c", (double)e->vectors[i], i % e->dim < e->dim - 1 ? ',' : '\n');
    }
    return rt_ok();
}

/* Writes the vectors to the file of --output: a NumPy array, or the HDF5 dataset /embeddings. */
static rt_status write_vectors(rt_run *r, embedding *e)
{
    const text_rows *rows = e->rows;
    const char *path = r->arguments->output;
    const size_t size = rows->count * (size_t)e->dim * sizeof *e->vectors;
    unsigned char header[RT_NPY_HEADER];
    rt_durable_file file;
    if (rows->count > (size_t)(INT_MAX / e->dim))
        return rt_error(RT_DATA,
                        "%.600s has %zu lines; a dataset of vectors of %d numbers has up to %d",
                        rows->name, rows->count, e->dim, INT_MAX / e->dim);
    RT_TRY(rt_trainer_run_jobs(r->trainer, embed_row, e, (int)rows->count));
    rt_status status = rt_durable_open(&file, path);
    if (!status.code && rt_path_ends_in(path, ".npy")) {
        rt_npy_header(header, sizeof *e->vectors == sizeof(float) ? "f4" : "f8", rows->count,
                      (size_t)e->dim);
        status = rt_durable_write(&file, header, sizeof header);
        if (!status.code)
            status = rt_durable_write(&file, e->vectors, size);
    } else if (!status.code) {
        rt_image *image = rt_image_new();
        rt_image_put_reals(image, "/embeddings", e->vectors, RT_SHAPE_OF((int)rows->count, e->dim));
        status = rt_image_status(image);
        if (!status.code)
            status = rt_image_write(image, &file);
        rt_image_close(image);
    }
    return rt_durable_close(&file, status);
}

rt_status rt_embed_lines(rt_run *r)
{
    const rt_arguments *a = r->arguments;
    const rt_transformer_options *model = &r->state->model->options;
    RT_CLOSED_BY(free_lines) text_rows rows = {.data = r->data, .last = rt_run_last_token(r)};
    embedding e = {.pool = a->pooling, .layer = a->layer, .rows = &rows, .dim = model->dim};
    if (a->output)
        RT_TRY(rt_arguments_spare_inputs(a, r->config, r->found.path, a->output));
    if (a->layer > model->layers)
        return rt_error(RT_CONFIG,
                        "--layer %d: the model has layers 1 to %d, and 0 for the embeddings",
                        a->layer, model->layers);
    RT_TRY(read_lines(&rows, a->embed));
    const size_t kept = a->output || rows.count < MOST_AT_ONCE ? rows.count : MOST_AT_ONCE;
    RT_OWNED real *vectors = e.vectors = rt_alloc_unset(kept * (size_t)e.dim, sizeof *vectors);
    RT_TRY(rt_allocated(vectors, "the vectors of the lines"));
    RT_TRY(a->output ? write_vectors(r, &e) : print_vectors(r->trainer, &e));
    rt_run_report_unknown(r, &rows.unknown, rows.name);
    report_cut_lines(r, rows.cut);
    if (a->output)
        printf("embeddings: %s\n", a->output);
    return rt_ok();
}

static rt_status check_loss(double loss, const char *name, size_t line)
{
    return isfinite(loss) ? rt_ok()
                          : rt_error(RT_NONFINITE, "%.600s:%zu: the loss is %g", name, line, loss);
}

static rt_status print_labelled(rt_trainer *trainer)
{
    const rt_data *data = rt_trainer_data(trainer);
    const char *file = data->options.eval_file ? data->options.eval_file : data->options.file;
    char *const *names = data->labels->names;
    rt_line_scores scores;
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    const rt_status status = rt_line_scores_find(&scores, trainer);
    RT_OWNED rt_line_score *lines = scores.lines;
    RT_TRY(status);
    rt_writer_add(&w, "line,loss,label,predicted\n");
    for (size_t i = 0; i < scores.count; i++) {
        const rt_line_score *s = lines + i;
        RT_TRY(check_loss(s->loss, file, (size_t)s->line));
        rt_writer_add(&w, "%d,%.9g,", s->line, s->loss);
        rt_csv_put(&w, names[s->label]);
        rt_writer_add(&w, ",");
        rt_csv_put(&w, names[s->predicted]);
        rt_writer_add(&w, "\n");
    }
    return rt_writer_print(&w, stdout);
}

/* Adds the loss of each token, except special ones, given all others. */
static rt_status score_masked(const text_rows *rows, text_row *row, rt_transformer *model,
                              rt_graph *g)
{
    const rt_data *data = rows->data;
    /* a row may end with a token that is not part of the line */
    const int end = row->count - (rows->last != RT_NO_ID);
    for (int32_t t = rt_data_begins(data); t < end; t++) {
        const int32_t id = row->ids[t];
        if (!rt_data_masks(data, id))
            continue;
        rt_graph_clear(g);
        row->ids[t] = data->vocabulary->special.mask;
        const rt_tensor *logits = rt_text_logits(model, g, row->ids, row->count, &t);
        row->ids[t] = id;
        if (!logits)
            break;
        row->loss += rt_logits_loss(logits->data, rt_columns(logits), id);
        row->scored++;
    }
    return rt_graph_status(g);
}

static rt_status score_line(void *context, int job, const rt_labelled_batch *batch,
                            rt_transformer *model, rt_graph *g)
{
    (void)batch;
    const text_rows *rows = context;
    text_row *row = rows->rows + job;
    if (!model->options.causal)
        return score_masked(rows, row, model, g);
    const rt_tensor *logits =
        row->count > 1 ? rt_text_logits(model, g, row->ids, row->count, NULL) : NULL;
    const int last = rows->data->options.eval_last, left = row->count - 1 - last;
    for (int t = last && left > 0 ? left : 0; logits && t + 1 < row->count;
         t++, row->scored++) /* given the tokens before it */
        row->loss += rt_logits_loss(logits->data + (size_t)t * (size_t)rt_columns(logits),
                                    rt_columns(logits), row->ids[t + 1]);
    return rt_graph_status(g);
}

rt_status rt_print_line_losses(rt_run *r)
{
    const char *path = r->config->data.eval_file;
    const bool masked = r->config->data.objective == RT_OBJECTIVE_MLM; /* later tokens are seen */
    RT_CLOSED_BY(free_lines)
    text_rows rows = {.data = r->data,
                      .last = masked ? rt_run_last_token(r) : RT_NO_ID,
                      .may_be_empty = true};
    if (r->data->labels)
        return print_labelled(r->trainer);
    if (!r->data->vocabulary)
        return rt_error(RT_CONFIG, "--per-line needs data.task = text, classify or tag");
    if (!path || strchr(path, ','))
        return rt_error(RT_CONFIG,
                        "--per-line evaluates the lines of one text: give data.eval_file=FILE");
    RT_TRY(read_lines(&rows, path));
    if (rows.count > INT_MAX)
        return rt_error(RT_DATA, "the text has more than %d lines", INT_MAX);
    RT_TRY(rt_trainer_run_jobs(r->trainer, score_line, &rows, (int)rows.count));
    for (size_t i = 0; i < rows.count; i++)
        RT_TRY(check_loss(rows.rows[i].loss, path, i + 1));
    printf("line,loss,tokens\n");
    for (size_t i = 0; i < rows.count; i++) {
        const text_row *row = rows.rows + i;
        printf("%zu,", i + 1);
        if (row->scored)
            printf("%.9g", row->loss / row->scored);
        printf(",%d\n", row->scored);
    }
    report_cut_lines(r, rows.cut);
    return rt_ok();
}
