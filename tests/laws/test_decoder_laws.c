/* Laws of the blocks of decoders: neutral settings change nothing, and known combinations have
 * known results. */

#include "encoder.h"

static bool same_bits(const rt_transformer_options *a, const rt_transformer_options *b)
{
    real x[OUTPUT], y[OUTPUT];
    encode_block(x, a, 0);
    encode_block(y, b, 0);
    return !memcmp(x, y, sizeof x);
}

/* Copies the rows of a projection to keys or values of G heads to one of H heads. */
static void repeat_rows(const rt_tensor *to, const rt_tensor *from, int H, int G)
{
    const size_t head = rt_size(to) / (size_t)H;
    for (int h = 0; h < H; h++)
        memcpy(to->data + (size_t)h * head, from->data + (size_t)(h * G / H) * head,
               head * sizeof(real));
}

TEST_ROWS(shared_keys_are_repeated_keys, 0, 4)
{
    enum { H = 4, G = 2 };
    const bool by_head = _i / 2;
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, _i % 2);
    o.heads = H;
    set_options(&o, "theta.learn=yes theta.init=perturbed theta.init_sigma=0.5");
    o.theta.scope = by_head ? RT_THETA_HEAD : RT_THETA_LAYER;
    rt_transformer *repeated = make(&o);
    o.kv_heads = G;
    rt_transformer *shared = make(&o);
    for (int l = 0; l < o.layers; l++) {
        repeat_rows(repeated->layers[l].key.weight, shared->layers[l].key.weight, H, G);
        repeat_rows(repeated->layers[l].value.weight, shared->layers[l].value.weight, H, G);
        repeat_rows(repeated->layers[l].encoding, shared->layers[l].encoding, by_head ? H : 1,
                    by_head ? G : 1);
    }
    int32_t block[BLOCK];
    real x[OUTPUT], y[OUTPUT];
    draw_block(block);
    encode(x, repeated, block, 3);
    encode(y, shared, block, 3);
    expect_near(largest_difference(x, y, OUTPUT), 0, 1e-13, "shared against repeated keys");
}

/* The first layer mixes no tokens, so that only the second can depend on the order. */
static void expect_change_of_second(const rt_transformer_options *o)
{
    const char *kind = rt_encoding_word((int)o->position.kind);
    rt_transformer *m = make(o);
    const rt_tensor *deaf = m->layers[0].output.weight;
    memset(deaf->data, 0, rt_size(deaf) * sizeof(real));
    const double change = change_by_order(m, by_steps(7, 3), ALL);
    if (o->position.every == 2)
        expect_near(change, 0, 1e-12, "change by another order, %s, every second layer", kind);
    else
        expect_above(change, 1e-3, "change by another order, %s", kind);
}

TEST_ROWS(layers_without_positions_ignore_the_order_of_tokens, 0, KINDS)
{
    rt_transformer_options o = with((rt_position_kind)_i, RT_ATTENTION_SOFTMAX, false);
    rt_transformer_options causal = with((rt_position_kind)_i, RT_ATTENTION_SOFTMAX, true);
    rt_transformer_options every = causal;
    o.position.every = 1;
    if (!rt_encoding_of(&o)->in_layers) {
        every.position.every = 2;
        ck_assert_int_eq(rt_transformer_check(&every).code, RT_ARGUMENT);
        return;
    }
    for (; !rt_encoding_of(&o)->causal && o.position.every <= 2; o.position.every++)
        expect_change_of_second(&o);
    for (every.position.every = 1; every.position.every <= 3; every.position.every++)
        ck_assert_int_eq(same_bits(&causal, &every), every.position.every != 2);
}

