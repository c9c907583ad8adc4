#include "train/report/study.h"

#include "core/memory.h"
#include "core/path.h"
#include "data/data.h"
#include "train/config/keys.h"
#include "train/folder/session.h"
#include "util/csv.h"
#include "util/files.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

/* Returns the text of the vocabulary of a run; NULL if it has none. */
static char *read_vocabulary(const rt_data_options *o, const char *folder)
{
    const char *file = o->level == RT_LEVEL_BPE ? "tokenizer.json" : "vocab.txt";
    return rt_read_text(RT_PATH_IN(folder, file));
}

/* Returns whether two runs have the same vocabulary: the same text, or none. Labels have no
 * vocabulary. */
static bool same_vocabulary(const rt_config *a, const char *folder_a, const rt_config *b,
                            const char *folder_b)
{
    const rt_data_options *one = &a->data, *other = &b->data;
    if (rt_tasks[one->task].target != RT_TARGET_IDS)
        return true;
    RT_OWNED char *text = read_vocabulary(one, folder_a),
                  *other_text = read_vocabulary(other, folder_b);
    return text && other_text ? one->level == other->level && one->lowercase == other->lowercase &&
                                    !strcmp(text, other_text)
                              : !text && !other_text;
}

/* Returns data.vocab_file if two runs have read other contents of it; NULL otherwise. */
static const char *changed_vocabulary(const rt_config *a, const char *folder_a, const rt_config *b,
                                      const char *folder_b)
{
    const char *path = a->data.vocab_file, *other = b->data.vocab_file;
    if (!path || !other || strcmp(path, other) != 0 || a->data.level != b->data.level)
        return NULL;
    RT_OWNED char *text = read_vocabulary(&a->data, folder_a),
                  *other_text = read_vocabulary(&b->data, folder_b);
    return text && other_text && strcmp(text, other_text) != 0 ? path : NULL;
}

static bool lacks_loss(const rt_sweep_runs *s, int run)
{
    return isnan(rt_sweep_number(s, run, rt_sweep_column(s, RT_RESULT_LOSS)));
}

/* Returns whether a run is evaluated on about the same text as one with another vocabulary: windows
 * and a held-out share are counted in tokens, so that bytes may differ by 5 %. Older runs have no
 * number of bytes. A run without a loss is not evaluated. */
static bool same_text(const rt_sweep_runs *s, const rt_config *config, int run, int other)
{
    const int column = rt_sweep_column(s, RT_RESULT_BYTES);
    const double bytes = rt_sweep_number(s, run, column);
    const double others = rt_sweep_number(s, other, column);
    if (lacks_loss(s, run) || isnan(bytes) || isnan(others))
        return lacks_loss(s, run) || !config->train.eval_batches;
    return fabs(bytes - others) <= 0.05 * fmax(bytes, others);
}

/* Returns whether every row that has a loss has bits per byte. */
static bool have_bits(const rt_sweep_runs *runs)
{
    const int loss = rt_sweep_column(runs, RT_RESULT_LOSS);
    const int bits = rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE);
    bool found = bits >= 0;
    for (int row = 0; row < runs->row_count && found; row++)
        found = !rt_sweep_summary(runs, row, loss).count || rt_sweep_summary(runs, row, bits).count;
    return found;
}

/* Returns a digest of what a run was trained with: equal for runs that differ in keys without
 * effect alone. Threads change no result; a sweep shares them among its runs. */
static uint64_t setting_of(const rt_sweep_runs *s, const rt_config *config)
{
    rt_config own = *config;
    own.run.name = own.run.dir = NULL;
    if (rt_sweep_column(s, "run.threads") < 0)
        own.run.threads = 0;
    RT_OWNED char *ini = rt_config_ini(&own);
    return ini ? XXH3_64bits(ini, strlen(ini)) : 0;
}

