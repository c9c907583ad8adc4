#include "option_words.h"
#include "suite.h"
#include "training/hf_folder.h"

#include "io/huggingface/private.h"
#include "io/huggingface/safetensors.h"

#include <math.h>
#include <sys/stat.h>

/* ---- config.json ---- */

#define TYPE "\"rope_type\": \"default\""
#define BASE "\"rope_theta\": 10000.0"

static const struct {
    const char *fixture, *from, *to, *message;
} configs[] = {
    {"masked_lm", "RoFormerForMaskedLM", "RoFormerForMultipleChoice",
     "config.json: architectures must be RoFormerForMaskedLM, RoFormerForCausalLM, "
     "RoFormerForSequenceClassification, RoFormerForTokenClassification or RoFormerModel: rotor "
     "reads no other; got 'RoFormerForMultipleChoice'"},
    {"masked_lm", "\"add_cross_attention\": false", "\"add_cross_attention\": true",
     "config.json: add_cross_attention = true: rotor has no encoder and decoder in one model"},
    {"masked_lm", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"",
     "config.json: hidden_act must be gelu, gelu_new, relu, tanh, sigmoid or silu: rotor has no "
     "other; got 'mish'"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": 25",
     "config.json: hidden_size = 25 is not divisible by num_attention_heads = 3"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": 27",
     "config.json: hidden_size = 27 and num_attention_heads = 3 make heads of 9; a head must have "
     "pairs to rotate"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": \"24\"",
     "config.json: hidden_size must be a whole number from 1 to 1000000"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": 24.0",
     "config.json: hidden_size must be a whole number from 1 to 1000000"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": -0",
     "config.json: hidden_size must be a whole number from 1 to 1000000"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": 24, \"hidden_size\": 24",
     "config.json:13: invalid JSON: 'duplicate object key near '\"hidden_size\"''"},
    {"masked_lm", "\"hidden_size\": 24,", "\"hidden_size\": 24",
     "config.json:14: invalid JSON: ''}' expected near '\"initializer_range\"''"},
    {"masked_lm", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": 1.01",
     "config.json: layer_norm_eps must be at most 1"},
    {"masked_lm", "\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": 0",
     "config.json: layer_norm_eps must be a number above 0"},
    {"masked_lm", "\"hidden_dropout_prob\": 0.1", "\"hidden_dropout_prob\": 1",
     "config.json: hidden_dropout_prob must be a number from 0 to less than 1"},
    {"masked_lm", "\"is_decoder\": false", "\"is_decoder\": 0",
     "config.json: is_decoder must be true or false"},
    {"masked_lm", "\"pad_token_id\": 0", "\"pad_token_id\": 53",
     "config.json: pad_token_id must be a whole number from 0 to 52"},
    {"masked_lm", "\"vocab_size\": 53", "\"vocab_size\": 53, \"pruned_heads\": {\"0\": [1]}",
     "config.json: pruned_heads: every layer of rotor has all of its heads"},
    {"masked_lm", "\"vocab_size\": 53", "\"vocab_size\": 53, \"quantization_config\": {}",
     "config.json: quantization_config: rotor reads no quantized weights"},
    {"masked_lm", "\"max_position_embeddings\": 16", "\"max_position_embeddings\": 15",
     "model.safetensors: roformer.encoder.embed_positions.weight is (16, 8); "
     "max_position_embeddings and the heads' size make it (15, 8)"},
    {"masked_lm", "\"intermediate_size\": 40", "\"intermediate_size\": 41",
     "model.safetensors: roformer.encoder.layer.0.intermediate.dense.weight is (40, 24), (41, 24) "
     "expected"},
    {"masked_lm", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
     "model.safetensors: unexpected tensor "
     "roformer.encoder.layer.1.attention.output.LayerNorm.bias, which the model lacks"},
    {"masked_lm", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000",
     "config.json: num_hidden_layers = 1000 needs 16000 tensors; the folder has 42"},
    {"masked_lm", "\"vocab_size\": 53", "\"vocab_size\": 1000000",
     "config.json: the model would have 25009704 numbers; the folder has 11157"},
    {"masked_lm", "\"intermediate_size\": 40", "\"intermediate_size\": 1000000",
     "config.json: the model would have 98007112 numbers; the folder has 11157"},
    {"masked_lm", "\"embedding_size\": 24", "\"embedding_size\": 1000000",
     "config.json: the model would have 108009040 numbers; the folder has 11157"},
    {"sequence", "\"3\": \"LABEL_3\"", "\"4\": \"LABEL_3\"",
     "config.json: id2label must have a string for each number below 4; not so for 3"},
    {"sequence", "\"id2label\": {", "\"problem_type\": \"regression\", \"id2label\": {",
     "config.json: problem_type must be single_label_classification: rotor has no other; got "
     "'regression'"},
    {"sequence", "\"id2label\"", "\"num_labels\": 1, \"other\"",
     "config.json: id2label has one label, which makes it a regression: rotor has none"},
    {"sequence", "\"id2label\"", "\"other\"",
     "model.safetensors: classifier.out_proj.weight is (4, 24), (2, 24) expected"},
    {LLAMA("llama"), "LlamaForCausalLM", "LlamaForSequenceClassification",
     "model.safetensors: lacks score.weight (2, 24)"},
    {LLAMA("llama"), "LlamaForCausalLM", "MistralForCausalLM",
     "config.json: architectures must be LlamaForCausalLM, LlamaForSequenceClassification, "
     "LlamaForTokenClassification or LlamaModel: rotor reads no other; got 'MistralForCausalLM'"},
    {LLAMA("mistral_window"), "MistralForCausalLM", "MistralForTokenClassification",
     "model.safetensors: lacks score.weight (2, 24)"},
    {LLAMA("llama"), "\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"",
     "config.json: hidden_act must be silu or gelu: rotor has no other gates; got 'relu'"},
    {LLAMA("llama"), "\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu_new\"",
     "config.json: hidden_act must be silu or gelu: rotor has no other gates; got 'gelu_new'"},
    {LLAMA("llama"), "\"head_dim\": 6", "\"head_dim\": 8",
     "model.safetensors: model.layers.0.self_attn.q_proj.weight is (24, 24), (32, 24) expected: "
     "num_attention_heads and num_key_value_heads times head_dim"},
    {LLAMA("llama"), "\"hidden_size\": 24", "\"hidden_size\": 25",
     "model.safetensors: model.embed_tokens.weight is (41, 24), (41, 25) expected"},
    {LLAMA("llama"), "\"head_dim\": 6,\n  \"hidden_act\": \"silu\",\n  \"hidden_size\": 24",
     "\"hidden_size\": 20",
     "config.json: hidden_size = 20 and num_attention_heads = 4 make heads of 5; a head must have "
     "pairs to rotate"},
    {LLAMA("llama"), "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3",
     "config.json: num_key_value_heads = 3 does not divide num_attention_heads = 4"},
    {LLAMA("llama"), "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 0",
     "config.json: num_key_value_heads must be a whole number from 1 to 1000000"},
    {LLAMA("mistral_window"), "\"num_key_value_heads\": 2,", "",
     "config.json: num_key_value_heads = 8 does not divide num_attention_heads = 4"},
    {LLAMA("llama"), "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 1",
     "model.safetensors: model.layers.0.self_attn.k_proj.weight is (12, 24), (6, 24) expected"},
    {LLAMA("llama"), "\"attention_bias\": false", "\"attention_bias\": true",
     "config.json: attention_bias = true and mlp_bias = false: rotor has biases in all linear maps "
     "of a model or in none"},
    {LLAMA("llama"), "\"mlp_bias\": false", "\"mlp_bias\": true",
     "config.json: attention_bias = false and mlp_bias = true: rotor has biases in all linear maps "
     "of a model or in none"},
    {LLAMA("llama"), "\"mlp_bias\": false", "\"mlp_bias\": 0",
     "config.json: mlp_bias must be true or false"},
    {LLAMA("llama"), "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 0",
     "config.json: rms_norm_eps must be a number above 0"},
    {LLAMA("llama"), "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 1.01",
     "config.json: rms_norm_eps must be at most 1"},
    {LLAMA("llama"), "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": \"1e-5\"",
     "config.json: rms_norm_eps must be a number above 0"},
    {LLAMA("llama"), "\"attention_dropout\": 0.0", "\"attention_dropout\": 1.0",
     "config.json: attention_dropout must be a number from 0 to less than 1"},
    {LLAMA("llama"), "\"pad_token_id\": null", "\"pad_token_id\": 41",
     "config.json: pad_token_id must be a whole number from -1 to 40"},
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"quantization_config\": {}",
     "config.json: quantization_config: rotor reads no quantized weights"},
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 1000000",
     "config.json: the model would have 48010776 numbers; the folder has 12744"},
    {LLAMA("llama"), "\"intermediate_size\": 50", "\"intermediate_size\": 1000000",
     "config.json: the model would have 144005544 numbers; the folder has 12744"},
    {LLAMA("llama"), "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000",
     "config.json: num_hidden_layers = 1000 needs 9000 tensors; the folder has 21"},
    {LLAMA("llama"), "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1001",
     "config.json: num_hidden_layers must be a whole number from 1 to 1000"},
    {LLAMA("llama"), "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1",
     "model.safetensors: unexpected tensor model.layers.1.input_layernorm.weight, which the model "
     "lacks"},
    {LLAMA("llama"), "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 1",
     "config.json: tie_word_embeddings must be true or false"},
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"is_causal\": false",
     "config.json: is_causal = false: a decoder of rotor attends to no token behind its own"},
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"is_causal\": null",
     "config.json: is_causal = null: a decoder of rotor attends to no token behind its own"},
    {LLAMA("mistral_window"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"is_causal\": 0",
     "config.json: is_causal = 0: a decoder of rotor attends to no token behind its own"},
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"per_layer_config\": {}",
     "config.json: per_layer_config: layers of rotor have the same sizes"},
    {FAMILY("qwen2"), "\"vocab_size\"", "\"is_causal\": false, \"vocab_size\"",
     "config.json: is_causal = false: a decoder of rotor attends to no token behind its own"},
    {FAMILY("gpt_neox"), "\"vocab_size\"", "\"is_causal\": false, \"vocab_size\"",
     "config.json: is_causal = false: a decoder of rotor attends to no token behind its own"},
    {FAMILY("gpt_neox"), "\"vocab_size\"", "\"head_dim\": 4, \"vocab_size\"",
     "config.json: head_dim = 4: heads of this family have 8 features, hidden_size / "
     "num_attention_heads"},
    {FAMILY("esm"), "\"vocab_size\"", "\"head_dim\": 2, \"vocab_size\"",
     "config.json: head_dim = 2: heads of this family have 8 features, hidden_size / "
     "num_attention_heads"},
    {"causal_lm", "\"vocab_size\"", "\"is_causal\": false, \"vocab_size\"",
     "config.json: is_causal must be true with is_decoder = true: a decoder of rotor attends to no "
     "token behind its own"},
    {FAMILY("modernbert_classify"), "\"vocab_size\"", "\"num_labels\": 2, \"vocab_size\"",
     "config.json: num_labels must be 3, as many as id2label names"},
    /* the window */
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"sliding_window\": 8",
     "config.json: sliding_window: a window is for model_type mistral"},
    {LLAMA("mistral_window"), "\"sliding_window\": 5", "\"sliding_window\": 0",
     "config.json: sliding_window must be a whole number from 1 to 1000000"},
    {LLAMA("mistral_window"), "\"sliding_window\": 5",
     "\"sliding_window\": 5, \"use_sliding_window\": false",
     "config.json: use_sliding_window = false, but sliding_window gives a window"},
    {LLAMA("mistral_window"), "\"sliding_window\": 5",
     "\"sliding_window\": 5, \"layer_types\": [\"sliding_attention\", \"full_attention\"]",
     "config.json: layer_types must all be sliding_attention; got 'full_attention'"},
    {LLAMA("llama"), "\"vocab_size\": 41",
     "\"vocab_size\": 41, \"layer_types\": [\"full_attention\", 1]",
     "config.json: layer_types must all be full_attention; got 'something else'"},
    /* theta */
    {LLAMA("llama"), TYPE, "\"rope_type\": \"proportional\"",
     "config.json: rope_parameters.rope_type must be default, linear, dynamic, yarn, longrope or "
     "llama3: rotor reads no other; got 'proportional'"},
    {LLAMA("llama"), TYPE, "\"type\": \"su\"",
     "config.json: rope_parameters.type must be default, linear, dynamic, yarn, longrope or "
     "llama3: rotor reads no other; got 'su'"},
    {LLAMA("llama"), TYPE, "\"rope_type\": \"none\"",
     "config.json: rope_parameters.rope_type must be default, linear, dynamic, yarn, longrope or "
     "llama3: rotor reads no other; got 'none'"},
    {LLAMA("llama"), TYPE, "\"rope_type\": \"linear\"",
     "config.json: rope_parameters.factor is missing"},
    {LLAMA("llama"), TYPE, "\"rope_type\": \"linear\", \"factor\": 0.5",
     "config.json: rope_parameters.factor must be at least 1; got 0.5"},
    {LLAMA("llama"), TYPE, "\"rope_type\": \"linear\", \"factor\": \"2\"",
     "config.json: rope_parameters.factor must be a number above 0"},
    {LLAMA("llama"), BASE, "\"rope_theta\": 1.0",
     "config.json: rope_parameters.rope_theta must be above 1; got 1"},
    {LLAMA("llama"), BASE, "\"rope_theta\": -5",
     "config.json: rope_parameters.rope_theta must be a number above 0"},
    {LLAMA("llama"), BASE, BASE ", \"partial_rotary_factor\": 0.5",
     "config.json: rope_parameters.partial_rotary_factor must be 1: a Llama rotates all features "
     "of a head"},
    {LLAMA("llama"), "\"vocab_size\": 41", "\"vocab_size\": 41, \"partial_rotary_factor\": 0.25",
     "config.json: partial_rotary_factor must be 1: a Llama rotates all features of a head"},
    {LLAMA("llama"), "\"rope_parameters\": {", "\"rope_parameters\": {\"full_attention\": {},",
     "config.json: rope_parameters must be one for all layers"},
    {LLAMA("llama"), "\"rope_parameters\": {", "\"rope_parameters\": [1], \"other\": {",
     "config.json: rope_parameters must be an object"},
    {LLAMA("llama_yarn"), "\"factor\": 4.0", "\"factor\": 4.0, \"truncate\": false",
     "config.json: rope_parameters.truncate = false: yarn of rotor rounds the ends of its ramp"},
    {LLAMA("llama_yarn"), "\"factor\": 4.0", "\"factor\": 4.0, \"attention_factor\": 0",
     "config.json: rope_parameters.attention_factor must be a number above 0"},
    {LLAMA("llama_yarn"), "\"factor\": 4.0", "\"factor\": 4.0, \"beta_fast\": 1",
     "config.json: position.scaling: yarn needs a lower bound of rotations below its upper bound; "
     "got 1 and 1"},
    {LLAMA("llama_yarn"), "\"original_max_position_embeddings\": 16",
     "\"original_max_position_embeddings\": 0",
     "config.json: rope_parameters.original_max_position_embeddings must be a whole number from 1 "
     "to 1000000"},
    {LLAMA("llama"), "\"max_position_embeddings\": 64", "\"max_position_embeddings\": 1073741825",
     "config.json: max_position_embeddings must be a whole number from 1 to 1073741824"},
    {LLAMA("llama"), "\"max_position_embeddings\": 64",
     "\"max_position_embeddings\": 2000000, \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": "
     "2}",
     "config.json: max_position_embeddings = 2000000: a scaling of rotor is of 1000000 at most"},
    {LLAMA("llama_llama3"), "\"high_freq_factor\": 4.0", "\"high_freq_factor\": 1",
     "config.json: position.scaling: llama3 needs a lower bound of rotations below its upper "
     "bound; got 1 and 1"},
    {LLAMA("llama_longrope"), "\"short_factor\": [", "\"short_factor\": [1.0, ",
     "config.json: rope_parameters.short_factor must have a number for each of the 3 pairs of a "
     "head, none of them 0, and there can be 256"},
    {LLAMA("llama_longrope"), "\"long_factor\": [\n      2.0", "\"long_factor\": [\n      0",
     "config.json: rope_parameters.long_factor must have a number for each of the 3 pairs of a "
     "head, none of them 0, and there can be 256"},
    {LLAMA("llama_longrope"), "\"long_factor\": [\n      2.0", "\"long_factor\": [\n      -2.0",
     "config.json: position.scaling: long_factors must be above 0; number 1 is -2"},
    {LLAMA("llama_longrope"), "\"long_factor\": [\n      2.0", "\"long_factor\": [\n      \"2\"",
     "config.json: rope_parameters.long_factor must have a number for each of the 3 pairs of a "
     "head, none of them 0, and there can be 256"},
};

