/* The encodings of positions: each row of RT_POSITION_KINDS is whole. */

#include "laws.h"

#include "models/encodings/encoding.h"

#include <unistd.h>

/* Reference of each row's numbers, or the test that has it: a file of tests/. */
static const char *const references[] = {
    [RT_POSITION_ROPE] = "vectors/rope_vectors.h5",
    [RT_POSITION_SINUSOIDAL] = "vectors/pos_vectors.h5",
    [RT_POSITION_LEARNED] = "models/test_encodings.c",
    [RT_POSITION_ALIBI] = "vectors/pos_vectors.h5",
    [RT_POSITION_T5] = "laws/test_distance_laws.c",
    [RT_POSITION_SHAW] = "laws/test_distance_laws.c",
    [RT_POSITION_SELECTIVE] = "vectors/content_vectors.h5",
    [RT_POSITION_POPE] = "vectors/content_vectors.h5",
    [RT_POSITION_NONE] = "laws/test_place_laws.c",
};

TEST(every_row_is_whole)
{
    ck_assert_ptr_null(rt_encoding_word(ROWS(references)));
    for (int i = 0; i < ROWS(references); i++) {
        ck_assert_ptr_nonnull(rt_encoding_word(i));
        const rt_transformer_options o = {.position.kind = (rt_position_kind)i};
        const rt_encoding *row = rt_encoding_of(&o);
        char path[4096];
        ck_assert_str_eq(row->word, rt_encoding_word(i));
        ck_assert_msg(references[i], "%s has no reference", row->word);
        snprintf(path, sizeof path, TEST_SOURCES "/%s", references[i]);
        ck_assert_msg(!access(path, R_OK), "%s: there is no %s", row->word, path);
        ck_assert(row->of_scores == (row->attention != NULL));
        ck_assert(row->in_layers == (row->attention || row->rotation));
        ck_assert(!row->add_layer || row->in_layers);
        ck_assert(!row->capacity == !row->capacity_key);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(row->word, rt_encoding_word(k));
    }
}