/* Chooses the ranking of those runs whose folders have a configuration, and numbers the questions
 * that they answer. A question is that of the first run that answers it. Runs with other
 * vocabularies answer one question only in bits per byte, of the same text. Runs that have read
 * other contents of a file differ in more than their settings. */
static rt_status choose_ranking(rt_ranking *ranking, rt_sweep_runs *runs)
{
    struct question {
        rt_config config;
        const char *folder;
        int run;
    } *list = NULL;
    size_t capacity = 0;
    int count = 0;
    const bool bits = have_bits(runs);
    bool in_memory = true, in_bits = false;
    const char *differ = NULL;
    for (int n = 0; n < 2 * runs->count && in_memory; n++) { /* first those that have a loss */
        const int i = n % runs->count;
        rt_sweep_run *run = &runs->list[i];
        const char *other = NULL;
        rt_config config;
        if (lacks_loss(runs, i) != (n >= runs->count) ||
            rt_config_load_folder(&config, run->folder).code)
            continue;
        run->setting = setting_of(runs, &config);
        in_memory = run->setting != 0;
        for (run->question = 0; run->question < count; run->question++) {
            const struct question *q = &list[run->question];
            rt_session_take_moved(&config, run->folder, &q->config, q->folder);
            other = rt_config_asks_other(&q->config, &config);
            const char *changed =
                other ? NULL : rt_session_changed_input(&q->config, q->folder, run->folder);
            if (!other && !changed)
                changed = changed_vocabulary(&q->config, q->folder, &config, run->folder);
            if (changed)
                other = rt_intern_text(RT_PRINTED(RT_PATH_SIZE + 16, "contents of %s", changed));
            if (!other && !same_vocabulary(&q->config, q->folder, &config, run->folder)) {
                in_bits = true;
                other =
                    !bits ? "vocabularies"
                    : same_text(runs, &config, i, q->run)
                        ? NULL
                        : "amounts of text (take all of a data.eval_file: train.eval_batches = 0)";
            }
            if (!other)
                break;
            differ = differ ? differ : other;
        }
        if (run->question < count || !in_memory)
            continue;
        in_memory = rt_grow(&list, &capacity, (size_t)count + 1, sizeof *list);
        if (in_memory)
            list[count++] = (struct question){config, run->folder, i};
    }
    rt_free(list);
    *ranking = (rt_ranking){differ    ? NULL
                            : in_bits ? RT_RESULT_BITS_PER_BYTE
                                      : RT_RESULT_LOSS,
                            differ};
    return rt_allocated(in_memory, "the questions of the runs");
}

/* Returns whether the losses of two runs are comparable, and they agree in all settings but one,
 * which has an effect. */
static bool are_pair(const rt_sweep_runs *s, int a, int b, int column)
{
    const rt_sweep_run *one = s->list + a, *other = s->list + b;
    return one->question == other->question && one->row != other->row &&
           rt_sweep_same_seed(s, a, b) && rt_sweep_same_settings(s, one, other, column);
}

/* Runs with one value of a key, each paired with a run of another value. */
typedef struct pairs {
    int result; /* column of the result; its differences are in s->values */
    struct {
        int a, b;
    } * list; /* their runs */
    int count;
    int seeds; /* number of their seeds */
} pairs;

/* Lists the differences between `value` and `against`, and returns their number. Each run has at
 * most one partner, the first with a result. Two rows have one pair of each seed. */
static int find_pairs(pairs *p, const rt_sweep_runs *s, int column, const char *value,
                      const char *against)
{
    const rt_sweep_run *list = s->list;
    p->count = p->seeds = 0;
    for (int a = 0; a < s->count; a++) {
        double difference = NAN;
        bool known_seed = false, known_pair = false;
        int b = -1;
        if (strcmp(list[a].cells[column], value) != 0)
            continue;
        while (!isfinite(difference) && ++b < s->count)
            if (!strcmp(list[b].cells[column], against) && are_pair(s, a, b, column))
                difference = rt_sweep_sample(s, a, p->result) - rt_sweep_sample(s, b, p->result);
        for (int i = 0; i < p->count && b < s->count && !known_pair; i++) {
            const bool same = rt_sweep_same_seed(s, p->list[i].a, a);
            known_seed |= same;
            known_pair = same && list[p->list[i].a].row == list[a].row &&
                         list[p->list[i].b].row == list[b].row;
        }
        if (b == s->count || known_pair)
            continue;
        p->seeds += !known_seed;
        s->values[p->count] = difference;
        p->list[p->count].a = a;
        p->list[p->count++].b = b;
    }
    return p->count;
}

