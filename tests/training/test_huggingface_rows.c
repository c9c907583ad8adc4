/* Tables of invented families: tensors that join parameters, other names that are read, keys with
 * one value. */

#include "training/hf_export.h"

#include "io/huggingface/private.h"

/* ---- the families ---- */

static const rt_family_class classes[] = {
    {"MadeUpForCausalLM", RT_HEAD_LM, true, NULL},
    {"MadeUpModel", RT_HEAD_LM, false, NULL},
    {0},
};

#define LAYER "base.layers.N."
#define JOINED                                                                                     \
    .here = {"layers.N.attention.query", "layers.N.attention.key", "layers.N.attention.value"}
#define OTHERS                                                                                     \
    {"base.words.weight", .here = {RT_TOKENS_NAME}},                                               \
        {LAYER "dense", .here = {"layers.N.attention.output"}},                                    \
        {LAYER "norm_1.gammas", .here = {"layers.N.attention_norm.weight"}, .written = rt_never},  \
        {LAYER "norm_1", .here = {"layers.N.attention_norm"}},                                     \
        {LAYER "norm_2", .here = {"layers.N.ffn_norm"}},                                           \
        {LAYER "gate", .here = {"layers.N.ffn.gate"}}, {LAYER "up", .here = {"layers.N.ffn.up"}},  \
        {LAYER "down", .here = {"layers.N.ffn.down"}}, {"base.norm", .here = {"norm"}},            \
        {"decoder.weight", .here = {RT_OUTPUT_NAME}}, {LAYER "inv_freq", .spare = true},           \
    {                                                                                              \
        0                                                                                          \
    }

static const rt_tensor_row in_blocks[] = {{LAYER "qkv", JOINED}, OTHERS};
static const rt_tensor_row by_head[] = {{LAYER "qkv", JOINED, .form = RT_BY_HEAD}, OTHERS};
static const rt_option_row options[] = {
    RT_LLAMA_OPTIONS,
    {"model.ffn", RT_IS, "swiglu", "silu"},
    {0},
};

static void read_share(rt_reading *r, rt_huggingface *there)
{
    there->options.position.fraction = rt_reading_above_0(r, "rotary_pct", 1);
}

static void put_share(rt_config_writing *w)
{
    rt_json_put(&w->object, "rotary_pct", json_real(w->options->position.fraction));
}

static void read_bias(rt_reading *r, rt_huggingface *there)
{
    there->options.bias = rt_reading_flag(r, "biases", false) ? RT_BIAS_ALL : RT_BIAS_NONE;
}

static void put_bias(rt_config_writing *w)
{
    rt_json_put(&w->object, "biases", json_boolean(w->options->bias == RT_BIAS_ALL));
}

static void read_length(rt_reading *r, rt_huggingface *there)
{
    there->max_positions = rt_reading_size(r, "n_positions", 64);
    there->padding_id = RT_NO_PADDING;
}

static const rt_config_row config[] = {
    {"n_vocab", RT_SIZE(vocab), .initial = 7},
    {"n_embd", RT_SIZE(dim), .initial = 16},
    {"n_layer", RT_LAYERS, .initial = 2},
    {"n_head", RT_SIZE(heads), .initial = 4},
    {"n_kv", RT_SIZE(kv_heads), .initial = 2, .same_as = RT_MEMBER_OF(int, heads)},
    {"n_inner", RT_SIZE(ffn_dim), .initial = 20},
    {"eps", RT_EPS(norm_eps), .initial = 1e-5},
    {"biases", .read = read_bias, .put = put_bias},
    {"rotary_pct", .read = read_share, .put = put_share},
    {"theta", .type = RT_CONFIG_NUMBER, .member = RT_MEMBER_OF(double, position.frequencies.base),
     .initial = 10000, .high = 1e9},
    {"tied", RT_YES_OR_NO(tie_embeddings)},
    {"rope_interleaved", RT_MUST_BE("false"), .reason = "pairs are halves of a head",
     .when = rt_always},
    {"n_positions", .read = read_length},
    {0},
};

static const char *const head_prefixes[] = {"decoder.", NULL};

#define MADE_UP(word, rows)                                                                        \
    {                                                                                              \
        .name = "Made Up", .type = word, .classes = classes, .prefix = "base.", .tensors = rows,   \
        .head_prefixes = head_prefixes, .layer_tensors = 7, .pairing = RT_HALF,                    \
        .pairs_rotated = true, .options = options, .config = config                                \
    }
static const rt_family blocks_family = MADE_UP("blocks", in_blocks);
static const rt_family heads_family = MADE_UP("heads", by_head);

/* ---- models ---- */

/* A model of these options, no two numbers of whose parameters are the same, those of biases and
 * norms neither; all are floats. */
static rt_transformer *numbered_model(const rt_transformer_options *o)
{
    rt_transformer *model = new_model(o, 3);
    for (size_t i = 0; i < model->parameters.block_size; i++)
        model->parameters.values[i] = (real)i / 1024;
    return model;
}

