/* --predict for labelled data: the class of a text, and the tags of its tokens. */

#include "train/run/prediction.h"

#include "core/memory.h"
#include "data/labels.h"

#include <math.h>

/* Lays the text out as a row and finds the logits of its labels; NULL on an error. */
static const rt_tensor *find_logits(rt_prediction *p, rt_example_text *x, rt_status *status)
{
    const rt_tensor *logits = NULL;
    *status = rt_draw_text(&p->row, p->data, p->text, p->size, x);
    p->unknown = x->unknown;
    p->cut = x->cut;
    if (status->code)
        return NULL;
    rt_graph_clear(p->g);
    rt_graph_record(p->g, false);
    logits = rt_batch_logits(p->model, p->g, &p->row);
    *status = rt_graph_status(p->g);
    return logits;
}

/* The most likely label of a row of logits, a tab and its probability, the softmax of the row. */
static void print_label(const rt_prediction *p, const rt_tensor *logits, size_t row)
{
    const size_t classes = (size_t)rt_columns(logits);
    const real *x = logits->data + row * classes;
    const int best = rt_largest(logits, row);
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum += exp((double)x[c] - (double)x[best]);
    fprintf(p->to, "%s\t%.4f\n", rt_data_labels(p->data)->names[best], 1 / sum);
}

rt_status rt_predict_class(rt_prediction *p)
{
    rt_example_text x;
    rt_status status;
    const rt_tensor *logits = find_logits(p, &x, &status);
    if (!status.code)
        print_label(p, logits, 0);
    rt_example_text_free(&x);
    return status;
}

/* A token that was cut off has no label. */
rt_status rt_predict_tags(rt_prediction *p)
{
    rt_example_text x;
    rt_status status;
    const rt_tensor *logits = find_logits(p, &x, &status);
    for (int i = 0; i < p->row.labels && !status.code; i++) {
        const rt_text_span token = x.texts[p->row.wanted[i]];
        fwrite(token.bytes, 1, token.size, p->to);
        fputc('\t', p->to);
        print_label(p, logits, (size_t)i);
    }
    if (!status.code)
        fputc('\n', p->to);
    rt_example_text_free(&x);
    return status;
}