/* Returns whether a run is the first with its value. */
static bool is_first(const rt_sweep_runs *s, int column, int run)
{
    for (int i = 0; i < run; i++)
        if (!strcmp(s->list[i].cells[column], s->list[run].cells[column]))
            return false;
    return true;
}

/* Returns whether all runs with a value of train.steps have taken these steps: none stopped early.
 * Older runs do not say. */
static bool took_steps(const rt_sweep_runs *s, int column, const char *value)
{
    const int taken = rt_sweep_column(s, RT_RESULT_STEPS);
    bool all = true;
    for (int i = 0; i < s->count && all; i++) {
        const double steps = rt_sweep_sample(s, i, taken);
        all = strcmp(s->list[i].cells[column], value) != 0 || isnan(steps) ||
              steps == rt_csv_value(value);
    }
    return all;
}

/* Returns the mean change of the loss over all values of train.steps whose double also occurs. NaN
 * if one has an interval that does not lie below 0: the worth of a difference is its quotient. */
static double find_doubling(pairs *p, const rt_sweep_runs *s, rt_student *t)
{
    double sum = 0;
    int count = 0;
    const int column = rt_sweep_column(s, "train.steps");
    for (int a = 0; a < s->count && column >= 0; a++)
        for (int b = 0; b < s->count && is_first(s, column, a); b++) {
            const char *more = s->list[b].cells[column], *steps = s->list[a].cells[column];
            if (!is_first(s, column, b) || rt_csv_value(more) != 2 * rt_csv_value(steps) ||
                !took_steps(s, column, more) || !took_steps(s, column, steps))
                continue;
            const int found = find_pairs(p, s, column, more, steps);
            const rt_difference d = rt_difference_of(s->values, found, p->seeds, t);
            if (d.high >= 0)
                return (double)NAN;
            sum += found ? d.mean : 0;
            count += found > 0;
        }
    return count ? sum / count : (double)NAN;
}

rt_status rt_paired_make(rt_paired *p, const rt_sweep_runs *s, const rt_ranking *ranking)
{
    const char *result = ranking->result ? ranking->result : RT_RESULT_LOSS;
    size_t capacity = 0;
    rt_student t = {.count = 0};
    pairs found = {.result = rt_sweep_column(s, result),
                   .list = rt_alloc((size_t)s->count + 1, sizeof *found.list)};
    bool in_memory = found.list != NULL;
    *p = (rt_paired){.bits = strcmp(result, RT_RESULT_LOSS) != 0, .doubling = NAN};
    /* differences between the first value of each key and every other */
    for (int column = 1; column < s->exit_column && in_memory; column++)
        for (int run = 1; run < s->count && rt_sweep_differs(s, column) && in_memory; run++) {
            const char *value = s->list[run].cells[column], *against = s->list[0].cells[column];
            if (!is_first(s, column, run))
                continue;
            in_memory = rt_grow(&p->list, &capacity, (size_t)p->count + 1, sizeof *p->list);
            if (!in_memory)
                break;
            const int count = find_pairs(&found, s, column, value, against);
            const rt_difference loss = rt_difference_of(s->values, count, found.seeds, &t);
            p->list[p->count++] =
                (rt_paired_difference){s->names[column], value, against, loss, found.seeds};
            p->pairs += count;
            p->intervals |= !isnan(loss.low);
            p->dependent |= count > found.seeds;
        }
    if (in_memory)
        p->doubling = find_doubling(&found, s, &t);
    rt_free(found.list);
    return rt_allocated(in_memory, "paired differences");
}

