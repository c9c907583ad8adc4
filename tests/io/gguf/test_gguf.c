/* GGUF files are read: numbers of all types, options, tokenizer; damaged and unknown ones are
 * refused by the key or the tensor. scripts/check real reads a published model. */

#include "suite.h"

#include "gguf_file.h"
#include "io/gguf/gguf.h"
#include "io/gguf/private.h"
#include "io/import.h"
#include "util/scratch.h"

#define FILE_NAME "small.gguf"

static gguf_file file;
static rt_huggingface *there; /* the import of it, and its model */
static rt_transformer *model;

static void release(void)
{
    rt_transformer_free(model);
    rt_huggingface_close(there);
    model = NULL;
    there = NULL;
}

SUITE(.setup = make_scratch, .clean = release, .teardown = remove_scratch)

static const char *written(void)
{
    write_bytes(in_scratch(FILE_NAME), file.bytes, file.size);
    return in_scratch(FILE_NAME);
}

/* Imports the file and, if that succeeds, fills a model. */
static rt_status import_file(void)
{
    release();
    rt_status status = rt_import(&there, written());
    return status.code ? status : rt_huggingface_model(there, NULL, &model, NULL);
}

/* Expects a refusal of the file with this part in its message; NULL: none. */
static void expect_refusal(rt_status status, const char *part)
{
    if (part) {
        is_status_with(status, RT_CHECKPOINT, FILE_NAME ": ");
        expect_in(status.message, part);
    } else {
        expect_ok(status);
    }
}

/* First, second and last number of each tensor, and the sum, by the gguf package of Python. */
static const struct {
    const char *name;
    double first, second, last, sum;
} numbers[] = {
    {"token_embd.weight", 0.06339263916015625, 0.04463958740234375, 0.5509719848632812,
     435.7886657714844},
    {"blk.0.attn_q.weight", 3.4985122680664062, 2.3733291625976562, 0.6623153686523438,
     312374.5610809326},
    {"blk.0.attn_k.weight", 0.23217010498046875, 0.08214569091796875, 0.15715789794921875,
     4238.182907104492},
    {"blk.0.attn_v.weight", 0.187530517578125, -0.1687774658203125, 0.262542724609375,
     -314.50743103027344},
    {"blk.0.attn_output.weight", 14.486770629882812, 9.085891723632812, 3.3865814208984375,
     632366.227432251},
    {"blk.0.ffn_gate.weight", 0.562591552734375, 2.587921142578125, -25.3541259765625,
     4204.359191894531},
    {"blk.0.ffn_up.weight", -2.362884521484375, -1.4064788818359375, 0.337554931640625,
     -527.3920745849609},
    {"blk.0.ffn_down.weight", 0.1312713623046875, 0.0, 0.037506103515625, -661.9639739990234},
    {"output.weight", 1.2265625, 1.2265625, 1.2265625, 1884.0},
    {"blk.0.attn_norm.weight", 1.229238748550415, 1.2309484481811523, 1.232530117034912,
     314.95856952667236},
    {"blk.0.ffn_norm.weight", 1.9033203125, 1.9033203125, 1.9033203125, 487.25},
    {"output_norm.weight", 0.029266486853627878, 0.029133305652702474, 0.028433128634482063,
     7.37449018748347},
};

TEST_ROWS(numbers_of_each_type_are_those_of_llama_cpp, 0, ROWS(numbers))
{
    rt_gguf g;
    gguf_build(&file, (gguf_extra){0});
    expect_ok(rt_gguf_open(&g, written()));
    const rt_safetensor *t = rt_safetensors_find(g.tensors, numbers[_i].name);
    double *values = rt_alloc(t->count, sizeof *values), within[3], sum = 0;
    expect_ok(rt_safetensors_doubles(t, 0, t->count, values));
    ck_assert_double_eq(values[0], numbers[_i].first);
    ck_assert_double_eq(values[1], numbers[_i].second);
    ck_assert_double_eq(values[t->count - 1], numbers[_i].last);
    for (uint64_t i = 0; i < t->count; i++)
        sum += values[i];
    ck_assert_double_eq_tol(sum, numbers[_i].sum, 1e-6);
    expect_ok(rt_safetensors_doubles(t, 31, 3, within)); /* ends in another block */
    ck_assert_mem_eq(within, values + 31, sizeof within);
    rt_free(values);
    rt_gguf_close(&g);
}

