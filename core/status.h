#ifndef ROTOR_CORE_STATUS_H
#define ROTOR_CORE_STATUS_H

/* Result of a function that can fail: a code for decisions, and a message that says where, what was
 * expected and what was found. Returned by value; there is nothing to free. */

#include <stdbool.h>
#include <stddef.h>

typedef enum rt_code {
    RT_OK,
    RT_MEMORY,     /* the heap is exhausted */
    RT_SHAPE,      /* shapes of tensors that do not match */
    RT_ARGUMENT,   /* a value outside what the function accepts */
    RT_IO,         /* a file could not be read or written */
    RT_CONFIG,     /* the command line or a configuration file */
    RT_DATA,       /* a data file is missing or invalid */
    RT_CHECKPOINT, /* a checkpoint is damaged or does not match */
    RT_NONFINITE,  /* a NaN or an infinity */
    RT_CHECK       /* a requested check failed */
} rt_code;

enum {
    RT_MESSAGE_SIZE = 1024,
    RT_WORD_NAME_SIZE = 120 /* of a word that a message quotes, with the final zero */
};

typedef struct rt_status {
    rt_code code;
    char message[RT_MESSAGE_SIZE]; /* "" when the code is RT_OK; an overlong one is shortened */
} rt_status;

#define RT_MUST_CHECK          __attribute__((warn_unused_result))
#define RT_PRINTF(text, first) __attribute__((format(printf, text, first)))

rt_status rt_ok(void);
rt_status rt_error(rt_code code, const char *format, ...) RT_PRINTF(2, 3);

/* Returns the error for a failed allocation. */
rt_status rt_out_of_memory(const char *what);

/* Returns that error unless the memory is `there`: a pointer, or a condition on several. */
rt_status rt_allocated(bool there, const char *what) RT_MUST_CHECK;

/* Returns from the function with the error of a call, if it has one. What the function must free
 * or close is declared as RT_OWNED or RT_CLOSED_BY (core/memory.h), or there is nothing. */
#define RT_TRY(call)                                                                               \
    do {                                                                                           \
        const rt_status rt_tried = (call);                                                         \
        if (rt_tried.code)                                                                         \
            return rt_tried;                                                                       \
    } while (0)

/* ---- broken rules between options ---- */

/* Receives a broken rule. `options` are the options concerned, by their names in a configuration
 * ("model.dim"; NULL-terminated), valid during the call. The message is for people. */
typedef void rt_rule_listener(void *context, const char *const *options, const char *message);

/* A listener and its context, as passed to the checks of a layer. */
typedef struct rt_rule_sink {
    rt_rule_listener *tell;
    void *context;
} rt_rule_sink;

/* First broken rule, as an error with this code. */
typedef struct rt_first_rule {
    rt_code code;
    rt_status status; /* set to rt_ok() by the caller */
} rt_first_rule;

/* Stores the first broken rule. A listener; its context is an rt_first_rule. */
void rt_keep_first_rule(void *context, const char *const *options, const char *message);

/* Names of options as a listener receives them. */
#define RT_OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Reports one broken rule. */
void rt_rule_broken(rt_rule_sink to, const char *const *options, const char *format, ...)
    RT_PRINTF(3, 4);

#endif