void rt_paired_free(rt_paired *p)
{
    rt_free(p->list);
    *p = (rt_paired){.list = NULL};
}

/* Returns the differences of a result, `row` minus `best`, between runs with the same seed. */
static rt_difference compare_rows(const rt_sweep_runs *s, int best, int row, int column,
                                  rt_student *t)
{
    int count = 0;
    for (int a = s->rows[row].first; a >= 0; a = s->list[a].next)
        for (int b = s->rows[best].first; b >= 0; b = s->list[b].next) {
            if (!rt_sweep_same_seed(s, a, b))
                continue;
            const double d = rt_sweep_sample(s, a, column) - rt_sweep_sample(s, b, column);
            if (isfinite(d))
                s->values[count++] = d;
            break;
        }
    return rt_difference_of(s->values, count, s->seed_column < 0 ? 1 : count, t);
}

rt_sweep_best rt_sweep_find_best(const rt_sweep_runs *s, const rt_ranking *ranking)
{
    const int column = ranking->result ? rt_sweep_column(s, ranking->result) : -1;
    rt_sweep_best best = {.row = -1, .mean = INFINITY, .rival = -1};
    rt_student t = {.count = 0};
    bool whole = false; /* some row has all its runs: one that lacks some is not the best */
    for (int row = 0; row < s->row_count; row++) {
        const rt_summary summary = rt_sweep_summary(s, row, column);
        const bool all = summary.count == s->rows[row].runs;
        if (summary.count && all >= whole && (all > whole || summary.mean < best.mean)) {
            best.row = row;
            best.mean = summary.mean;
        }
        whole |= all && summary.count;
    }
    for (int row = 0; row < s->row_count && best.row >= 0; row++) {
        const double mean = rt_sweep_summary(s, row, column).mean;
        if (row == best.row || isnan(mean))
            continue;
        const rt_difference d = compare_rows(s, best.row, row, column, &t);
        /* of other seeds, or a row that lacks runs: neither is known to be the best */
        if ((d.count ? d.mean : mean - best.mean) < 0) {
            best.row = -1;
            break;
        }
        const bool same = !isnan(d.low) && !rt_difference_is_apart(&d);
        if (best.rival < 0 || (same && !best.same) ||
            (mean < best.rival_mean && same == (best.same > 0))) {
            best.rival = row;
            best.from_rival = d;
            best.rival_mean = mean;
        }
        best.others++;
        best.same += same;
        best.unknown += isnan(d.low);
    }
    if (!best.others)
        best.row = -1;
    return best;
}

bool rt_sweep_best_is_apart(const rt_sweep_best *best)
{
    return best->row >= 0 && !best->same && !best->unknown;
}

/* Adds the settings of a row; the name of its first run if the table is by names or if all settings
 * are equal. */
static void add_row_name(rt_writer *w, const rt_sweep_study *study, int row)
{
    const size_t before = w->length;
    if (study->order == RT_SETTINGS_FIRST)
        rt_sweep_row_settings(w, &study->runs, row);
    if (w->length == before)
        rt_writer_add(w, "%s", study->runs.list[study->runs.rows[row].first].cells[0]);
}

void rt_sweep_report_best(rt_writer *w, const rt_sweep_study *study)
{
    const rt_sweep_best *best = &study->best;
    const rt_difference *d = &best->from_rival;
    if (best->row < 0)
        return;
    rt_writer_add(w, strcmp(study->ranking.result, RT_RESULT_LOSS) ? "fewest bits per byte: "
                                                                   : "lowest loss: ");
    add_row_name(w, study, best->row);
    rt_writer_add(w, ", %.4f; ", best->mean);
    if (best->same)
        rt_writer_add(w, "not told apart from ");
    add_row_name(w, study, best->rival);
    if (best->same > 1)
        rt_writer_add(w, " and %d more", best->same - 1);
    if (!isnan(d->low))
        rt_writer_add(w, "%s %.3g [%.3g, %.3g] (95 %% interval, %d pairs)",
                      best->same ? ", which is higher by" : " is higher by", d->mean, d->low,
                      d->high, d->count);
    else
        rt_writer_add(w, " has %.4f, without an interval: that needs two common seeds",
                      best->rival_mean);
    if (!best->same && !best->unknown && best->others > 1)
        rt_writer_add(w, "; the others are told apart, too");
    rt_writer_add(w, "\n");
}