TEST(a_file_is_a_model_with_its_tokenizer)
{
    int32_t ids[8];
    int count;
    rt_unknown unknown = {0};
    gguf_build(&file,
               (gguf_extra){"llama.rope.freq_base", 6, 0x47c35000, NULL, false}); /* 100000 */
    expect_ok(import_file());
    const rt_transformer_options *o = &model->options;
    ck_assert_int_eq(o->kind, RT_KIND_DECODER);
    ck_assert_int_eq(o->kv_heads, 2);
    ck_assert_int_eq(o->head_dim, 64);
    ck_assert(!o->tie_embeddings);
    ck_assert_int_eq(o->bias, RT_BIAS_NONE);
    ck_assert_double_eq(o->position.frequencies.base, 100000);
    ck_assert_double_eq_tol(o->norm_eps, 1e-5, 1e-12);
    ck_assert_int_eq(there->data.length, 64);
    ck_assert_str_eq(there->warnings, "");
    ck_assert_int_eq(there->vocabulary->ends.ids[0], 4);
    ck_assert(there->bare);
    expect_ok(
        rt_vocabulary_encode(there->vocabulary, "cab a<|end|>", 12, true, ids, &count, &unknown));
    const int32_t wanted[] = {5, 2, 3, 0, 4};
    ck_assert_int_eq(count, ROWS(wanted));
    ck_assert_mem_eq(ids, wanted, sizeof wanted);
}

/* Values of keys in addition: refused with a message, or, without one, read without a warning. */
static const struct {
    gguf_extra extra;
    const char *message;
} extras[] = {
    {{"llama.attention.scale", 6, 0x3f800000, NULL, false}, "llama.attention.scale' changes what"},
    {{"llama.attention.sliding_window", 4, 128, NULL, false},
     "llama.attention.sliding_window' changes"},
    {{"llama.attention.sliding_window", 4, 0, NULL, false}, NULL},
    {{"llama.logit_scale", 6, 0x3e800000, NULL, false}, "llama.logit_scale' changes"},
    {{"llama.logit_scale", 6, 0x3f800000, NULL, false}, NULL},
    {{"llama.expert_count", 4, 8, NULL, false}, "llama.expert_count' changes"},
    {{"llama.expert_count", 4, 0, NULL, false}, NULL},
    {{"llama.rope.unheard", 8, 0, "of", false}, "llama.rope.unheard' changes"},
    {{"llama.block_count", 4, 1, NULL, false}, "'llama.block_count': the key occurs twice"},
    {{"llama.attention.value_length", 4, 32, NULL, false}, "value_length must be 64, as for keys"},
    {{"llama.attention.key_length", 4, 63, NULL, false},
     "llama: heads of 63 features have no pairs to rotate"},
    {{"llama.rope.dimension_count", 4, 32, NULL, false}, "dimension_count = 32 of heads of 64"},
    {{"llama.rope.dimension_count", 4, 64, NULL, false}, NULL},
    {{"llama.rope.freq_base", 6, 0x3f800000, NULL, false},
     "llama.rope.freq_base must be above 1; got 1"},
    {{"llama.rope.freq_base", 6, 0x7f800000, NULL, false}, "its value is no finite number"},
    {{"llama.rope.scaling.type", 8, 0, "none", false}, NULL},
    {{"llama.rope.scaling.type", 8, 0, "yarn", false}, NULL},
    {{"llama.rope.scaling.type", 8, 0, "su", false},
     "llama.rope.scaling.type must be none, linear, yarn"},
    {{"llama.rope.scaling.type", 8, 0, "longrope", false},
     "rope_factors_short.weight must have a number"},
    {{"llama.rope.scaling.factor", 6, 0x40000000, NULL, false}, NULL},
    {{"llama.rope.scaling.factor", 6, 0x3f000000, NULL, false},
     "factor must be at least 1; got 0.5"},
    {{"llama.rope.scaling.attn_factor", 6, 0x3fc00000, NULL, false}, NULL},
    {{"llama.vocab_size", 8, 0, "many", false}, NULL}, /* the tensor says it */
    {{"llama.attention.causal", 7, 0, NULL, false},
     "'llama.attention.causal': the key occurs twice"},
    {{"llama.rope.scaling.attn_factor", 6, 0x3fc00000, NULL, true}, NULL},
    {{"llama.rope.scaling.type", 8, 0, "su", true}, "llama.rope.scaling.type must be none, linear"},
    {{"llama.rope.scaling.type", 8, 0, "yarn", true}, "= yarn is not read with rope_freqs.weight"},
    {{"llama.rope.scaling.factor", 6, 0x40000000, NULL, true}, "= linear is not read with rope_fr"},
    {{"llama.rope.dimension_count", 4, 32, NULL, true}, "dimension_count = 32 of heads of 64"},
    {{"llama.attention.value_length", 4, 32, NULL, true}, "value_length must be 64, as for keys"},
    {{"tokenizer.ggml.padding_token_id", 4, 6, NULL, false},
     "padding_token_id must be an id below 6"},
    {{"split.count", 2, 3, NULL, false}, "split.count: the model is in several files"},
    {{"general.name", 7, 2, NULL, false}, "'general.name': its value is no 0 or 1"},
    {{"general.name", 13, 0, NULL, false}, "a value of type 13 is none of the format"},
    {{"general.name", 9, 0, NULL, false}, "a list of values of type 17 is not read"},
    {{"general.name", 8, 0, "\xff", false}, "a text is not UTF-8, or has a zero"},
    {{"general.name", 11, 0xfffffffffffffff0, NULL, false}, NULL},
};