static rt_transformer_options usual(int kv_heads, rt_bias bias)
{
    rt_transformer_options o = options_of("decoder vocab=7 position.fraction=0.5");
    o.kv_heads = kv_heads;
    o.bias = bias;
    return o;
}

static rt_transformer *usual_model(int kv_heads, rt_bias bias)
{
    const rt_transformer_options o = usual(kv_heads, bias);
    return numbered_model(&o);
}

static const rt_family *const families[] = {&rt_family_llama, &blocks_family, &heads_family, NULL};

/* As the family alone writes it. */
static rt_status write_as(const rt_family *family, const rt_transformer *model)
{
    const rt_family *const one[] = {family, NULL};
    return rt_huggingface_write_as(in_scratch("out"), model,
                                   &(rt_huggingface_export){.length = 8, .overwrite = true}, one);
}

static rt_status open_folder(rt_huggingface **there)
{
    return rt_huggingface_open_of(there, in_scratch("out"), families);
}

/* The model of the folder. */
static rt_transformer *read_again(void)
{
    rt_huggingface *there;
    expect_ok(open_folder(&there));
    return model_of_folder(owned(there, close_folder));
}

static void expect_same_values(const rt_transformer *a, const rt_transformer *b)
{
    ck_assert_int_eq(a->parameters.count, b->parameters.count);
    for (int i = 0; i < a->parameters.count; i++)
        expect_same_parameter(a->parameters.list[i], b);
}

/* ---- there and back ---- */

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(what_was_written_is_read_and_written_again, 0, 32)
{
    const rt_family *family = _i & 1 ? &heads_family : &blocks_family;
    rt_transformer_options o = usual(_i & 2 ? 2 : 4, _i & 4 ? RT_BIAS_ALL : RT_BIAS_NONE);
    o.position.pairing = _i & 8 ? RT_INTERLEAVED : RT_HALF;
    o.position.fraction = _i & 16 ? 1 : 0.5;
    rt_transformer *model = numbered_model(&o);
    expect_ok(write_as(family, model));
    size_t size, now;
    const unsigned char *weights = file_bytes(in_scratch("out/model.safetensors"), &size);
    const char *text = text_in("out/config.json");
    rt_transformer *again = read_again();
    if (o.position.pairing == RT_HALF)
        expect_same_values(model, again);
    expect_ok(write_as(family, again));
    const unsigned char *weights_again = file_bytes(in_scratch("out/model.safetensors"), &now);
    ck_assert_uint_eq(size, now);
    ck_assert_mem_eq(weights, weights_again, size);
    expect_content("out/config.json", text);
}

static double number_in(const char *tensor, uint64_t first)
{
    double number;
    const rt_safetensor *t = rt_safetensors_find(opened_weights("out/model.safetensors"), tensor);
    ck_assert_ptr_nonnull(t);
    expect_ok(rt_safetensors_doubles(t, first, 1, &number));
    return number;
}

static double number_of(const rt_transformer *model, const char *parameter, size_t first)
{
    return (double)rt_parameters_find(&model->parameters, parameter)->tensor.data[first];
}

/* Of 4 heads of 8 features over 32, with 2 heads of keys: 32 rows of queries, 16 of keys and of
 * values. By head, a group has the rows of 2 heads of queries, then a key's, then a value's. */
TEST_ROWS(rows_stand_where_the_form_says, 0, 2)
{
    static const struct {
        const char *parameter;
        int row, in_blocks, by_head;
    } rows[] = {
        {"layers.1.attention.query", 0, 0, 0},    {"layers.1.attention.query", 15, 15, 15},
        {"layers.1.attention.query", 16, 16, 32}, {"layers.1.attention.query", 31, 31, 47},
        {"layers.1.attention.key", 0, 32, 16},    {"layers.1.attention.key", 9, 41, 49},
        {"layers.1.attention.value", 7, 55, 31},  {"layers.1.attention.value", 15, 63, 63},
    };
    rt_transformer *model = usual_model(2, RT_BIAS_ALL);
    expect_ok(write_as(_i ? &heads_family : &blocks_family, model));
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const char *name = rows[n].parameter;
        const int there = _i ? rows[n].by_head : rows[n].in_blocks;
        ck_assert_double_eq(number_in("base.layers.1.qkv.weight", (uint64_t)there * 32 + 5),
                            number_of(model, lasting("%s.weight", name),
                                      (size_t)rows[n].row * 32 + 5));
        ck_assert_double_eq(number_in("base.layers.1.qkv.bias", (uint64_t)there),
                            number_of(model, lasting("%s.bias", name), (size_t)rows[n].row));
    }
}

/* ---- what a folder can have ---- */

