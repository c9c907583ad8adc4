#ifndef ROTOR_TESTS_NEW_THREAD_H
#define ROTOR_TESTS_NEW_THREAD_H

/* Calls in new threads, which have no memory for the products of oneDNN yet. */

#include "ops/engine.h"
#include "suite.h"

#include <pthread.h>

typedef struct thread_call {
    rt_status (*call)(void *context);
    void *context;
    size_t failing; /* which request of the heap, 0: none */
    rt_status status;
} thread_call;

static inline void *make_thread_call(void *data)
{
    thread_call *c = data;
    rt_memory_fail_at(c->failing);
    c->status = c->call(c->context);
    rt_memory_fail_at(0);
    return NULL;
}

static inline rt_status call_in_thread(rt_status (*call)(void *context), void *context,
                                       size_t failing)
{
    pthread_t thread;
    thread_call c = {call, context, failing, rt_ok()};
    ck_assert(!pthread_create(&thread, NULL, make_thread_call, &c));
    ck_assert(!pthread_join(thread, NULL));
    return c.status;
}

/* Makes a call with oneDNN, and again with the first, the second, ... request of its thread
 * refused until none is. The check sees the result of each, of the first call with `failing` 0. */
static inline void
expect_refused_products(const char *function, rt_status (*call)(void *context), void *context,
                        void (*check)(void *context, size_t failing, bool refused))
{
    int products = 0;
    rt_status status = {.code = RT_MEMORY};
    const rt_status there = rt_engine_use(RT_ENGINE_ONEDNN, RT_MATH_FLOAT);
    if (there.code)
        say_skipped(function, there.message);
    expect_ok(call_in_thread(call, context, 0));
    check(context, 0, false);
    for (size_t n = 1; status.code && n < 10000; n++) {
        status = call_in_thread(call, context, n);
        ck_assert(!status.code || status.code == RT_MEMORY);
        check(context, n, status.code);
        products += strstr(status.message, "a matrix product") != NULL;
    }
    expect_ok(status);
    ck_assert(there.code || products > 0);
    ck_assert(!rt_engine_use(RT_ENGINE_OPENBLAS, RT_MATH_FLOAT).code);
}

#endif