TEST_ROWS(a_key_is_read_or_refused_by_its_name, 0, ROWS(extras))
{
    gguf_build(&file, extras[_i].extra);
    expect_refusal(import_file(), extras[_i].message);
    if (!extras[_i].message)
        ck_assert_str_eq(there->warnings, "");
}

/* Tokenizers that are refused: the model reads ids. */
static const struct {
    gguf_extra extra;
    const char *warning;
} tokenizers[] = {
    {{"tokenizer.ggml.add_bos_token", 7, 1, NULL, false},
     "add_bos_token: there is no bos_token_id"},
    {{"tokenizer.ggml.add_bos_token", 0, 1, NULL, false}, "add_bos_token must be true or false"},
    {{"tokenizer.ggml.mask_token_id", 4, 7, NULL, false}, "mask_token_id must be an id below 6"},
    {{"llama.unheard", 4, 1, NULL, false}, "'llama.unheard': rotor does not know, and ignores"},
    {{"unheard", 4, 1, NULL, false}, "'unheard': rotor does not know, and ignores"},
};

TEST_ROWS(an_unreadable_tokenizer_or_unused_key_is_a_warning, 0, ROWS(tokenizers))
{
    gguf_build(&file, tokenizers[_i].extra);
    expect_ok(rt_import(&there, written()));
    ck_assert_msg(strstr(there->warnings, tokenizers[_i].warning) != NULL, "%s", there->warnings);
    ck_assert((there->vocabulary == NULL) == (_i < 3));
}

/* Returns the byte after a text in the header. */
static unsigned char *behind(const char *text)
{
    for (size_t i = 0; i + strlen(text) < file.data; i++)
        if (!memcmp(file.bytes + i, text, strlen(text)))
            return file.bytes + i + strlen(text);
    ck_abort_msg("there is no %s", text);
    return NULL;
}