SUITE(.setup = make_scratch, .teardown = remove_all)

TEST_ROWS(what_rotor_cannot_express_is_refused_by_its_key, 0, ROWS(configs))
{
    copy_fixture(configs[_i].fixture, CHANGES(configs[_i].from, configs[_i].to), NULL);
    expect_refused(configs[_i].message);
}

TEST(a_model_type_of_no_family_is_refused_with_those_there_are)
{
    rt_huggingface *there;
    copy_fixture("masked_lm", CHANGES("\"roformer\"", "\"bert\""), NULL);
    const rt_status status = rt_huggingface_open(&there, scratch);
    ck_assert_int_eq(status.code, RT_CHECKPOINT);
    ck_assert_ptr_nonnull(strstr(status.message, "config.json: model_type must be roformer, "));
    ck_assert_ptr_nonnull(strstr(status.message, ": rotor reads no other; got 'bert'"));
    for (const rt_family *const *f = rt_families; *f; f++)
        ck_assert_ptr_nonnull(strstr(status.message, (*f)->type));
}

TEST(what_is_absent_is_as_transformers_has_it)
{
    copy_fixture("masked_lm",
                 CHANGES("\"embedding_size\": 24", "\"embedding_size\": null", "\"hidden_act\"",
                         "\"h\"", "\"pad_token_id\": 0", "\"pad_token_id\": null",
                         "\"rotary_value\"", "\"r\"", "\"tie_word_embeddings\"", "\"t\"",
                         "\"layer_norm_eps\"", "\"l\""),
                 NULL);
    rt_huggingface *there = opened_folder(scratch);
    model_of_folder(there);
    ck_assert_int_eq(there->options.embedding_dim, 24);
    ck_assert_int_eq(there->options.activation, RT_GELU);
    ck_assert_int_eq(there->padding_id, RT_NO_PADDING);
    ck_assert(there->options.tie_embeddings && !there->options.position.rotate_value);
    ck_assert(there->options.norm_eps == 1e-12);
}

