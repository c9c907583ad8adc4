#ifndef ROTOR_CORE_STATUS_H
#define ROTOR_CORE_STATUS_H

/* Result of a function that can fail: a code for decisions, and a message that says where, what was
 * expected and what was found. Returned by value; there is nothing to free. */

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

#endif