TEST_ROWS(layers_without_positions_have_no_theta, 0, 2)
{
    static const int layers[] = {0, 1, 3, 4};
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    const rt_theta_scope scope = _i ? RT_THETA_HEAD : RT_THETA_LAYER;
    const int rows = _i ? o.heads : 1;
    double theta[4 * 2 * 4], read[4 * 2 * 4], shared[4];
    int32_t block[BLOCK];
    real x[OUTPUT], y[OUTPUT];
    set_options(&o, "model.layers=5 position.every=3 theta.learn=yes");
    o.theta.scope = scope;
    rt_transformer_resolve(&o);
    rt_transformer *own = make(&o);
    ck_assert_uint_eq(rt_transformer_theta_count(&o), (size_t)(4 * rows * 4));
    ck_assert_ptr_null(own->layers[2].encoding);
    for (int n = 0; n < 4; n++) {
        ck_assert_int_eq(rt_transformer_theta_layer(&o, n), layers[n]);
        ck_assert_ptr_nonnull(own->layers[layers[n]].encoding);
    }
    for (int n = 0; n < 4 * rows * 4; n++)
        theta[n] = 1.0 / (1 + n);
    rt_transformer_set_theta(own, theta);
    rt_transformer_theta(own, read);
    for (int n = 0; n < 4 * rows * 4; n++)
        expect_near(read[n], theta[n], 1e-15, "theta %d", n);
    expect_near((double)own->layers[3].encoding->data[0], log(theta[2 * rows * 4]), 1e-15,
                "layer 3");
    for (int n = 0; n < 4 * rows * 4; n++)
        theta[n] = shared[n % 4] = 1.0 / (1 + n % 4);
    rt_transformer_set_theta(own, theta);
    o.theta.scope = RT_THETA_MODEL;
    rt_transformer *one = make(&o);
    rt_transformer_set_theta(one, shared);
    draw_block(block);
    encode(x, own, block, 3);
    encode(y, one, block, 3);
    ck_assert(!memcmp(x, y, sizeof x));
}

/* The length of rows a and b of head h of a projection, by the weights of the norm behind it. */
static double length_of_pair(rt_affine to, rt_affine norm, int row, int a, int b)
{
    const real *x = to.weight->data + (row + a) * DIM, *y = to.weight->data + (row + b) * DIM;
    const double by_a = norm.weight ? norm.weight->data[a] : 1;
    const double by_b = norm.weight ? norm.weight->data[b] : 1;
    return sqrt(by_a * by_a * dot(x, x, DIM) + by_b * by_b * dot(y, y, DIM));
}

/* Rows: each scope, both pairings, positions in all layers or in every second one, and keys of
 * their own or shared ones behind a norm. Half of the features rotate. */
TEST_ROWS(the_use_of_a_pair_is_its_share_of_the_query_and_key_weights, 0, 3 * 2 * 2 * 2)
{
    enum { LAYERS = 5, H = 4, D = 8, PAIRS = 2 };
    const bool half = _i / 3 % 2, shared = _i / 12;
    const int every = 1 + _i / 6 % 2, G = shared ? 2 : H;
    double use[LAYERS * H * PAIRS], expected[LAYERS * H * PAIRS] = {0};
    rt_transformer_options o = with(RT_POSITION_ROPE, RT_ATTENTION_SOFTMAX, true);
    set_options(&o, "model.layers=5 model.heads=4 model.head_dim=8 position.fraction=0.5 "
                    "theta.learn=yes");
    o.kv_heads = G;
    o.qk_norm = shared;
    o.position.every = every;
    o.position.pairing = half ? RT_HALF : RT_INTERLEAVED;
    o.theta.scope = (rt_theta_scope)(_i % 3);
    const int rows = o.theta.scope == RT_THETA_HEAD ? G : 1;
    rt_transformer *m = make(&o);
    int n = 0; /* of a row of expected */
    for (int l = 0; l < LAYERS; l += every, n += o.theta.scope == RT_THETA_MODEL ? 0 : rows) {
        const rt_transformer_layer *layer = m->layers + l;
        for (int i = 0; i < D && shared; i++) {
            layer->query_norm.weight->data[i] = 1 + i;
            layer->key_norm.weight->data[i] = 10 - i;
        }
        for (int h = 0; h < H; h++)
            for (int i = 0; i < PAIRS; i++) {
                const int a = half ? i : 2 * i, b = half ? i + PAIRS : a + 1, g = h * G / H;
                expected[(n + (rows > 1 ? g : 0)) * PAIRS + i] +=
                    length_of_pair(layer->query, layer->query_norm, h * D, a, b) *
                    length_of_pair(layer->key, layer->key_norm, g * D, a, b);
            }
    }
    const int count = PAIRS * (n ? n : 1);
    ck_assert_uint_eq(rt_transformer_theta_count(&o), (size_t)count);
    rt_transformer_theta_use(m, use);
    for (int i = 0; i < count; i++) {
        const double *row = expected + i / PAIRS * PAIRS;
        expect_near(use[i], expected[i] / (row[0] + row[1]), 1e-13, "use of theta %d", i);
    }
}