TEST(labels_are_those_of_the_folder)
{
    copy_fixture("token", CHANGES("\"LABEL_2\",", "\"B-\\u00e9\","), NULL);
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_int_eq(there->options.labels, 4);
    ck_assert_str_eq(there->labels[0], "LABEL_0");
    ck_assert_str_eq(there->labels[2], "B-\xc3\xa9");
    ck_assert_str_eq(there->architecture, "RoFormerForTokenClassification");
    ck_assert(there->has_head);
}

/* Keys of a line "FAMILY KEY KEY ..." of fixtures/config_keys.txt, which tests/huggingface/
 * mutate_config.py --keys writes. */
static void expect_keys_in_one_set(char *line)
{
    const char *type = strtok(line, " ");
    const rt_family *family = rt_family_of_type(rt_families, type);
    int count = 0;
    ck_assert_msg(family != NULL, "%s", type);
    for (const char *key; (key = strtok(NULL, " ")); count++) {
        const int sets = rt_config_key_sets(family, key);
        ck_assert_msg(sets == RT_KEY_READ || sets == RT_KEY_REFUSED || sets == RT_KEY_UNUSED,
                      "%s of %s is in the sets %d", key, type, sets);
    }
    ck_assert_int_gt(count, 30);
}

TEST(every_key_that_transformers_knows_is_read_refused_or_unused)
{
    size_t size;
    char *text = (char *)file_bytes(TEST_SOURCES "/fixtures/config_keys.txt", &size);
    int lines = 0, families = 0;
    for (char *line = text, *end; (end = memchr(line, '\n', (size_t)(text + size - line)));
         line = end + 1, lines++) {
        *end = '\0';
        expect_keys_in_one_set(line);
    }
    while (rt_families[families])
        families++;
    ck_assert_int_eq(lines, families);
    free(text);
}