/* Bytes of the header, at a distance after a text, and the number that replaces them. */
#define HUGE_COUNT 0x1000000000000000
static const struct {
    const char *text;
    int distance, size;
    uint64_t value;
    const char *message;
} damaged[] = {
    {"GGUF", 0, 4, 1, "not of GGUF version 2 or 3"},
    {"GGUF", 0, 4, 0x3000000, "not of GGUF version 2 or 3, little-endian"},
    {"GGUF", 4, 8, HUGE_COUNT, "1152921504606846976 tensors are more than the"},
    {"GGUF", 12, 8, HUGE_COUNT, "1152921504606846976 keys are more than the"},
    {"GGUF", 12, 8, 17, "bytes of a text are more than the 95 that there can be"},
    {"GGUF", 20, 8, HUGE_COUNT, "1152921504606846976 bytes of a text are more than the 255"},
    {"general.alignment", 4, 4, 0, "'general.alignment': it must be a power of 2"},
    {"general.alignment", 4, 4, 48, "'general.alignment': it must be a power of 2"},
    {"general.alignment", 4, 4, 1 << 20, "'token_embd.weight': it does not end in the file"},
    {"llama.block_count", 4, 4, 0, "llama.block_count must be a whole number from 1"},
    {"llama.block_count", 4, 4, 2, "num_hidden_layers = 2 needs 18 tensors; there are 12"},
    {"llama.block_count", 4, 4, 900, "num_hidden_layers = 900 needs 8100 tensors; there are 12"},
    {"llama.block_count", 0, 4, 5, NULL},
    {"llama.context_length", 4, 4, 1 << 20, NULL}, /* longer than a text of rotor */
    {"llama.attention.causal", 4, 1, 0, "'llama.attention.causal' changes what the model computes"},
    {"llama.attention.head_count", 4, 4, 3, "llama: heads of 85 features have no pairs to rotate"},
    {"llama.attention.head_count", 4, 4, 1u << 31, "head_count must be a whole number from 1"},
    {"llama.attention.head_count_kv", 4, 4, 3,
     "model.kv_heads = 3 does not divide model.heads = 4"},
    {"llama.attention.head_count_kv", 4, 4, 4, "blk.0.attn_k.weight is (128, 256), (256, 256)"},
    {"llama.embedding_length", 4, 4, 512, "numbers; there are"},
    {"llama.attention.layer_norm_rms_epsilon", 4, 4, 0, "rms_epsilon must be a number above 0"},
    {"tokenizer.ggml.tokens", 8, 8, HUGE_COUNT, "'tokenizer.ggml.tokens': 1152921504606846976"},
    {"token_embd.weight", 0, 4, 5, "'token_embd.weight': it has 5 axes"},
    {"token_embd.weight", 0, 4, 0, "'token_embd.weight': it has 0 axes"},
    {"token_embd.weight", 4, 8, 255, "no blocks of 32, as Q5_1 has"},
    {"token_embd.weight", 4, 8, HUGE_COUNT,
     "'token_embd.weight': its shape is empty, or overflows"},
    {"token_embd.weight", 12, 8, 0, "'token_embd.weight': its shape is empty, or overflows"},
    {"token_embd.weight", 20, 4, 10, "its type has the number 10; rotor reads F32, F16"},
    {"token_embd.weight", 20, 4, 4000000000, "its type has the number 4000000000"},
    {"blk.0.attn_q.weight", 24, 8, 16, "'blk.0.attn_q.weight': its place 16 is no multiple of 32"},
    {"blk.0.attn_q.weight", 24, 8, 0, "it overlaps another one"},
    {"blk.0.attn_q.weight", 24, 8, HUGE_COUNT,
     "'blk.0.attn_q.weight': it does not end in the file"},
    {"blk.0.attn_k.weight", -8, 1, 'x', "lacks blk.0.attn_k.weight (128, 256)"},
    {"blk.0.attn_k.weight", -8, 1, 'q', "'blk.0.attn_q.weight': the tensor occurs twice"},
};

TEST_ROWS(a_damaged_header_is_refused, 0, ROWS(damaged))
{
    gguf_build(&file, (gguf_extra){0});
    unsigned char *at = behind(damaged[_i].text) + damaged[_i].distance;
    for (int i = 0; i < damaged[_i].size; i++)
        at[i] = (unsigned char)(damaged[_i].value >> 8 * i);
    expect_refusal(import_file(), damaged[_i].message);
}

TEST(messages_and_the_page_name_all_types)
{
    size_t size;
    const char *page = (const char *)file_bytes(TEST_SOURCES "/../docs/llama-cpp.md", &size);
    for (uint32_t number = 0; number < 256; number++) {
        const rt_number_type *t = rt_gguf_type(number);
        ck_assert_msg(!t || (strstr(RT_GGUF_TYPES, t->name) && strstr(page, t->name)), "%s",
                      t->name);
    }
    for (const rt_family *const *f = rt_gguf_read; *f; f++)
        expect_in(page, lasting("`%s`", (*f)->type));
    for (const rt_gguf_pattern *p = rt_gguf_patterns; p->name; p++)
        expect_in(page, lasting("`%s`", p->name));
}

