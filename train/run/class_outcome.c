#include "train/run/class_outcome.h"

#include "core/memory.h"
#include "text/csv.h"
#include "text/quote.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN = 20 }; /* rows of the table */

rt_status rt_class_outcome_new(rt_class_outcome *o, const rt_data *data)
{
    const rt_labels *labels = rt_data_labels(data);
    *o = (rt_class_outcome){.labels = labels};
    if (!labels)
        return rt_ok();
    const size_t classes = (size_t)labels->count;
    o->confusion = rt_alloc(classes * classes, sizeof *o->confusion);
    o->scores = rt_alloc(classes, sizeof *o->scores);
    return o->confusion && o->scores ? rt_ok() : rt_out_of_memory("a confusion matrix");
}

void rt_class_outcome_free(rt_class_outcome *o)
{
    rt_free(o->confusion);
    rt_free(o->scores);
    *o = (rt_class_outcome){.labels = NULL};
}

/* ---- the table ---- */

/* Characters, of which nearly all are one column wide. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void add_name(rt_writer *w, const char *name, int width)
{
    rt_writer_add(w, "%s%*s", name, width - width_of(name), "");
}

void rt_class_outcome_report(rt_writer *w, rt_class_outcome *o)
{
    static const char heading[] = "label";
    const int classes = o->labels->count;
    char quoted[RT_QUOTE_SIZE];
    int chosen[SHOWN], width = width_of(heading);
    o->macro = rt_scores_find(o->scores, o->confusion, classes);
    const int count = rt_scores_lowest(chosen, o->scores, classes, SHOWN);
    for (int i = 0; i < count; i++) {
        const int own = width_of(rt_quote(quoted, o->labels->names[chosen[i]]));
        width = own > width ? own : width;
    }
    rt_writer_add(w, "macro F1 %.4f (%d classes)\n", o->macro.f1, o->macro.classes);
    add_name(w, heading, width);
    rt_writer_add(w, "  precision  recall      F1     count\n");
    for (int i = 0; i < count; i++) {
        const rt_class_score *s = o->scores + chosen[i];
        add_name(w, rt_quote(quoted, o->labels->names[chosen[i]]), width);
        rt_writer_add(w, "  %9.4f  %6.4f  %6.4f  %8" PRId64 "\n", s->precision, s->recall, s->f1,
                      s->count);
    }
    if (count < o->macro.classes)
        rt_writer_add(w, "these are the %d of the %d classes with the lowest F1\n", count,
                      o->macro.classes);
}

/* ---- files ---- */

void rt_class_outcome_classes(rt_writer *w, const rt_class_outcome *o)
{
    rt_writer_add(w, "label,precision,recall,f1,count\n");
    for (int c = 0; c < o->labels->count; c++) {
        const rt_class_score *s = o->scores + c;
        rt_csv_put(w, o->labels->names[c]);
        rt_writer_add(w, ",%.9g,%.9g,%.9g,%" PRId64 "\n", s->precision, s->recall, s->f1, s->count);
    }
}

void rt_class_outcome_confusion(rt_writer *w, const rt_class_outcome *o)
{
    const int classes = o->labels->count;
    rt_writer_add(w, "true,predicted,count\n");
    for (int c = 0; c < classes; c++)
        for (int k = 0; k < classes; k++) {
            const int64_t pairs = o->confusion[(size_t)c * (size_t)classes + (size_t)k];
            if (!pairs)
                continue;
            rt_csv_put(w, o->labels->names[c]);
            rt_writer_add(w, ",");
            rt_csv_put(w, o->labels->names[k]);
            rt_writer_add(w, ",%" PRId64 "\n", pairs);
        }
}
