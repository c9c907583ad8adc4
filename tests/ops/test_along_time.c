/* Sums, convolutions and shifts along a text: read in pieces, as a session reads it, and at great
 * length. Recomputation is in program/test_train_content.c. */

#include "graphs.h"
#include "numbers.h"

#include "ops/ops.h"

enum { B = 2, H = 2, D = 4, C = H * D, T = 10, K = 4, FIRST = 1, MOVED = D - FIRST };

static real x[B * T * C], taps[C * K];

/* Copies tokens first ... first + count - 1 of every sequence, zeros before token 0. */
static void copy_tokens(real *to, const real *from, int first, int count)
{
    for (int b = 0; b < B; b++)
        for (int t = first; t < first + count; t++, to += C)
            if (t < 0)
                memset(to, 0, C * sizeof *to);
            else
                memcpy(to, from + (b * T + t) * C, C * sizeof *to);
}

static rt_tensor *sum_piece(rt_graph *g, rt_tensor *piece, int t)
{
    static double before[B * C];
    rt_tensor *y = made(g, rt_running_sum(g, piece, 1, t ? before : NULL));
    for (int i = 0; i < B * C; i++)
        before[i] = y->exact[(i / C * y->shape[1] + y->shape[1] - 1) * C + i % C];
    return y;
}

static rt_tensor *convolve_piece(rt_graph *g, rt_tensor *piece, int t)
{
    real *before = rt_graph_memory(g, B * (K - 1) * C, sizeof *before);
    rt_tensor *w = rt_graph_memory(g, 1, sizeof *w);
    *w = rt_tensor_of(taps, NULL, RT_SHAPE_OF(C, K));
    copy_tokens(before, x, t - K + 1, K - 1);
    return rt_depthwise_conv(g, piece, w, t ? before : NULL);
}

static rt_tensor *shift_piece(rt_graph *g, rt_tensor *piece, int t)
{
    real before[B * C], moved[B * H * MOVED];
    rt_tensor *heads = rt_reshape(g, piece, RT_SHAPE_OF(B, piece->shape[1], H, D));
    copy_tokens(before, x, t - 1, 1);
    for (int i = 0; i < B * H * MOVED; i++)
        moved[i] = before[i / MOVED * D + FIRST + i % MOVED];
    return rt_shift(g, heads, FIRST, t ? moved : NULL, NULL);
}

TEST_ROWS(a_text_in_pieces_has_the_bits_of_the_whole, 0, 3)
{
    static rt_tensor *(*const ops[])(rt_graph *, rt_tensor *, int) = {sum_piece, convolve_piece,
                                                                      shift_piece};
    static const int pieces[] = {1, 2, 1, 5, 1};
    fill(x, B * T * C, 1);
    fill(taps, C * K, 2);
    rt_graph *g = new_graph();
    rt_graph_record(g, false);
    rt_tensor all = rt_tensor_of(x, NULL, RT_SHAPE_OF(B, T, C));
    const rt_tensor *whole = made(g, ops[_i](g, &all, 0));
    for (int n = 0, t = 0; n < ROWS(pieces); t += pieces[n++]) {
        const int count = pieces[n];
        real some[B * T * C], expected[B * T * C];
        copy_tokens(some, x, t, count);
        copy_tokens(expected, whole->data, t, count);
        rt_tensor piece = rt_tensor_of(some, NULL, RT_SHAPE_OF(B, count, C));
        const rt_tensor *y = made(g, ops[_i](g, &piece, t));
        ck_assert_msg(!memcmp(y->data, expected, (size_t)(B * count * C) * sizeof *expected),
                      "tokens %d to %d", t, t + count - 1);
    }
}

/* Floats near 1e6 have steps of 0.06. Attention reads the exact numbers. */
TEST(a_sum_over_a_long_text_keeps_its_digits)
{
    enum { LONG = 600 };
    real steps[LONG], q[LONG], v[LONG], expected[LONG];
    const double far = 1e6;
    const rt_attention_options o = {.causal = true};
    rt_graph *g = new_graph();
    fill(steps, LONG, 1);
    fill(q, LONG, 2);
    fill(v, LONG, 3);
    rt_tensor s = rt_tensor_of(steps, NULL, RT_SHAPE_OF(1, 1, LONG));
    rt_tensor query = rt_tensor_of(q, NULL, RT_SHAPE_OF(1, LONG, 1, 1));
    rt_tensor value = rt_tensor_of(v, NULL, RT_SHAPE_OF(1, LONG, 1, 1));
    for (int i = 0; i < 2; i++) {
        rt_attention_options with = o;
        with.key_bias = made(g, rt_running_sum(g, &s, 2, i ? &far : NULL));
        const rt_tensor *y = made(g, rt_attention(g, &query, &query, &value, &with));
        if (!i)
            memcpy(expected, y->data, sizeof expected);
        for (int t = 0; t < LONG; t++)
            ck_assert_double_eq_tol((double)y->data[t], (double)expected[t],
                                    IN_FLOAT ? 1e-6 : 1e-9);
    }
}