/* A context of a million tokens, with factors of theta: its length is that of a text at most. */
TEST(a_long_context_has_factors_of_theta)
{
    gguf_build(&file, (gguf_extra){"llama.rope.scaling.attn_factor", 6, 0x3fc00000, NULL, true});
    const uint32_t context = 1 << 20;
    memcpy(behind("llama.context_length") + 4, &context, sizeof context);
    expect_ok(import_file());
    ck_assert_int_eq(there->max_positions, 1 << 20);
    ck_assert_int_eq(there->length, RT_MOST_SIZE);
    ck_assert_int_eq(model->options.position.frequencies.original_len, RT_MOST_SIZE);
    ck_assert_double_eq(rt_frequencies_magnitude(&model->options.position.frequencies), 1.5);
}

TEST(a_factor_beside_longrope_is_refused)
{
    gguf_more = (gguf_extra){"llama.rope.scaling.factor", 6, 0x40800000, NULL, false};
    gguf_build(&file, (gguf_extra){"llama.rope.scaling.type", 8, 0, "longrope", false});
    gguf_more = (gguf_extra){0};
    is_status(rt_import(&there, written()), RT_CHECKPOINT,
              FILE_NAME ": llama.rope.scaling.type = longrope is not read with a factor");
}

TEST(both_tokens_that_end_a_text_are_exported)
{
    gguf_build(&file, (gguf_extra){"tokenizer.ggml.eot_token_id", 4, 3, NULL, false});
    expect_ok(import_file());
    rt_huggingface_export export = {.vocabulary = there->vocabulary, .length = 64, .bare = true};
    expect_ok(rt_gguf_write(in_scratch("out.gguf"), model, &export, RT_GGUF_F32));
    release();
    expect_ok(rt_import(&there, in_scratch("out.gguf")));
    ck_assert_int_eq(there->ends.count, 2);
    ck_assert_int_eq(there->ends.ids[0], 4);
    ck_assert_int_eq(there->ends.ids[1], 3);
}

/* A file is cut to so many bytes. */
static const size_t sizes[] = {0, 3, 4, 23, 24, 100, 1000, 1500, 2000, 294495};

TEST_ROWS(a_shortened_file_is_refused, 0, ROWS(sizes))
{
    gguf_build(&file, (gguf_extra){0});
    file.size = sizes[_i];
    expect_refusal(rt_gguf_import(&there, written()), "");
}

/* Replaces some bytes of the header, at places and by values that follow from `seed`. */
static void mutate(uint32_t seed)
{
    for (uint32_t n = 0; n < 1 + seed % 3; n++) {
        seed = seed * 1664525 + 1013904223;
        unsigned char *at = file.bytes + (seed >> 8) % (file.data - 8);
        const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff, (unsigned char)(*at + 1)};
        seed = seed * 1664525 + 1013904223;
        memset(at, values[(seed >> 8) % sizeof values], seed >> 16 & 1 ? 1 : 4);
    }
}

/* Parts of the 2,000 mutated files. */
enum { PARTS = 20, FILES = 100 };

SAMPLED_ROWS(a_mutated_file_is_read_or_refused, 0, PARTS, 4)
{
    int read = 0;
    for (uint32_t n = 0; n < FILES; n++) {
        gguf_build(&file, (gguf_extra){0});
        mutate((uint32_t)_i * FILES + n);
        const rt_status status = import_file();
        ck_assert_msg(!status.code || status.code == RT_CHECKPOINT, "%s", status.message);
        read += !status.code;
    }
    ck_assert_int_gt(read, 0);
    ck_assert_int_lt(read, FILES);
}

static rt_status import_and_close(void *path)
{
    const rt_status status = rt_gguf_import(&there, path);
    release();
    return status;
}

TEST(an_exhausted_heap_is_reported)
{
    gguf_build(&file, (gguf_extra){0});
    expect_faults(import_and_close, (void *)written(), 20);
}
