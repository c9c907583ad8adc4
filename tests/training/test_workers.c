#include "suite.h"
#include "train/step/workers.h"

#include <stdatomic.h>
#include <string.h>

static void count_job(void *context, int job, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)context + job, 1);
}

START_TEST(every_job_is_done_once)
{
    static const int threads[] = {1, 2, 3, 8}, jobs[] = {0, 1, 2, 500};
    static atomic_int done[500];
    for (int t = 0; t < 4; t++) {
        rt_workers *w;
        ck_assert(!rt_workers_new(&w, threads[t]).code);
        for (int round = 0; round < 100; round++) {
            const int count = jobs[round % 4];
            memset(done, 0, sizeof done);
            rt_workers_run(w, count_job, done, count);
            for (int i = 0; i < 500; i++)
                ck_assert_int_eq(done[i], i < count);
        }
        rt_workers_free(w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workers");
    TCase *tests = leak_checked_case(suite, "workers");
    tcase_add_test(tests, every_job_is_done_once);
    return run_suite(suite);
}
