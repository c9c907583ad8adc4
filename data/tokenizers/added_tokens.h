#ifndef ROTOR_DATA_TOKENIZERS_ADDED_TOKENS_H
#define ROTOR_DATA_TOKENIZERS_ADDED_TOKENS_H

/* Tokens that are found in a text before it is cut into words: at each place the longest that
 * stands there, from left to right. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one token. */
enum { RT_ADDED_TOKEN_SIZE = 512 };

typedef struct rt_added_token {
    const char *text;
    size_t size;
    int32_t id;
    bool special;
    bool takes_left, takes_right; /* the blanks beside it belong to it */
} rt_added_token;

/* Starts zeroed. */
typedef struct rt_added_tokens {
    rt_added_token *list; /* sorted by bytes once it is complete */
    int count;
    bool begins[256]; /* whether one begins with a byte */
    char *text;
} rt_added_tokens;

void rt_added_tokens_free(rt_added_tokens *tokens);

/* Sorts a list whose texts belong to somebody else, and makes copies of those. Returns NULL; the
 * text of one that is there twice; or "" when the heap is exhausted. */
const char *rt_added_tokens_complete(rt_added_tokens *tokens);

/* A token in a text, and the bytes that belong to it. */
typedef struct rt_found_token {
    const rt_added_token *token; /* NULL: there is none */
    size_t start, end;
} rt_found_token;

/* The same with the blanks that belong to the token, those behind `before` at the most. */
rt_found_token rt_found_token_with_blanks(rt_found_token found, const unsigned char *text,
                                          size_t bytes, size_t before);

/* The next token of a text, which is UTF-8. With special = false a special token is text, which no
 * other token is looked for in. *at is the place to begin at, 0 at first, and is moved behind the
 * token; `before` is the end of the token before, 0 at first. */
rt_found_token rt_added_tokens_next(const rt_added_tokens *tokens, const unsigned char *text,
                                    size_t bytes, bool special, size_t before, size_t *at);

#endif
