#ifndef ROTOR_DATA_BATCH_H
#define ROTOR_DATA_BATCH_H

/* A batch of token sequences and labels, which a data source fills in. The arrays belong to the
 * caller. B rows (sequences), T tokens each. */

#include <stdint.h>

/* Ids that mean the same in every task; symbols start at RT_FIRST_SYMBOL. */
enum { RT_ID_PAD, RT_ID_CLS, RT_ID_MASK, RT_ID_SEP, RT_FIRST_SYMBOL };

/* A label that does not count. */
enum { RT_NO_LABEL = -100 };

typedef struct rt_batch {
    int rows;        /* B */
    int length;      /* T */
    int32_t *ids;    /* (B, T) */
    int32_t *labels; /* (B, T); one label a sequence stands at its token 0 */
    uint8_t *mask;   /* (B, T): 1 = token, 0 = padding */
    int32_t *types;  /* (B, T): 1 = in the second text of a pair, else 0; NULL: not wanted */
} rt_batch;

#endif