TEST_ROWS(keys_that_no_table_has_are_named_in_one_line, 0, 4)
{
    static const char *const rows[][3] = {
        {"masked_lm", "\"foo\": 1, \"rotary_dim\": null, \"vocab_size\"",
         "config.json: rotor does not know, and ignores: 'foo', 'rotary_dim'\n"},
        {"masked_lm", "\"use_bfloat16\": true, \"top_k\": 3, \"vocab_size\"", ""},
        {"../llama/llama", "\"rope_scaling\": {\"type\": \"default\", \"su\": 1}, \"vocab_size\"",
         "config.json: rotor does not know, and ignores: 'rope_scaling.su'\n"},
        {"../families/modernbert", "\"global_rope_theta\": 5.0, \"a\\u001bb\": 2, \"vocab_size\"",
         "config.json: rotor does not know, and ignores: 'a?b'\n"},
    };
    copy_fixture(rows[_i][0], CHANGES("\"vocab_size\"", rows[_i][1]), NULL);
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_str_eq(there->warnings, rows[_i][2]);
}

/* transformers sets its local_attention by it. */
TEST(sliding_window_of_a_modernbert_is_its_window)
{
    copy_fixture("../families/modernbert",
                 CHANGES("\"vocab_size\"", "\"sliding_window\": 1, \"vocab_size\""), NULL);
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_int_eq(there->options.window, 2);
    ck_assert_str_eq(there->warnings, "");
}

