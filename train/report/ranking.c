#include "train/report/ranking.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/text_file.h"
#include "train/config/config.h"
#include "train/folder/results.h"

#include <math.h>
#include <string.h>

/* A run that is there: what decides what its loss is of. */
typedef struct question {
    rt_config config;
    char *vocabulary; /* the file in its folder; NULL if there is none */
} question;

static void close_question(question *q)
{
    rt_free(q->vocabulary);
    q->vocabulary = NULL;
}

static bool open_question(question *q, const char *folder, const char *run)
{
    char member[RT_PATH_SIZE], path[RT_PATH_SIZE];
    q->vocabulary = NULL;
    if (rt_path_join(member, folder, run).code || rt_config_load_folder(&q->config, member).code)
        return false;
    const bool bpe = q->config.data.level == RT_LEVEL_BPE;
    if (!rt_path_join(path, member, bpe ? "tokenizer.json" : "vocab.txt").code)
        q->vocabulary = rt_read_text(path);
    return true;
}

/* Whether both are evaluated on the same: with data.eval_file, whatever they are trained on. */
static bool has_same_data(const rt_data_options *a, const rt_data_options *b)
{
    if (strcmp(a->eval_file, b->eval_file) != 0 || a->eval_seed != b->eval_seed)
        return false;
    return *a->eval_file || (!strcmp(a->file, b->file) && a->eval_fraction == b->eval_fraction);
}

/* That of a task without a text is a number of ids. Labels have none. */
static bool has_same_vocabulary(const question *a, const question *b)
{
    const rt_data_options *x = &a->config.data, *y = &b->config.data;
    if (rt_data_task_target(x->task) != RT_TARGET_IDS)
        return true;
    if (a->vocabulary && b->vocabulary)
        return x->level == y->level && x->lowercase == y->lowercase &&
               !strcmp(a->vocabulary, b->vocabulary);
    return !a->vocabulary && !b->vocabulary && x->vocab == y->vocab;
}

/* What makes the losses of two runs those of different questions; NULL if nothing does. */
static const char *find_difference(const rt_data_options *a, const rt_data_options *b)
{
    const bool objective = a->task == b->task && rt_data_task_has_objective(a->task);
    const bool mlm = objective && a->objective == RT_OBJECTIVE_MLM;
    if (a->task != b->task)
        return "tasks";
    if (objective && a->objective != b->objective)
        return "objectives";
    if (mlm && a->mask_probability != b->mask_probability)
        return "shares of masked tokens";
    return has_same_data(a, b) ? NULL : "data";
}

static bool every_row_has_bits(const rt_sweep_runs *runs)
{
    const int loss = rt_sweep_column(runs, RT_RESULT_LOSS);
    const int bits = rt_sweep_column(runs, RT_RESULT_BITS_PER_BYTE);
    for (int row = 0; row < runs->row_count; row++)
        if (rt_sweep_summary(runs, row, loss).count && !rt_sweep_summary(runs, row, bits).count)
            return false;
    return bits >= 0;
}

rt_ranking rt_report_rank(const char *folder, const rt_sweep_runs *runs)
{
    const char *different = NULL;
    bool same_vocabulary = true, any = false;
    question *first = rt_alloc(2, sizeof *first);
    if (!first)
        return (rt_ranking){NULL, NULL};
    question *other = first + 1;
    for (int i = 0; i < runs->count && !different; i++) {
        question *q = any ? other : first;
        const bool there = open_question(q, folder, runs->list[i].cells[0]);
        if (any && there) {
            different = find_difference(&first->config.data, &other->config.data);
            same_vocabulary = same_vocabulary && has_same_vocabulary(first, other);
        }
        if (any)
            close_question(other);
        any = any || there;
    }
    close_question(first);
    rt_free(first);
    if (different)
        return (rt_ranking){NULL, different};
    if (same_vocabulary)
        return (rt_ranking){RT_RESULT_LOSS, NULL};
    return every_row_has_bits(runs) ? (rt_ranking){RT_RESULT_BITS_PER_BYTE, NULL}
                                    : (rt_ranking){NULL, "vocabularies"};
}

int rt_ranking_best(const rt_ranking *ranking, const rt_sweep_runs *runs)
{
    const int column = ranking->result ? rt_sweep_column(runs, ranking->result) : -1;
    double lowest = INFINITY;
    int best = -1;
    for (int row = 0; row < runs->row_count && runs->row_count > 1; row++) {
        const rt_summary s = rt_sweep_summary(runs, row, column);
        if (s.count && s.mean < lowest) {
            lowest = s.mean;
            best = row;
        }
    }
    return best;
}
