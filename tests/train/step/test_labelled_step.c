/* Steps and evaluations on labelled texts of different lengths, in double. */

#include "io/model_options.h"
#include "train/step/training.h"
#include "util/scratch.h"

static const char tiny[] = "[model]\nlayers = 1\ndim = 16\nheads = 2\n"
                           "[data]\nlevel = char\nlength = 40\n"
                           "[train]\nbatch_size = 8\n";

enum { COUNT = 61, LENGTH = 40 };

/* Texts of 1 to 12 letters; three labels, in pairs if asked. Tokens have one each. */
static void write_rows(const char *name, bool pairs, bool tag)
{
    char text[8000];
    size_t used = (size_t)snprintf(text, sizeof text, "%s",
                                   tag     ? ""
                                   : pairs ? "text\ttext_b\tlabel\n"
                                           : "text\tlabel\n");
    for (int i = 0; i < COUNT; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s\t%c\n%s", 1 + i * 5 % 12,
                                 &"abcabdacbdda"[i % 3], pairs ? "\tdc" : "", 'x' + i % 3,
                                 tag && i % 3 == 2 ? "\n" : "");
    put_text(name, text);
}

/* Returns a training on all rows of a file that it writes. */
static training *new_labelled(bool pairs, bool tag, const char *more)
{
    write_rows("a.tsv", pairs, tag);
    return new_training(tiny, OVERRIDES(tag ? "data.task=tag" : "data.task=classify",
                                        lasting("data.file=%s", in_scratch("a.tsv")),
                                        "data.eval_fraction=0", more));
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(the_data_chooses_head_and_token_types, 0, 3)
{
    const training *t = new_labelled(_i == 1, _i == 2, "run.seed=1");
    const rt_transformer_options o = rt_model_options(&t->config.model, t->data);
    ck_assert_int_eq(o.head, _i == 2 ? RT_HEAD_TOKEN : RT_HEAD_SEQUENCE);
    ck_assert_int_eq(o.labels, 3);
    ck_assert_int_eq(o.token_types, _i == 1 ? 2 : 0);
    ck_assert_int_eq(o.mask_id, t->data->vocabulary->special.mask);
    ck_assert_int_gt(o.mask_id, 0);
}

TEST(a_second_text_trains_the_second_type)
{
    training *t = new_labelled(true, false, "run.seed=1");
    const rt_parameters *p = &t->state->model->parameters;
    const rt_parameter *types = rt_parameters_find(p, "embeddings.types.weight");
    double squares[2] = {0};
    take_steps(t, 1);
    ck_assert_ptr_nonnull(types);
    for (size_t i = 0; i < 32; i++)
        squares[i / 16] += types->tensor.grad[i] * types->tensor.grad[i];
    ck_assert_double_gt(squares[0], 0);
    ck_assert_double_gt(squares[1], 0);
}

TEST(a_batch_is_as_long_as_its_longest_row)
{
    training *t = new_labelled(true, false, "run.seed=1");
    const int length = t->config.data.length;
    rt_labelled_batch cut;
    expect_ok(rt_labelled_batch_new(&cut, 8, length, 0, NULL));
    int shorter = 0;
    for (uint32_t step = 0; step < 16; step++) {
        int32_t ids[8 * LENGTH], labels[8 * LENGTH], types[8 * LENGTH];
        uint8_t mask[8 * LENGTH];
        rt_batch whole = {8, length, ids, labels, mask, types, NULL, NULL};
        int longest = 0;
        rt_data_training(t->data, 1, step, 0, &whole);
        rt_draw_training(&cut, t->data, 1, step, 0);
        for (int at = 0; at < 8 * length; at++)
            if (mask[at] && at % length >= longest)
                longest = at % length + 1;
        ck_assert_int_eq(cut.batch.length, longest);
        shorter += longest < length;
        ck_assert_int_eq(cut.labels, 8);
        for (int r = 0; r < 8; r++) {
            const int at = r * longest, from = r * length;
            const size_t bytes = (size_t)longest * sizeof *ids;
            ck_assert_int_eq(cut.where[r], at);
            ck_assert_mem_eq(cut.batch.ids + at, ids + from, bytes);
            ck_assert_mem_eq(cut.batch.labels + at, labels + from, bytes);
            ck_assert_mem_eq(cut.batch.types + at, types + from, bytes);
            ck_assert_mem_eq(cut.batch.mask + at, mask + from, (size_t)longest);
        }
    }
    ck_assert_int_gt(shorter, 8);
    rt_labelled_batch_free(&cut);
}

/* A copy of odd length ends with a place of padding, and always has. */
TEST(sequences_of_one_length_are_never_cut)
{
    const training *t =
        new_training(tiny, OVERRIDES("data.task=copy", "data.level=byte", "data.length=13"));
    rt_labelled_batch b;
    expect_ok(rt_labelled_batch_new(&b, 2, 13, 0, NULL));
    rt_draw_training(&b, t->data, 1, 0, 0);
    ck_assert_int_eq(b.batch.mask[12], 0);
    ck_assert_int_eq(b.batch.length, 13);
    rt_labelled_batch_free(&b);
}

/* Sums over rows that are each computed alone. */
typedef struct sums {
    double loss;
    long labels, correct;
} sums;

static void add_alone(sums *s, training *t, rt_labelled_batch *one)
{
    rt_batch_result alone;
    rt_graph *g = rt_graph_new();
    ck_assert(rt_batch_loss(t->state->model, g, one, 1, &alone) != NULL);
    s->loss += alone.loss;
    s->labels += one->labels;
    s->correct += (long)alone.correct;
    rt_graph_free(g);
}

/* A row alone has no padding. */
TEST_ROWS(the_loss_of_a_step_is_that_of_its_single_rows, 0, 3)
{
    training *t = new_labelled(_i == 1, _i == 2, "train.shards=4");
    rt_labelled_batch one;
    sums all = {0};
    expect_ok(rt_labelled_batch_new(&one, 1, t->config.data.length, 0, NULL));
    for (uint32_t r = 0; r < 8; r++) {
        rt_draw_training(&one, t->data, t->config.run.seed, 0, r);
        for (int i = 0; i < one.batch.length; i++)
            ck_assert(one.batch.mask[i]);
        add_alone(&all, t, &one);
    }
    const rt_step_result result = take_steps(t, 1);
    ck_assert_double_eq_tol(result.loss, all.loss / (double)all.labels, 1e-12);
    ck_assert_double_eq_tol(result.accuracy, (double)all.correct / (double)all.labels, 1e-12);
    ck_assert_int_lt(result.tokens, 8 * t->config.data.length);
    rt_labelled_batch_free(&one);
}

static long trace_of(const int64_t confusion[9])
{
    return (long)(confusion[0] + confusion[4] + confusion[8]);
}

/* 61 rows in batches of 8 leave a batch of five; of sentences there are 21. */
TEST_ROWS(an_evaluation_counts_every_row_once, 0, 3)
{
    training *t = new_labelled(_i == 1, _i == 2, "train.shards=2");
    rt_labelled_batch one;
    int32_t predicted[LENGTH];
    rt_evaluation e;
    int64_t counted[9] = {0}, confusion[9];
    sums all = {0};
    const long rows = rt_data_evaluation_rows(t->data, LENGTH);
    ck_assert_int_eq(rows, _i == 2 ? 21 : COUNT);
    expect_ok(rt_labelled_batch_new(&one, 1, t->config.data.length, 0, NULL));
    one.predicted = predicted;
    for (uint32_t r = 0; r < (uint32_t)rows; r++) {
        rt_draw_evaluation(&one, t->data, r);
        add_alone(&all, t, &one);
        for (int i = 0; i < one.labels; i++)
            counted[3 * one.wanted[i] + predicted[i]]++;
        ck_assert_int_eq(trace_of(counted), all.correct);
    }
    memset(confusion, 0x55, sizeof confusion);
    expect_ok(rt_trainer_evaluate(t->trainer, LENGTH, t->config.train.eval_batches, &e, confusion));
    ck_assert_int_eq(e.sequences, rows);
    ck_assert_int_eq(e.labels, all.labels);
    ck_assert_double_eq_tol(e.loss, all.loss / (double)all.labels, 1e-12);
    ck_assert_double_eq(e.accuracy, (double)all.correct / (double)all.labels);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(confusion[i], counted[i]);
    for (int i = 0; i < 3; i++) /* of the 61 labels, x begins */
        ck_assert_int_eq(confusion[3 * i] + confusion[3 * i + 1] + confusion[3 * i + 2],
                         i == 0 ? 21 : 20);
    rt_labelled_batch_free(&one);
}

TEST(an_evaluation_can_be_of_some_batches)
{
    training *t = new_labelled(false, false, "train.eval_batches=3");
    ck_assert_int_eq(evaluate(t).sequences, 24);
    ck_assert_int_eq(evaluate_batches(t, 0).sequences, COUNT);
    ck_assert_int_eq(evaluate_batches(t, 100).sequences, COUNT);
}

TEST(the_default_of_labelled_data_is_to_evaluate_all_of_it)
{
    rt_config c;
    load_sound(&c, tiny, OVERRIDES("data.task=tag", "data.file=a"));
    ck_assert_int_eq(c.train.eval_batches, 0);
    ck_assert_int_eq(c.data.batch_size, 8);
    load_sound(&c, tiny, OVERRIDES("data.task=tag", "data.file=a", "train.eval_batches=8"));
    ck_assert_int_eq(c.train.eval_batches, 8);
    load_sound(&c, tiny, OVERRIDES("data.task=text", "data.file=a"));
    ck_assert_int_eq(c.train.eval_batches, 8);
}

TEST(batches_of_all_lengths_allocate_nothing_after_two_epochs)
{
    training *t = new_labelled(true, false, "run.threads=1");
    take_steps(t, 16); /* two epochs */
    const size_t requests = rt_memory_requests();
    take_steps(t, 16);
    ck_assert_uint_eq(rt_memory_requests(), requests);
}