/* transformers takes its rope_type, but not what it was called before. */
TEST_ROWS(a_scaling_of_an_old_modernbert_needs_a_rope_type, 0, 2)
{
    static const char *const scalings[] = {
        "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}, \"vocab_size\"",
        "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4.0}, \"vocab_size\""};
    copy_fixture("../families/modernbert_old", CHANGES("\"vocab_size\"", scalings[_i]), NULL);
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_int_eq(there->options.position.frequencies.scaling,
                     _i ? RT_SCALING_LINEAR : RT_SCALING_NONE);
}

/* ---- folders without a model ---- */

TEST(a_folder_of_the_hub_above_a_model_names_the_model)
{
    char message[2048], cache[512], snapshots[600];
    snprintf(cache, sizeof cache, "%s", in_scratch("models--a--b"));
    snprintf(snapshots, sizeof snapshots, "%s/snapshots", cache);
    ck_assert_int_eq(mkdir(cache, 0700), 0);
    ck_assert_int_eq(mkdir(snapshots, 0700), 0);
    ck_assert_int_eq(mkdir(in_scratch("models--a--b/snapshots/12ab"), 0700), 0);
    assert_status(rt_huggingface_refuse_format(cache), RT_OK, "");
    write_bytes(in_scratch("models--a--b/snapshots/12ab/config.json"), "{}", 2);
    snprintf(message, sizeof message, "%s is a folder of the Hub's cache; the model is in %s/12ab",
             cache, snapshots);
    assert_status(rt_huggingface_refuse_format(cache), RT_CHECKPOINT, message);
    snprintf(message, sizeof message, "%s is a folder of the Hub's cache; the model is in %s/12ab",
             snapshots, snapshots);
    assert_status(rt_huggingface_refuse_format(snapshots), RT_CHECKPOINT, message);
    remove(in_scratch("models--a--b/snapshots/12ab/config.json"));
    rmdir(in_scratch("models--a--b/snapshots/12ab"));
    rmdir(snapshots);
    rmdir(cache);
}

TEST(a_pointer_of_git_lfs_is_named)
{
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    char message[1024];
    write_bytes(in_scratch("a.h5"), pointer, strlen(pointer));
    snprintf(message, sizeof message,
             "%s/a.h5: it is a git-lfs pointer, not the file itself; fetch the file with: git lfs "
             "pull",
             scratch);
    assert_status(rt_huggingface_refuse_format(in_scratch("a.h5")), RT_CHECKPOINT, message);
    copy_fixture("masked_lm", NULL, NULL);
    write_bytes(in_scratch("config.json"), pointer, strlen(pointer));
    expect_refused("config.json: it is a git-lfs pointer, not the file itself; fetch the file "
                   "with: git lfs pull");
}

/* ---- tensors ---- */

static const struct {
    const char *fixture, *from, *to, *message;
} tensors[] = {
    {"masked_lm", "layer.1.attention.self.query.weight", "layer.1.attention.self.quart.weight",
     "model.safetensors: lacks roformer.encoder.layer.1.attention.self.query.weight (24, 24)"},
    {"masked_lm", "token_type_embeddings.weight", "token_tune_embeddings.weight",
     "model.safetensors: lacks roformer.embeddings.token_type_embeddings.weight (2, 24)"},
    {"model", "encoder.layer.0.output.dense.bias", "encoder.layer.0.output.dense.boas",
     "model.safetensors: lacks encoder.layer.0.output.dense.bias (24)"},
    {"masked_lm_untied", "cls.predictions.decoder.weight", "cls.predictions.decoder.weighs",
     "model.safetensors: lacks cls.predictions.decoder.weight (53, 24)"},
    {LLAMA("llama"), "model.layers.1.mlp.up_proj.weight", "model.layers.1.mlp.up_prox.weight",
     "model.safetensors: lacks model.layers.1.mlp.up_proj.weight (50, 24)"},
    {LLAMA("llama"), "lm_head.weight", "lm_heat.weight",
     "model.safetensors: lacks lm_head.weight (41, 24)"},
    {LLAMA("llama_bias"), "model.layers.0.self_attn.o_proj.bias",
     "model.layers.0.self_attn.o_proj.boas",
     "model.safetensors: lacks model.layers.0.self_attn.o_proj.bias (24)"},
    {LLAMA("llama"), "model.norm.weight", "model.norx.weight",
     "model.safetensors: lacks model.norm.weight (24)"},
};

