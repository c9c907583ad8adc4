#ifndef ROTOR_DATA_BATCH_H
#define ROTOR_DATA_BATCH_H

/* A batch of B token sequences of T tokens with their labels. A data source fills it; the arrays
 * belong to the caller. */

#include <stdint.h>

/* Ids of the special tokens in every task. Symbols start at RT_FIRST_SYMBOL. */
enum { RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP, RT_FIRST_SYMBOL };

/* Label of a position that does not count. */
enum { RT_NO_LABEL = -100 };

typedef struct rt_batch {
    int rows;        /* B */
    int length;      /* T */
    int32_t *ids;    /* (B, T) */
    int32_t *labels; /* (B, T); a label of a whole sequence is at its token 0 */
    uint8_t *mask;   /* (B, T): 1 = token, 0 = padding */
    int32_t *types;  /* (B, T): 1 = second text of a pair, else 0; may be NULL */
} rt_batch;

#endif
