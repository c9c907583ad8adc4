/* Order in which training and evaluation draw labelled rows. */

#include "data/examples.h"
#include "suite.h"

static const rt_random plain = {7, 0, RT_STREAM_ORDER};

static void expect_each(const int *count, uint32_t n, int each, const char *what)
{
    for (uint32_t i = 0; i < n; i++)
        ck_assert_msg(count[i] == each, "%s: row %u of %u: expected %d times, got %d", what, i, n,
                      each, count[i]);
}

TEST(a_permutation_has_every_number_once)
{
    enum { MOST = 1100 };
    for (uint32_t n = 1; n <= MOST; n += n < 70 ? 1 : 97) {
        int count[MOST + 1] = {0};
        for (uint32_t i = 0; i < n; i++)
            count[rt_permuted(plain, 3, n, i)]++;
        expect_each(count, n, 1, "permutation");
    }
    /* a permutation reaches the largest numbers */
    const uint32_t n = UINT32_MAX, from = n - 64;
    uint32_t seen[64];
    for (uint32_t i = from; i < n; i++) {
        seen[i - from] = rt_permuted(plain, 0, n, i);
        ck_assert_uint_lt(seen[i - from], n);
        for (uint32_t k = 0; k < i - from; k++)
            ck_assert_uint_ne(seen[k], seen[i - from]);
    }
}

/* Every number is at every place a fifth of the time; 203 is eight deviations. */
TEST(permutations_differ_by_seed_step_and_number)
{
    enum { TRIES = 4000, N = 5 };
    for (int by = 0; by < 3; by++) {
        int at[N][N] = {{0}};
        for (uint32_t k = 0; k < TRIES; k++) {
            const rt_random random = {by == 0 ? k : 7, by == 1 ? k : 0, RT_STREAM_ORDER};
            for (uint32_t i = 0; i < N; i++)
                at[i][rt_permuted(random, by == 2 ? k : 0, N, i)]++;
        }
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++)
                ck_assert_msg(at[i][k] > 800 - 203 && at[i][k] < 800 + 203,
                              "%d at place %d: expected about 800 times, got %d", i, k, at[i][k]);
    }
}

static const rt_order orders[] = {{1, 1},   {1, 8},   {7, 3},    {8, 8},     {9, 8},
                                  {100, 7}, {5, 100}, {999, 32}, {20000, 16}};
enum { MOST_ROWS = 20000 };

/* Only the last batch of an epoch repeats rows, which fill it. */
TEST_ROWS(an_epoch_has_every_row_and_fills_its_last_batch, 0, ROWS(orders))
{
    static int count[MOST_ROWS];
    const rt_order o = orders[_i];
    const uint32_t batches = (o.rows + o.batch - 1) / o.batch;
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        memset(count, 0, sizeof count);
        for (uint32_t step = epoch * batches; step < (epoch + 1) * batches; step++)
            for (uint32_t r = 0; r < o.batch; r++) {
                const uint32_t row = rt_order_training(o, 5, step, r);
                ck_assert_uint_lt(row, o.rows);
                count[row]++;
            }
        uint32_t again = 0;
        for (uint32_t row = 0; row < o.rows; row++) {
            ck_assert_msg(count[row] >= 1, "epoch %u misses row %u", epoch, row);
            again += (uint32_t)count[row] - 1;
        }
        ck_assert_uint_eq(again, batches * o.batch - o.rows);
    }
}

TEST_ROWS(an_evaluation_has_every_row_once_and_then_begins_again, 0, ROWS(orders))
{
    static int count[MOST_ROWS];
    const rt_order o = orders[_i];
    memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < o.rows; i++) {
        const uint32_t row = rt_order_evaluation(o, 5, i);
        ck_assert_uint_lt(row, o.rows);
        ck_assert_uint_eq(rt_order_evaluation(o, 5, i + o.rows), row);
        count[row]++;
    }
    expect_each(count, o.rows, 1, "evaluation");
}

/* A batch comes from two blocks: each 1/16 of the epoch, or four batches of a small one. */
TEST_ROWS(the_rows_of_a_batch_are_near_each_other, 0, 2)
{
    const rt_order o = _i ? (rt_order){640, 16} : (rt_order){20000, 16};
    const uint32_t block = (_i ? 4 : 64) * o.batch;
    for (uint32_t step = 0; step < 3 * o.rows / o.batch; step++) {
        uint32_t first = o.rows, last = 0;
        for (uint32_t r = 0; r < o.batch; r++) {
            const uint32_t row = rt_order_training(o, 5, step, r);
            first = row < first ? row : first;
            last = row > last ? row : last;
        }
        ck_assert_msg(last - first < 2 * block, "step %u: rows %u to %u", step, first, last);
    }
}

TEST_ROWS(the_first_batches_are_of_all_lengths, 0, 2)
{
    const rt_order o = {16000, 16};
    double sum = 0;
    for (uint32_t i = 0; i < 1600; i++)
        sum += _i ? rt_order_evaluation(o, 5, i) : rt_order_training(o, 5, i / 16, i % 16);
    ck_assert_msg(sum / 1600 > 6000 && sum / 1600 < 10000, "the mean row is %g", sum / 1600);
}

TEST(the_rows_of_an_evaluated_batch_are_neighbours)
{
    const rt_order o = {1000, 16};
    for (uint32_t i = 0; i < 62 * 16; i++)
        ck_assert_uint_eq(rt_order_evaluation(o, 5, i),
                          rt_order_evaluation(o, 5, i - i % 16) + i % 16);
    ck_assert_uint_eq(rt_order_evaluation(o, 5, 62 * 16), 62 * 16);
    /* an order depends on the seed */
    const rt_order small = {500, 10};
    int same = 0;
    for (uint32_t step = 0; step < 50; step++)
        for (uint32_t r = 0; r < 10; r++)
            same += rt_order_training(small, 1, step, r) == rt_order_training(small, 2, step, r);
    ck_assert_msg(same < 50, "%d of 500 rows are drawn at the same time", same);
}

TEST(epochs_make_other_batches)
{
    const rt_order o = {2000, 20};
    static uint32_t batch[2][2000];
    int together = 0;
    for (uint32_t step = 0; step < 200; step++)
        for (uint32_t r = 0; r < 20; r++)
            batch[step / 100][rt_order_training(o, 5, step, r)] = step % 100;
    for (uint32_t i = 0; i < 2000; i++)
        for (uint32_t k = 0; k < i; k++)
            together += batch[0][i] == batch[0][k] && batch[1][i] == batch[1][k];
    /* 19000 pairs; a block of 120 rows leaves about a sixth of them together */
    ck_assert_msg(together < 19000 / 4, "%d pairs are together in both epochs", together);
}