TEST_ROWS(a_tensor_that_is_missing_is_named, 0, ROWS(tensors))
{
    copy_fixture(tensors[_i].fixture, NULL, CHANGES(tensors[_i].from, tensors[_i].to));
    expect_refused(tensors[_i].message);
}

TEST(a_surplus_tensor_is_named)
{
    copy_fixture("masked_lm", NULL,
                 CHANGES("roformer.encoder.embed_positions.weight",
                         "roformer.encoder.embed_positionx.weight"));
    expect_refused("model.safetensors: unexpected tensor roformer.encoder.embed_positionx.weight, "
                   "which the model lacks");
}

TEST(what_is_not_finite_is_refused)
{
    copy_fixture("masked_lm", NULL, NULL);
    set_numbers("cls.predictions.bias", 0, 1, (float[]){INFINITY});
    expect_refused("model.safetensors: cls.predictions.bias is not finite in " RT_PRECISION
                   " precision");
}

TEST_ROWS(a_tied_decoder_that_differs_is_used_and_said, 0, 2)
{
#define TIED(used, tied)                                                                           \
    "config.json: tie_word_embeddings = true, but " used " is not " tied "; the former is used\n"
    static const char *const rows[][2] = {
        {"masked_lm_untied",
         TIED("cls.predictions.decoder.weight", "roformer.embeddings.word_embeddings.weight")
             TIED("cls.predictions.decoder.bias", "cls.predictions.bias")},
        {LLAMA("llama"), TIED("lm_head.weight", "model.embed_tokens.weight")},
    };
    copy_fixture(rows[_i][0],
                 CHANGES("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"), NULL);
    rt_huggingface *there = opened_folder(scratch), *untied = opened_fixture(rows[_i][0]);
    ck_assert_str_eq(there->warnings, rows[_i][1]);
    ck_assert(!there->options.tie_embeddings);
    ck_assert_str_eq(untied->warnings, "");
    rt_transformer *a = model_of_folder(there), *b = model_of_folder(untied);
    ck_assert(!memcmp(a->parameters.values, b->parameters.values,
                      a->parameters.block_size * sizeof(real)));
}

/* All numbers are compared, which takes more than one reading of 512. */
TEST_ROWS(a_tied_decoder_that_differs_in_one_number_is_not_tied, 0, 5)
{
    enum { NUMBERS = 53 * 24 };
    static const uint64_t places[] = {NUMBERS, 0, 511, 512, NUMBERS - 1};
    static const char words[] = "roformer.embeddings.word_embeddings.weight";
    static const char decoder[] = "cls.predictions.decoder.weight";
    static double numbers[NUMBERS];
    static float same[NUMBERS];
    rt_safetensors *weights;
    copy_fixture("masked_lm_untied",
                 CHANGES("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"), NULL);
    assert_status(rt_safetensors_open(&weights, in_scratch("model.safetensors")), RT_OK, "");
    assert_status(rt_safetensors_doubles(rt_safetensors_find(weights, words), 0, NUMBERS, numbers),
                  RT_OK, "");
    rt_safetensors_close(weights);
    for (int i = 0; i < NUMBERS; i++)
        same[i] = (float)numbers[i];
    set_numbers(decoder, 0, NUMBERS, same);
    if (places[_i] < NUMBERS)
        set_numbers(decoder, places[_i], 1, (float[]){same[places[_i]] + 1});
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_int_eq(there->options.tie_embeddings, places[_i] == NUMBERS);
    ck_assert_int_eq(strstr(there->warnings, decoder) == NULL, places[_i] == NUMBERS);
}

/* ---- several files ---- */

/* masked_lm in two files, by turns, and their index, which names another file of the first tensor.
 * That tensor may be in both. */