double rt_paired_compute(const rt_paired *p, const rt_paired_difference *d, double difference)
{
    return p->doubling < 0 && strcmp(d->key, "train.steps") != 0
               ? 100 * (exp2(difference / p->doubling) - 1)
               : (double)NAN;
}

void rt_paired_report(rt_writer *w, const rt_paired *p)
{
    if (p->pairs)
        rt_writer_add(w, "paired differences of the %s%s\n", p->bits ? "bits per byte" : "loss",
                      p->intervals ? " [95 % interval]; detectable: the smallest that this design "
                                     "shows with 90 % power"
                                   : ", without an interval: that needs two seeds");
    for (int i = 0; i < p->count; i++) {
        const rt_paired_difference *d = &p->list[i];
        const double more = rt_paired_compute(p, d, d->loss.mean);
        if (!d->loss.count)
            continue;
        rt_writer_add(w, "  %s = %s against %s: %+.3g", d->key, d->value, d->against, d->loss.mean);
        if (!isnan(d->loss.low))
            rt_writer_add(w, " [%+.3g, %+.3g], detectable %.3g", d->loss.low, d->loss.high,
                          d->loss.detectable);
        if (!isnan(more))
            rt_writer_add(w, ", worth %+.1f %% of compute", more);
        if (!isnan(more + d->loss.low)) /* a lower loss is worth more */
            rt_writer_add(w, " [%+.1f, %+.1f]", rt_paired_compute(p, d, d->loss.high),
                          rt_paired_compute(p, d, d->loss.low));
        rt_writer_add(w, " (%d pair%s", d->loss.count, d->loss.count > 1 ? "s" : "");
        if (d->loss.count > d->seeds)
            rt_writer_add(w, " of %d seed%s, not independent", d->seeds, d->seeds > 1 ? "s" : "");
        rt_writer_add(w, ")\n");
    }
}

void rt_paired_csv(rt_writer *w, const rt_paired *p)
{
    rt_writer_add(w, "key,value,against,n,mean,low,high,detectable_90\n");
    for (int i = 0; i < p->count; i++) {
        const rt_paired_difference *d = &p->list[i];
        const char *const texts[] = {d->key, d->value, d->against};
        const double numbers[] = {d->loss.mean, d->loss.low, d->loss.high, d->loss.detectable};
        for (int n = 0; n < 3; n++) {
            rt_csv_put(w, texts[n]);
            rt_writer_add(w, ",");
        }
        rt_writer_add(w, "%d", d->loss.count);
        for (int n = 0; n < 4; n++)
            rt_csv_add_number(w, numbers[n]);
        rt_writer_add(w, "\n");
    }
}

rt_status rt_sweep_study_make(rt_sweep_study *s)
{
    RT_TRY(choose_ranking(&s->ranking, &s->runs));
    RT_TRY(rt_sweep_rows_find(&s->runs));
    RT_TRY(rt_sweep_table_make(&s->table, &s->runs, s->order));
    s->verdict = rt_sweep_judge(&s->runs);
    s->best = rt_sweep_find_best(&s->runs, &s->ranking);
    return rt_paired_make(&s->paired, &s->runs, &s->ranking);
}

void rt_sweep_study_free(rt_sweep_study *s)
{
    rt_paired_free(&s->paired);
    rt_sweep_table_free(&s->table);
    rt_sweep_runs_free(&s->runs);
}
