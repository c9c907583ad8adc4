#include "train/report/samples.h"

#include "core/memory.h"
#include "data/tokenizers/vocabulary.h"
#include "models/session.h"
#include "train/report/token_label.h"
#include "train/step/batch_loss.h"

enum { SAMPLES = 3, MOST_CONTINUED = 128 };

typedef struct sampling {
    rt_writer *page;
    const rt_data *data;
    rt_transformer *model;
    rt_graph *g;
    rt_labelled_batch b; /* one sequence */
    int32_t *predicted;  /* for each of its labels */
    rt_session *session; /* of continuations */
    real *next;          /* (V): their logits */
} sampling;

/* No special token. */
static int32_t most_likely(const rt_vocabulary *v, real *logits)
{
    const rt_tensor row = rt_tensor_of(logits, NULL, RT_SHAPE_OF(v->count));
    rt_vocabulary_mask_logits(v, false, logits);
    return rt_largest(&row, 0);
}

/* The most likely token for every label. */
static rt_status predict(sampling *s)
{
    const rt_vocabulary *v = rt_data_vocabulary(s->data);
    rt_graph_clear(s->g);
    rt_graph_record(s->g, false);
    const rt_tensor *logits = s->b.labels ? rt_batch_logits(s->model, s->g, &s->b) : NULL;
    for (int i = 0; logits && i < s->b.labels; i++)
        s->predicted[i] = most_likely(v, logits->data + (size_t)i * rt_columns(logits));
    return rt_graph_status(s->g);
}

static void add_in(sampling *s, const char *element, const int32_t *ids, int count)
{
    rt_writer_add(s->page, "<%s>", element);
    rt_token_text(s->page, s->data, ids, count);
    rt_writer_add(s->page, "</%s>", element);
}

/* ---- masked tokens ---- */

/* The text between two labels is as it was drawn: what is masked has a label. */
static rt_status fill(sampling *s)
{
    rt_status status = predict(s);
    int from = 0;
    rt_writer_add(s->page, "<p class=\"sample\">");
    for (int i = 0; i < s->b.labels && !status.code; i++) {
        const int at = s->b.where[i];
        rt_token_text(s->page, s->data, s->b.batch.ids + from, at - from);
        if (s->predicted[i] != s->b.wanted[i])
            add_in(s, "del", &s->predicted[i], 1);
        add_in(s, s->predicted[i] == s->b.wanted[i] ? "ins" : "b", &s->b.wanted[i], 1);
        from = at + 1;
    }
    rt_token_text(s->page, s->data, s->b.batch.ids + from, s->b.batch.length - from);
    rt_writer_add(s->page, "</p>\n");
    return status;
}

/* ---- continuation ---- */

/* The second half of the sequence gives way to what the model makes of the first. */
static rt_status generate(sampling *s)
{
    const int half = s->b.batch.length / 2, rest = s->b.batch.length - half;
    const int end = half + (rest < MOST_CONTINUED ? rest : MOST_CONTINUED);
    int32_t *ids = s->b.batch.ids;
    rt_status status = rt_session_keep(s->session, 0);
    for (int t = half, read = 0; t < end && !status.code; read = t++) {
        status = rt_session_feed(s->session, ids + read, t - read, 1, s->next);
        ids[t] = most_likely(rt_data_vocabulary(s->data), s->next);
    }
    rt_writer_add(s->page, "<p class=\"sample\">");
    rt_token_text(s->page, s->data, ids, half);
    add_in(s, "ins", ids + half, end - half);
    rt_writer_add(s->page, "</p>\n");
    return status;
}

/* ---- the section ---- */

static void begin(rt_writer *page, bool lm)
{
    rt_writer_add(page, "<h2>Samples</h2>\n<p>%s</p>\n",
                  lm ? "From the evaluation data: the first half of a sequence, and, underlined, "
                       "how the model continues it with the most likely tokens."
                     : "From the evaluation data: masked tokens that were predicted correctly are "
                       "underlined; a wrong prediction is struck out before the true token.");
}

rt_status rt_report_samples(rt_writer *page, const rt_config *config, rt_trainer *trainer)
{
    const bool lm = config->data.objective == RT_OBJECTIVE_LM;
    const int length = config->data.length;
    sampling s = {.page = page, .data = rt_trainer_data(trainer)};
    if (!rt_data_vocabulary(s.data) || !rt_data_task_has_objective(config->data.task))
        return rt_ok();
    s.model = rt_trainer_state(trainer)->model;
    s.g = rt_graph_new();
    s.predicted = rt_alloc((size_t)length, sizeof *s.predicted);
    rt_status status = rt_labelled_batch_new(&s.b, 1, length);
    s.next = rt_alloc((size_t)s.model->options.vocab, sizeof *s.next);
    if (!status.code && (!s.g || !s.predicted || !s.next))
        status = rt_out_of_memory("a sample");
    if (!status.code && lm)
        status = rt_session_new(&s.session, s.model, 0);
    const long rows = rt_data_evaluation_rows(s.data, length);
    if (!status.code)
        begin(page, lm);
    rt_trainer_hold(trainer);
    for (int i = 0; i < SAMPLES && i < rows && !status.code; i++) {
        rt_draw_evaluation(&s.b, s.data, (uint32_t)i);
        status = lm ? generate(&s) : fill(&s);
    }
    rt_trainer_let_go();
    if (!status.code)
        status = rt_engine_status();
    rt_labelled_batch_free(&s.b);
    rt_free(s.predicted);
    rt_free(s.next);
    rt_session_free(s.session);
    rt_graph_free(s.g);
    return status;
}