static void write_parts(const char *first_name, bool twice)
{
    static const char *const names[] = {"part-1.safetensors", "part-2.safetensors"};
    rt_safetensors_entry all[MOST_TENSORS], parts[2][MOST_TENSORS];
    const int total = tensors_of("masked_lm", all);
    int count[2] = {0, 0};
    FILE *index = fopen(in_scratch("model.safetensors.index.json"), "w");
    fprintf(index, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (int i = 0; i < total; i++) {
        parts[i % 2][count[i % 2]++] = all[i];
        if (twice && !i)
            parts[1][count[1]++] = all[i];
        fprintf(index, "%s\"%s\": \"%s\"", i ? ", " : "", all[i].name,
                i || !first_name ? names[i % 2] : first_name);
    }
    fprintf(index, "}}");
    fclose(index);
    for (int n = 0; n < 2; n++)
        assert_status(rt_safetensors_write(in_scratch(names[n]), parts[n], count[n]), RT_OK, "");
    copy_changed("masked_lm", "config.json", NULL);
}

TEST(a_model_in_several_files_is_the_same)
{
    write_parts(NULL, false);
    ck_assert(rt_is_huggingface(scratch));
    rt_huggingface *there = opened_folder(scratch);
    rt_huggingface *whole = opened_fixture("masked_lm");
    rt_transformer *a = model_of_folder(there), *b = model_of_folder(whole);
    ck_assert(!memcmp(a->parameters.values, b->parameters.values,
                      a->parameters.block_size * sizeof(real)));
}

static const struct {
    const char *name, *message;
} indexes[] = {
    {"../part-1.safetensors",
     "model.safetensors.index.json: weight_map must name files of the folder itself; got "
     "'../part-1.safetensors'"},
    {"/dev/zero", "model.safetensors.index.json: weight_map must name files of the folder itself; "
                  "got '/dev/zero'"},
    {"..", "model.safetensors.index.json: weight_map must name files of the folder itself; got "
           "'..'"},
    {"part-2.safetensors", "part-2.safetensors: lacks 'cls.predictions.bias', which "
                           "model.safetensors.index.json says is there"},
};

TEST_ROWS(an_index_names_what_is_in_the_folder, 0, ROWS(indexes))
{
    write_parts(indexes[_i].name, false);
    expect_refused(indexes[_i].message);
}

/* Which of the two holds cannot be told. */
TEST_ROWS(a_tensor_is_in_one_file_alone, 0, 2)
{
    static const char *const names[] = {NULL, "part-2.safetensors"};
    char message[160];
    write_parts(names[_i], true);
    snprintf(message, sizeof message,
             "part-%d.safetensors: has 'cls.predictions.bias', which model.safetensors.index.json "
             "does not say",
             _i ? 1 : 2);
    expect_refused(message);
}

TEST(a_tensor_that_a_file_lacks_is_named)
{
    write_parts(NULL, false);
    char *text;
    size_t size;
    text = (char *)file_bytes(in_scratch("model.safetensors.index.json"), &size);
    text[size] = '\0';
    char *at = strstr(text, "cls.predictions.bias");
    memcpy(at, "cls.predictions.bios", 20);
    write_bytes(in_scratch("model.safetensors.index.json"), text, size);
    free(text);
    expect_refused("part-1.safetensors: lacks 'cls.predictions.bios', which "
                   "model.safetensors.index.json says is there");
}

TEST(a_file_has_no_more_than_the_index_says)
{
    static char index[1 << 14];
    write_parts(NULL, false);
    read_into(index, sizeof index, "model.safetensors.index.json");
    char *at = strstr(index, "\"cls.predictions.bias\"");
    char *next = strstr(at, ", ") + strlen(", ");
    memmove(at, next, strlen(next) + 1);
    write_bytes(in_scratch("model.safetensors.index.json"), index, strlen(index));
    expect_refused("part-1.safetensors: has 'cls.predictions.bias', which "
                   "model.safetensors.index.json does not say");
}

TEST(a_folder_is_one_if_it_has_both_files)
{
    ck_assert(!rt_is_huggingface(scratch));
    copy_changed("masked_lm", "config.json", NULL);
    ck_assert(!rt_is_huggingface(scratch));
    ck_assert(!rt_is_huggingface(in_scratch("config.json")));
    copy_changed("masked_lm", "model.safetensors", NULL);
    ck_assert(rt_is_huggingface(scratch));
}

/* ---- other models ---- */

static rt_transformer *other_model(const rt_transformer_options *options)
{
    rt_transformer *model;
    assert_status(rt_transformer_new(&model, options, 5, NULL), RT_OK, "");
    return owned(model, free_model);
}

TEST(another_head_keeps_its_start)
{
    rt_huggingface_taken taken;
    rt_huggingface *there = opened_fixture("masked_lm");
    rt_transformer_options o = there->options;
    o.head = RT_HEAD_TOKEN;
    o.labels = 3;
    rt_transformer *model = other_model(&o), *start = other_model(&o);
    assert_status(rt_huggingface_load(there, model, true, &taken), RT_OK, "");
    ck_assert(!taken.head && taken.theta);
    const rt_parameter *a = rt_parameters_find(&model->parameters, "head.classifier.weight");
    ck_assert(!memcmp(a->tensor.data, start->parameters.values + a->offset,
                      rt_size(&a->tensor) * sizeof(real)));
    a = rt_parameters_find(&model->parameters, RT_TOKENS_NAME);
    ck_assert(memcmp(a->tensor.data, start->parameters.values + a->offset,
                     rt_size(&a->tensor) * sizeof(real)));
}

TEST_ROWS(theta_of_a_folder_goes_to_every_layer_and_head, 0, 2)
{
    static const rt_theta_form forms[] = {RT_THETA_LOG, RT_THETA_RAW};
    rt_huggingface_taken taken;
    rt_huggingface *there = opened_fixture("masked_lm_theta");
    ck_assert(there->options.theta.learn);
    rt_transformer_options o = there->options;
    o.theta.scope = RT_THETA_HEAD;
    o.theta.form = forms[_i];
    rt_transformer *model = other_model(&o);
    assert_status(rt_huggingface_load(there, model, true, &taken), RT_OK, "");
    ck_assert(taken.head && taken.theta);
    double theta[2 * 3 * 4];
    rt_transformer_theta(model, theta);
    for (int n = 0; n < 24; n++)
        ck_assert(fabs(theta[n] / there->theta[n % 4] - 1) < 1e-6);
    o.theta.learn = false;
    model = other_model(&o);
    assert_status(rt_huggingface_load(there, model, true, &taken), RT_OK, "");
    ck_assert(taken.head && !taken.theta);
}

/* A pair that rotates the other way, or not at all before one that does: ln theta is no number. */
TEST_ROWS(theta_that_have_no_logarithm_are_raw, 0, 3)
{
    enum { ROWS = 16, PAIRS = 4 };
    static const double thetas[][PAIRS] = {{0.9, -0.31, 0.02, 0.00017},
                                           {0.9, 0.31, 0, 0.00017},
                                           {0.9, 0.31, 0.02, 0.00017}};
    const double *theta = thetas[_i];
    float table[ROWS * 2 * PAIRS];
    rt_huggingface_taken taken;
    double read[PAIRS];
    for (int m = 0; m < ROWS; m++)
        for (int i = 0; i < PAIRS; i++) {
            table[m * 2 * PAIRS + i] = (float)sin(m * theta[i]);
            table[m * 2 * PAIRS + PAIRS + i] = (float)cos(m * theta[i]);
        }
    copy_fixture("masked_lm", NULL, NULL);
    set_numbers("roformer.encoder.embed_positions.weight", 0, ROWS * 2 * PAIRS, table);
    rt_huggingface *there = opened_folder(scratch);
    ck_assert(there->options.theta.learn);
    ck_assert_int_eq(there->options.theta.form, _i < 2 ? RT_THETA_RAW : RT_THETA_LOG);
    rt_transformer *model = other_model(&there->options);
    assert_status(rt_huggingface_load(there, model, true, &taken), RT_OK, "");
    ck_assert(taken.theta);
    ck_assert_uint_eq(rt_transformer_theta_count(&there->options), PAIRS);
    rt_transformer_theta(model, read);
    for (int i = 0; i < PAIRS; i++)
        ck_assert_msg(fabs(read[i] - theta[i]) <= 1e-6 * fabs(theta[i]) + 1e-9,
                      "theta %d is %.9g instead of %.9g", i, read[i], theta[i]);
}

TEST(another_base_is_not_the_folders_theta)
{
    rt_huggingface_taken taken;
    rt_huggingface *there = opened_fixture("masked_lm");
    rt_transformer_options o = there->options;
    o.position.frequencies.base = 500;
    rt_transformer *model = other_model(&o);
    assert_status(rt_huggingface_load(there, model, true, &taken), RT_OK, "");
    ck_assert(taken.head && !taken.theta);
}

static const struct {
    const char *fixture, *words, *message;
} unfit[] = {
    {"masked_lm", "model.heads=6", "config.json: num_attention_heads is 3, this model has 6"},
    {"masked_lm", "position.pairing=half",
     "config.json: the folder's model needs position.kind = rope and position.pairing = "
     "interleaved; set both"},
    {"masked_lm", "model.ffn_dim=48",
     "model.safetensors: roformer.encoder.layer.0.intermediate.dense.weight is (40, 24), (48, 24) "
     "expected"},
    {"masked_lm_untied", "model.tie_embeddings=yes",
     "config.json: the folder's model has an output layer of its own; set model.tie_embeddings = "
     "no"},
    {LLAMA("llama"), "model.kind=roformer",
     "config.json: the folder holds a decoder, but the configuration describes a roformer; set "
     "model.kind = decoder"},
    {LLAMA("llama"), "position.pairing=interleaved",
     "config.json: the folder's model needs position.kind = rope and position.pairing = half; set "
     "both"},
    {LLAMA("llama"), "model.kv_heads=4",
     "model.safetensors: model.layers.0.self_attn.k_proj.weight is (12, 24), (24, 24) expected"},
    {LLAMA("llama"), "model.tie_embeddings=yes",
     "config.json: the folder's model has an output layer of its own; set model.tie_embeddings = "
     "no"},
    {LLAMA("llama"), "model.bias=all",
     "model.safetensors: lacks model.layers.0.self_attn.q_proj.bias (24)"},
};

TEST_ROWS(what_does_not_fit_a_model_changes_nothing, 0, ROWS(unfit))
{
    rt_huggingface_taken taken;
    rt_huggingface *there = opened_fixture(unfit[_i].fixture);
    rt_transformer_options o = there->options;
    set_options(&o, unfit[_i].words);
    rt_transformer *model = other_model(&o), *start = other_model(&o);
    assert_status(rt_huggingface_load(there, model, true, &taken), RT_CHECKPOINT,
                  unfit[_i].message);
    ck_assert(!memcmp(model->parameters.values, start->parameters.values,
                      model->parameters.block_size * sizeof(real)));
}

TEST_ROWS(every_allocation_can_fail, 0, 4)
{
    static const char *const names[] = {"sequence", "masked_lm_theta", "masked_lm_untied",
                                        LLAMA("llama_longrope")};
    static const char *const written[] = {"\"vocab_size\"",
                                          "\"rotor_theta\": {\"base\": 10000, \"scope\": "
                                          "\"model\", \"form\": \"log\", \"theta\": [[[1, "
                                          "0.04219917, 0.00179537]]]}, \"vocab_size\"",
                                          NULL};
    copy_fixture(names[_i], _i == 3 ? written : NULL, NULL);
    expect_faults(try_folder, scratch, 50);
}