#define OF_WEIGHTS "model.safetensors: "
static const char *const changed[][3] = {
    {"\"n_kv\": 2", "\"n_kv\": 1",
     OF_WEIGHTS "base.layers.0.qkv.weight is (64, 32), (48, 32) expected"},
    {"\"n_kv\": 2", "\"n_kv\": null",
     OF_WEIGHTS "base.layers.0.qkv.weight is (64, 32), (96, 32) expected"},
    {"\"biases\": true", "\"biases\": false",
     OF_WEIGHTS "unexpected tensor base.layers.0.dense.bias, which the model lacks"},
};

TEST_ROWS(tensors_must_have_the_sizes_that_the_keys_say, 0, ROWS(changed))
{
    rt_transformer *again;
    rt_huggingface *there;
    expect_ok(write_as(&blocks_family, usual_model(2, RT_BIAS_ALL)));
    change_file("out/config.json", changed[_i][0], changed[_i][1]);
    expect_ok(open_folder(&there));
    owned(there, close_folder);
    assert_status(rt_huggingface_model(there, NULL, &again, NULL), RT_CHECKPOINT, changed[_i][2]);
}

/* A key that is absent has the default, also where null stands for something else. */
TEST(keys_that_are_absent_have_their_default)
{
    rt_transformer *model = usual_model(2, RT_BIAS_NONE);
    expect_ok(write_as(&heads_family, model));
    change_file("out/config.json", "\"n_kv\"", "\"other\"");
    change_file("out/config.json", "\"rope_interleaved\": false", "\"rope_interleaved\": null");
    expect_same_values(model, read_again());
}

TEST(another_name_is_read)
{
    size_t size;
    rt_transformer *model = usual_model(4, RT_BIAS_NONE);
    expect_ok(write_as(&blocks_family, model));
    unsigned char *bytes = file_bytes(in_scratch("out/model.safetensors"), &size);
    char *name = strstr((char *)bytes + 8, "base.layers.1.norm_1.weight"); /* behind the length */
    ck_assert_ptr_nonnull(name);
    memcpy(strstr(name, "weight"), "gammas", strlen("gammas"));
    write_bytes(in_scratch("out/model.safetensors"), bytes, size);
    expect_same_values(model, read_again());
}

/* ---- which family ---- */

TEST(the_first_that_can_say_what_a_model_is_writes_it)
{
    const rt_family *const both[] = {&rt_family_mistral, &heads_family, &rt_family_llama, NULL};
    const rt_family *found;
    rt_transformer_options o = usual(4, RT_BIAS_NONE);
    rt_transformer_resolve(&o);
    expect_ok(rt_family_find(&found, both, &o));
    ck_assert_ptr_eq(found, &heads_family);
    o.ffn = RT_FFN_GEGLU;
    o.position.fraction = 1;
    expect_ok(rt_family_find(&found, both, &o));
    ck_assert_ptr_eq(found, &rt_family_llama);
    o.window = 5;
    expect_ok(rt_family_find(&found, both, &o));
    ck_assert_ptr_eq(found, &rt_family_mistral);
    o.norm = RT_NORM_POST;
    assert_status(rt_family_find(&found, both, &o), RT_CONFIG,
                  "model.norm = post cannot be exported: a Llama of Hugging Face has its norms "
                  "before the blocks");
}

/* ---- JSON ---- */

/* One of 64 bits without a sign becomes the largest of 63, since Jansson has no larger. */
TEST(integers_of_more_than_64_bits_keep_17_digits)
{
    char text[] = "{\"a\": [18446744073709551615, 18446744073709551616, -9223372036854775809, "
                  "123456789012345678901]}";
    static const double numbers[] = {0, 18446744073709551e3, -92233720368547758e2,
                                     12345678901234567e4};
    json_t *object;
    expect_ok(rt_json_read(&object, "a.json", text, strlen(text)));
    const json_t *list = json_object_get(object, "a");
    ck_assert(json_integer_value(json_array_get(list, 0)) == INT64_MAX);
    for (size_t i = 1; i < ROWS(numbers); i++)
        ck_assert(json_real_value(json_array_get(list, i)) == numbers[i]);
    json_decref(object);
}

/* Every double is read as what it was; what is whole has no point, unless a float is wanted. */
TEST(numbers_are_short_and_exact)
{
    static const double numbers[] = {0.1, 1e-12, -0.0, 10000, 1.0 / 3, 1e-300, -3, 1.5e300};
    json_t *object = json_object();
    rt_json_put(&object, "list", rt_json_numbers(numbers, ROWS(numbers)));
    rt_json_put(&object, "whole", json_real(3));
    char *text = rt_json_text(object);
    ck_assert_str_eq(text,
                     "{\n  \"list\": [0.1, 1e-12, -0.0, 10000, 0.3333333333333333, 1e-300, -3, "
                     "1.5e+300],\n  \"whole\": 3.0\n}\n");
    json_t *again = json_loads(text, 0, NULL);
    for (size_t i = 0; i < ROWS(numbers); i++) {
        const double value = json_number_value(json_array_get(json_object_get(again, "list"), i));
        ck_assert_int_eq(memcmp(&value, numbers + i, sizeof value), 0);
    }
    json_decref(again);
    rt_free(text);
    json_decref(object);
}
