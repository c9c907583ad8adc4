#include "io/huggingface/hf_folder.h"

#include "io/huggingface/folder.h"

/* A key of config.json, KEY or OBJECT.KEY, set to a value of JSON, or taken away by "". A message
 * that begins with a blank or a colon follows "config.json: KEY", "=" stands for "config.json: KEY
 * = VALUE"; others are of config.json, or of the weights, which are named. */
#define WEIGHTS   "model.safetensors: "
#define A_SIZE    " must be a whole number from 1 to 1000000"
#define FLAG      " must be true or false"
#define ABOVE_0   " must be a number above 0"
#define AT_MOST_1 " must be at most 1"
#define OF_PAIRS                                                                                   \
    " must have a number for each of the 3 pairs of a head, none of them 0, and there can be 256"
#define SCALINGS                                                                                   \
    " must be default, linear, dynamic, yarn, longrope or llama3: rotor reads no other; got "
#define ACTIVATIONS " must be gelu, gelu_new, relu, tanh, sigmoid or silu: rotor has no other; got "
#define GATES       " must be silu or gelu: rotor has no other gates; got "
#define NOT_CAUSAL  "=: a decoder of rotor attends to no token behind its own"
#define SOME_BIASES                                                                                \
    "=: rotor has biases in all maps of a layer, of queries, keys and values, or in none"
#define ALL_BIASES               "rotor has biases in all maps of a model, in the last one alone or in none"
#define LINEAR_BIASES            "rotor has biases in all linear maps of a model or in none"
#define WHOLE_PAIRS              "rotor rotates whole pairs, from one to all of a head"
#define TOO_LARGE(model, folder) "the model would have " model " numbers; there are " folder
static const struct {
    const char *fixture, *key, *value, *message;
} configs[] = {
    {"masked_lm", "architectures", "[\"RoFormerForMultipleChoice\"]",
     " must be RoFormerForMaskedLM, RoFormerForCausalLM, RoFormerForSequenceClassification, "
     "RoFormerForTokenClassification or RoFormerModel: rotor reads no other; got "
     "'RoFormerForMultipleChoice'"},
    {"masked_lm", "add_cross_attention", "true",
     "=: rotor has no encoder and decoder in one model"},
    {"masked_lm", "hidden_act", "\"mish\"", ACTIVATIONS "'mish'"},
    {"masked_lm", "hidden_size", "25", "= is not divisible by num_attention_heads = 3"},
    {"masked_lm", "hidden_size", "27",
     "= and num_attention_heads = 3 make heads of 9; a head must have pairs to rotate"},
    {"masked_lm", "hidden_size", "\"24\"", A_SIZE},
    {"masked_lm", "hidden_size", "24.0", A_SIZE},
    {"masked_lm", "layer_norm_eps", "1.01", AT_MOST_1},
    {"masked_lm", "layer_norm_eps", "0", ABOVE_0},
    {"masked_lm", "hidden_dropout_prob", "1", " must be a number from 0 to less than 1"},
    {"masked_lm", "is_decoder", "0", FLAG},
    {"masked_lm", "pad_token_id", "53", " must be a whole number from 0 to 52"},
    {"masked_lm", "pruned_heads", "{\"0\": [1]}", ": every layer of rotor has all of its heads"},
    {"masked_lm", "quantization_config", "{}", ": rotor reads no quantized weights"},
    {"masked_lm", "max_position_embeddings", "15",
     WEIGHTS "roformer.encoder.embed_positions.weight is (16, 8); max_position_embeddings and the "
             "heads' size make it (15, 8)"},
    {"masked_lm", "intermediate_size", "41",
     WEIGHTS "roformer.encoder.layer.0.intermediate.dense.weight is (40, 24), (41, 24) expected"},
    {"masked_lm", "num_hidden_layers", "1",
     WEIGHTS "unexpected tensor roformer.encoder.layer.1.attention.output.LayerNorm.bias, which "
             "the model lacks"},
    {"masked_lm", "num_hidden_layers", "1000", "= needs 16000 tensors; there are 42"},
    {"masked_lm", "vocab_size", "1000000", TOO_LARGE("25009704", "11157")},
    {"masked_lm", "intermediate_size", "1000000", TOO_LARGE("98007112", "11157")},
    {"masked_lm", "embedding_size", "1000000", TOO_LARGE("108009040", "11157")},
    {"llama", "architectures", "[\"LlamaForSequenceClassification\"]",
     WEIGHTS "lacks score.weight (2, 24)"},
    {"llama", "architectures", "[\"MistralForCausalLM\"]",
     " must be LlamaForCausalLM, LlamaForSequenceClassification, LlamaForTokenClassification or "
     "LlamaModel: rotor reads no other; got 'MistralForCausalLM'"},
    {"mistral_window", "architectures", "[\"MistralForTokenClassification\"]",
     WEIGHTS "lacks score.weight (2, 24)"},
    {"llama", "hidden_act", "\"relu\"", GATES "'relu'"},
    {"llama", "head_dim", "8",
     WEIGHTS "model.layers.0.self_attn.q_proj.weight is (24, 24), (32, 24) expected: "
             "num_attention_heads and num_key_value_heads times head_dim"},
    {"llama", "hidden_size", "25",
     WEIGHTS "model.embed_tokens.weight is (41, 24), (41, 25) expected"},
    {"llama", "num_key_value_heads", "3", "= does not divide num_attention_heads = 4"},
    {"llama", "num_key_value_heads", "0", A_SIZE},
    {"llama", "num_key_value_heads", "1",
     WEIGHTS "model.layers.0.self_attn.k_proj.weight is (12, 24), (6, 24) expected"},
    {"llama", "attention_bias", "true", "= and mlp_bias = false: " LINEAR_BIASES},
    {"llama", "mlp_bias", "true", "attention_bias = false and mlp_bias = true: " LINEAR_BIASES},
    {"llama", "mlp_bias", "0", FLAG},
    {"llama", "rms_norm_eps", "0", ABOVE_0},
    {"llama", "rms_norm_eps", "\"1e-5\"", ABOVE_0},
    {"llama", "attention_dropout", "1.0", " must be a number from 0 to less than 1"},
    {"llama", "pad_token_id", "41", " must be a whole number from -1 to 40"},
    {"llama", "num_hidden_layers", "1001", " must be a whole number from 1 to 1000"},
    {"llama", "tie_word_embeddings", "1", FLAG},
    {"llama", "is_causal", "false", NOT_CAUSAL},
    {"llama", "is_causal", "null", NOT_CAUSAL},
    {"mistral_window", "is_causal", "0", NOT_CAUSAL},
    {"llama", "per_layer_config", "{}", ": layers of rotor have the same sizes"},
    {"qwen2", "is_causal", "false", NOT_CAUSAL},
    {"gpt_neox", "is_causal", "false", NOT_CAUSAL},
    {"gpt_neox", "head_dim", "4",
     "=: heads of this family have 8 features, hidden_size / num_attention_heads"},
    {"esm", "head_dim", "2",
     "=: heads of this family have 8 features, hidden_size / num_attention_heads"},
    {"causal_lm", "is_causal", "false",
     " must be true with is_decoder = true: a decoder of rotor attends to no token behind its own"},
    {"modernbert_classify", "num_labels", "2", " must be 3, as many as id2label names"},
    {"llama", "sliding_window", "8", ": a window is for model_type mistral"},
    {"mistral_window", "sliding_window", "0", A_SIZE},
    {"mistral_window", "use_sliding_window", "false", "=, but sliding_window gives a window"},
    {"mistral_window", "layer_types", "[\"sliding_attention\", \"full_attention\"]",
     " must all be sliding_attention; got 'full_attention'"},
    {"llama", "layer_types", "[\"full_attention\", 1]",
     " must all be full_attention; got 'something else'"},
    {"llama", "rope_parameters.rope_type", "\"proportional\"", SCALINGS "'proportional'"},
    {"llama", "rope_parameters.rope_type", "\"linear\"", "rope_parameters.factor is missing"},
    {"llama", "rope_parameters.rope_theta", "1.0", " must be above 1; got 1"},
    {"llama", "rope_parameters.rope_theta", "-5", ABOVE_0},
    {"llama", "rope_parameters.partial_rotary_factor", "0.5",
     " must be 1: a Llama rotates all features of a head"},
    {"llama", "partial_rotary_factor", "0.25",
     " must be 1: a Llama rotates all features of a head"},
    {"llama_yarn", "rope_parameters.truncate", "false",
     "=: yarn of rotor rounds the ends of its ramp"},
    {"llama_yarn", "rope_parameters.attention_factor", "0", ABOVE_0},
    {"llama_yarn", "rope_parameters.beta_fast", "1",
     "position.scaling: yarn needs a lower bound of rotations below its upper bound; got 1 and 1"},
    {"llama_yarn", "rope_parameters.original_max_position_embeddings", "0", A_SIZE},
    {"llama", "max_position_embeddings", "1073741825",
     " must be a whole number from 1 to 1073741824"},
    {"llama_llama3", "rope_parameters.high_freq_factor", "1",
     "position.scaling: llama3 needs a lower bound of rotations below its upper bound; got 1 and "
     "1"},
    {"sequence", "problem_type", "\"regression\"",
     " must be single_label_classification: rotor has no other; got 'regression'"},
    {"sequence", "id2label", "", WEIGHTS "classifier.out_proj.weight is (4, 24), (2, 24) expected"},
    {"mistral_window", "num_key_value_heads", "", "=8 does not divide num_attention_heads = 4"},
    {"mistral_window", "num_key_value_heads", "null",
     WEIGHTS "model.layers.0.self_attn.k_proj.weight is (12, 24), (24, 24) expected"},
    {"llama", "rope_parameters", "{\"rope_theta\": 10000.0, \"type\": \"su\"}",
     "rope_parameters.type" SCALINGS "'su'"},
    {"llama", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 0.5}",
     "rope_parameters.factor must be at least 1; got 0.5"},
    {"llama", "rope_parameters", "{\"rope_type\": \"linear\", \"factor\": \"2\"}",
     "rope_parameters.factor" ABOVE_0},
    {"llama", "rope_parameters.full_attention", "{}", "rope_parameters must be one for all layers"},
    {"llama", "rope_parameters", "[1]", " must be an object"},
    {"llama_longrope", "rope_parameters.short_factor", "[1, 1, 1.1, 1.2]", OF_PAIRS},
    {"llama_longrope", "rope_parameters.long_factor", "[0, 3, 4]", OF_PAIRS},
    {"llama_longrope", "rope_parameters.long_factor", "[-2, 3, 4]",
     "position.scaling: long_factors must be above 0; number 1 is -2"},
    {"llama_longrope", "rope_parameters.long_factor", "[\"2\", 3, 4]", OF_PAIRS},
    /* families that differ by more than sizes */
    {"gpt_neox", "hidden_act", "\"laplace\"", ACTIVATIONS "'laplace'"},
    {"gpt_neox", "rope_parameters", "{\"rope_theta\": 100, \"partial_rotary_factor\": 0.1}",
     "rope_parameters.partial_rotary_factor = 0.1 of heads of 8 features: " WHOLE_PAIRS},
    {"gpt_neox", "rope_parameters", "{\"rope_theta\": 100, \"partial_rotary_factor\": 1.5}",
     "rope_parameters.partial_rotary_factor = 1.5 of heads of 8 features: " WHOLE_PAIRS},
    {"gpt_neox", "num_attention_heads", "3",
     "hidden_size = 32 is not divisible by num_attention_heads = 3"},
    {"qwen2", "num_experts", "8", ": rotor has no mixture of experts"},
    {"qwen2", "hidden_act", "\"relu\"", GATES "'relu'"},
    {"qwen2_window", "layer_types",
     "[\"full_attention\", \"chunked_attention\", \"sliding_attention\"]",
     " must have full_attention or sliding_attention for each of 3 layers: rotor has no other; "
     "that of layer 1 is 'chunked_attention'"},
    {"qwen2_window", "layer_types", "[\"full_attention\"]",
     " must be a list of 3, num_hidden_layers"},
    {"qwen2_window", "use_sliding_window", "false",
     "layer_types has sliding_attention, but use_sliding_window and sliding_window give no window"},
    {"qwen2_window", "rope_parameters",
     "{\"full_attention\": {\"rope_theta\": 10000}, \"sliding_attention\": {}}",
     " must be one for all layers"},
    {"qwen3", "head_dim", "8",
     WEIGHTS "model.layers.0.self_attn.q_proj.weight is (48, 32), (32, 32) expected"},
    {"qwen3", "head_dim", "16",
     WEIGHTS "model.layers.0.self_attn.q_proj.weight is (48, 32), (64, 32) expected: "
             "num_attention_heads and num_key_value_heads times head_dim"},
    {"qwen3", "head_dim", "13", "=: a head must have pairs to rotate"},
    {"qwen3", "attention_bias", "true", SOME_BIASES},
    {"smollm3", "mlp_bias", "true", SOME_BIASES},
    {"smollm3", "no_rope_layers", "[0, 0, 0]",
     " leaves no layer with positions: rotor reads models that have one"},
    {"smollm3", "no_rope_layers", "[1, 2, 0]", " must have 1 or 0 for each layer"},
    {"smollm3", "no_rope_layers", "[1, 0]", " must be a list of 3, num_hidden_layers"},
    {"esm", "position_embedding_type", "\"absolute\"",
     " must be rotary: rotor reads ESM-2, not ESM-1; got 'absolute'"},
    {"esm", "position_embedding_type", "",
     " must be rotary: rotor reads ESM-2, not ESM-1; got 'absolute'"},
    {"esm", "is_folding_model", "true", "=: rotor reads ESM-2, and folds no proteins"},
    {"esm", "esmfold_config", "{\"trunk\": {}}", ": rotor reads ESM-2, and folds no proteins"},
    {"esm", "mask_token_id", "null", "token_dropout = true needs mask_token_id"},
    {"esm", "mask_token_id", "33", " must be a whole number from 0 to 32"},
    {"esm", "is_decoder", "true", "=: rotor reads ESM as an encoder"},
    {"esm", "architectures", "[\"EsmForProteinFolding\"]",
     " must be EsmForMaskedLM, EsmForSequenceClassification, EsmForTokenClassification or "
     "EsmModel: rotor reads no other; got 'EsmForProteinFolding'"},
    {"modernbert_classify", "classifier_pooling", "\"max\"",
     " must be cls or mean: rotor has no other; got 'max'"},
    {"modernbert", "is_decoder", "true", "=: windows of a ModernBERT are symmetric"},
    {"modernbert", "hidden_activation", "\"relu\"",
     " must be gelu or silu: rotor has no other gates; got 'relu'"},
    {"modernbert", "classifier_activation", "\"laplace\"", ACTIVATIONS "'laplace'"},
    {"modernbert", "mlp_bias", "true",
     "attention_bias, mlp_bias, classifier_bias = false, true, false: " ALL_BIASES},
    {"modernbert_old", "classifier_bias", "false",
     "attention_bias, mlp_bias, classifier_bias = true, true, false: " ALL_BIASES},
    {"modernbert", "local_attention", "-1", " must be a whole number from 0 to 1000000"},
    {"modernbert", "layer_types", "[\"full_attention\"]",
     " must be a list of 3, num_hidden_layers"},
    {"modernbert", "rope_parameters", "{\"rope_theta\": 100}",
     " must be an object with full_attention and sliding_attention"},
    {"modernbert", "rope_parameters", "{\"full_attention\": {\"rope_theta\": 1}}",
     "rope_parameters.full_attention.rope_theta must be above 1; got 1"},
    {"modernbert", "rope_parameters",
     "{\"sliding_attention\": {\"rope_type\": \"linear\", \"factor\": 2}}",
     ": full_attention and sliding_attention must have one scaling: rotor has one for all layers"},
    {"modernbert", "rope_parameters", "{\"sliding_attention\": {\"rope_type\": \"linear\"}}",
     "rope_parameters.sliding_attention.factor is missing"},
    {"modernbert_old", "global_rope_theta", "0.5",
     "rope_parameters.full_attention.rope_theta must be above 1; got 0.5"},
};

/* Changes of other kinds. */
static const struct {
    const char *fixture, *from, *to, *message;
} texts[] = {
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": 24, \"hidden_size\": 24",
     "config.json:13: invalid JSON: 'duplicate object key near '\"hidden_size\"''"},
    {"masked_lm", "\"hidden_size\": 24", "\"hidden_size\": -0",
     "config.json: hidden_size must be a whole number from 1 to 1000000"},
    {"masked_lm", "\"hidden_size\": 24,", "\"hidden_size\": 24",
     "config.json:14: invalid JSON: ''}' expected near '\"initializer_range\"''"},
    {"sequence", "\"3\": \"LABEL_3\"", "\"4\": \"LABEL_3\"",
     "config.json: id2label must have a string for each number below 4; not so for 3"},
    {"sequence", "\"id2label\"", "\"num_labels\": 1, \"other\"",
     "config.json: id2label has one label, which makes it a regression: rotor has none"},
    {"llama", "\"head_dim\": 6,\n  \"hidden_act\": \"silu\",\n  \"hidden_size\": 24",
     "\"hidden_size\": 20",
     "config.json: hidden_size = 20 and num_attention_heads = 4 make heads of 5; a head must have "
     "pairs to rotate"},
    {"llama", "\"max_position_embeddings\": 64",
     "\"max_position_embeddings\": 2000000, \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": "
     "2}",
     "config.json: max_position_embeddings = 2000000: a scaling of rotor is of 1000000 at most"},
};

SUITE(.setup = make_scratch, .teardown = remove_scratch)

/* Copies a fixture with a key of its config.json set to a value of JSON. */
static void copy_with_key(const char *fixture, const char *key, const char *value)
{
    copy_fixture(fixture, NULL, NULL);
    const char *point = strchr(key, '.'), *path = in_scratch("config.json");
    json_t *config = json_load_file(path, 0, NULL),
           *json = json_loads(value, JSON_DECODE_ANY, NULL);
    json_t *object = config;
    if (point) {
        object = json_object_get(config, lasting("%.*s", (int)(point - key), key));
        key = point + 1;
    }
    ck_assert(object && (json || !*value));
    ck_assert(!(json ? json_object_set_new(object, key, json) : json_object_del(object, key)));
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

TEST_ROWS(a_setting_that_rotor_cannot_express_is_refused_by_its_key, 0, ROWS(configs))
{
    const char *key = configs[_i].key, *value = configs[_i].value, *message = configs[_i].message;
    copy_with_key(configs[_i].fixture, key, value);
    expect_refused(strchr(" :", *message) ? lasting("config.json: %s%s", key, message)
                   : *message == '=' ? lasting("config.json: %s = %s%s", key, value, message + 1)
                   : strncmp(message, WEIGHTS, strlen(WEIGHTS))
                       ? lasting("config.json: %s", message)
                       : message);
}

TEST_ROWS(an_invalid_config_is_refused, 0, ROWS(texts))
{
    copy_fixture(texts[_i].fixture, CHANGES(texts[_i].from, texts[_i].to), NULL);
    expect_refused(texts[_i].message);
}

/* Both keys have defaults. */
TEST_ROWS(an_optional_key_of_a_family_may_be_absent, 0, 2)
{
    copy_with_key(_i ? "esm" : "gpt_neox", _i ? "emb_layer_norm_before" : "use_cache", "");
    model_of_folder(opened_folder(scratch));
}

TEST(an_unknown_model_type_is_refused_with_the_list_of_families)
{
    rt_huggingface *there;
    copy_with_key("masked_lm", "model_type", "\"bert\"");
    const rt_status status = rt_huggingface_open(&there, scratch);
    is_status_with(status, RT_CHECKPOINT, "config.json: model_type must be roformer, ");
    expect_in(status.message, ": rotor reads no other; got 'bert'");
    for (const rt_family *const *f = rt_families; *f; f++)
        expect_in(status.message, (*f)->type);
}

TEST(absent_keys_have_the_defaults_of_transformers)
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
    const rt_family *const *family = rt_families;
    int count = 0;
    while (*family && strcmp((*family)->type, type) != 0)
        family++;
    ck_assert_msg(*family != NULL, "%s", type);
    for (const char *key; (key = strtok(NULL, " ")); count++) {
        const int sets = rt_config_key_sets(*family, key);
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
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        *end = '\0';
        expect_keys_in_one_set(line);
    }
    while (rt_families[families])
        families++;
    ck_assert_int_eq(lines, families);
}

TEST_ROWS(unknown_keys_are_named_in_one_line, 0, 5)
{
#define IGNORES "config.json: rotor does not know, and ignores: "
    static const char *const rows[][3] = {
        {"masked_lm", "\"foo\": 1, \"rotary_dim\": null", IGNORES "'foo', 'rotary_dim'\n"},
        {"masked_lm", "\"use_bfloat16\": true, \"top_k\": 3", ""},
        {"llama", "\"rope_scaling\": {\"type\": \"default\", \"su\": 1}",
         IGNORES "'rope_scaling.su'\n"},
        {"modernbert", "\"global_rope_theta\": 5.0, \"a\\u001bb\": 2", IGNORES "'a?b'\n"},
        {"masked_lm", "\"rotor_begin\": null, \"rotor_end\": \"none\"", ""},
    };
    const char *keys = lasting("%s, \"vocab_size\"", rows[_i][1]);
    copy_fixture(rows[_i][0], CHANGES("\"vocab_size\"", keys), NULL);
    ck_assert_str_eq(opened_folder(scratch)->warnings, rows[_i][2]);
}

/* transformers sets its local_attention by it. */
TEST(sliding_window_of_a_modernbert_is_its_window)
{
    copy_with_key("modernbert", "sliding_window", "1");
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_int_eq(there->options.window, 2);
    ck_assert_str_eq(there->warnings, "");
}

/* transformers accepts the key rope_type, but not its older name. */
TEST_ROWS(a_scaling_of_an_old_modernbert_needs_a_rope_type, 0, 2)
{
    copy_with_key("modernbert_old", "rope_scaling",
                  _i ? "{\"rope_type\": \"linear\", \"factor\": 4.0}"
                     : "{\"type\": \"linear\", \"factor\": 4.0}");
    ck_assert_int_eq(opened_folder(scratch)->options.position.frequencies.scaling,
                     _i ? RT_SCALING_LINEAR : RT_SCALING_NONE);
}

TEST(an_error_about_a_folder_of_the_hub_names_the_model_in_it)
{
    const char *cache = lasting("%s", in_scratch("models--a--b"));
    const char *snapshots = lasting("%s/snapshots", cache), *model = lasting("%s/12ab", snapshots);
    ck_assert(!mkdir(cache, 0700) && !mkdir(snapshots, 0700) && !mkdir(model, 0700));
    expect_ok(rt_huggingface_refuse_format(cache));
    put_text("models--a--b/snapshots/12ab/config.json", "{}");
    for (int i = 0; i < 2; i++) {
        const char *folder = i ? snapshots : cache;
        is_status(rt_huggingface_refuse_format(folder), RT_CHECKPOINT,
                  lasting("%s is a folder of the Hub's cache; the model is in %s", folder, model));
    }
}

TEST(a_pointer_of_git_lfs_is_named)
{
#define POINTER ": it is a git-lfs pointer, not the file itself; fetch the file with: git lfs pull"
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    put_text("a.h5", pointer);
    is_status(rt_huggingface_refuse_format(in_scratch("a.h5")), RT_CHECKPOINT,
              lasting("%s/a.h5" POINTER, scratch));
    copy_fixture("masked_lm", NULL, NULL);
    put_text("config.json", pointer);
    expect_refused("config.json" POINTER);
}

/* A tensor that gets another name, and its shape; without a shape, the model can do without it. */
static const char *const tensors[][3] = {
    {"masked_lm", "roformer.encoder.layer.1.attention.self.query.weight", "(24, 24)"},
    {"masked_lm", "roformer.embeddings.token_type_embeddings.weight", "(2, 24)"},
    {"model", "encoder.layer.0.output.dense.bias", "(24)"},
    {"masked_lm_untied", "cls.predictions.decoder.weight", "(53, 24)"},
    {"llama", "model.layers.1.mlp.up_proj.weight", "(50, 24)"},
    {"llama", "lm_head.weight", "(41, 24)"},
    {"llama_bias", "model.layers.0.self_attn.o_proj.bias", "(24)"},
    {"llama", "model.norm.weight", "(24)"},
    {"masked_lm", "roformer.encoder.embed_positions.weight", NULL},
};

TEST_ROWS(a_tensor_that_is_missing_or_surplus_is_named, 0, ROWS(tensors))
{
    const char *name = tensors[_i][1], *shape = tensors[_i][2];
    const char *other = lasting("%.*sx", (int)strlen(name) - 1, name);
    copy_fixture(tensors[_i][0], NULL, CHANGES(name, other));
    expect_refused(shape ? lasting(WEIGHTS "lacks %s %s", name, shape)
                         : lasting(WEIGHTS "unexpected tensor %s, which the model lacks", other));
}

TEST_ROWS(a_tied_decoder_that_differs_is_used_with_a_warning, 0, 2)
{
#define TIED(used, tied)                                                                           \
    "config.json: tie_word_embeddings = true, but " used " is not " tied "; the former is used\n"
    static const char *const rows[][2] = {
        {"masked_lm_untied",
         TIED("cls.predictions.decoder.weight", "roformer.embeddings.word_embeddings.weight")
             TIED("cls.predictions.decoder.bias", "cls.predictions.bias")},
        {"llama", TIED("lm_head.weight", "model.embed_tokens.weight")},
    };
    copy_fixture(rows[_i][0],
                 CHANGES("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"), NULL);
    rt_huggingface *there = opened_folder(scratch), *untied = opened_fixture(rows[_i][0]);
    ck_assert_str_eq(there->warnings, rows[_i][1]);
    ck_assert(!there->options.tie_embeddings);
    ck_assert_str_eq(untied->warnings, "");
    expect_same_block(model_of_folder(there), model_of_folder(untied));
}

/* More than 512 numbers take several reads; all of them are compared. */
TEST_ROWS(a_tied_decoder_that_differs_in_one_number_is_not_tied, 0, 5)
{
    enum { NUMBERS = 53 * 24 };
    static const uint64_t places[] = {NUMBERS, 0, 511, 512, NUMBERS - 1};
    static const char words[] = "roformer.embeddings.word_embeddings.weight";
    static const char decoder[] = "cls.predictions.decoder.weight";
    static double numbers[NUMBERS];
    static float same[NUMBERS];
    copy_fixture("masked_lm_untied",
                 CHANGES("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"), NULL);
    const rt_safetensors *weights = opened_weights("model.safetensors");
    expect_ok(rt_safetensors_doubles(rt_safetensors_find(weights, words), 0, NUMBERS, numbers));
    for (int i = 0; i < NUMBERS; i++)
        same[i] = (float)numbers[i];
    set_numbers("model.safetensors", decoder, 0, NUMBERS, same);
    if (places[_i] < NUMBERS)
        set_numbers("model.safetensors", decoder, places[_i], 1, (float[]){same[places[_i]] + 1});
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_int_eq(there->options.tie_embeddings, places[_i] == NUMBERS);
    ck_assert_int_eq(!strstr(there->warnings, decoder), places[_i] == NUMBERS);
}

/* masked_lm in two files, alternately, and their index, which names another file of the first
 * tensor. That tensor may be in both. */
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
        expect_ok(rt_safetensors_write(in_scratch(names[n]), parts[n], count[n]));
    copy_changed("masked_lm", "config.json", NULL);
}

TEST(a_model_in_several_files_is_the_same)
{
    write_parts(NULL, false);
    ck_assert(rt_is_huggingface(scratch));
    expect_same_block(model_of_folder(opened_folder(scratch)),
                      model_of_folder(opened_fixture("masked_lm")));
}

#define INDEX       "model.safetensors.index.json"
#define OF_FOLDER   INDEX ": weight_map must name files of the folder itself; got "
#define LACKS(name) ": lacks 'cls.predictions." name "', which " INDEX " says is there"
#define HAS_BIAS    ": has 'cls.predictions.bias', which " INDEX " does not say"
static const struct {
    const char *name;
    bool twice;
    const char *message;
} indexes[] = {
    {"../part-1.safetensors", false, OF_FOLDER "'../part-1.safetensors'"},
    {"/dev/zero", false, OF_FOLDER "'/dev/zero'"},
    {"..", false, OF_FOLDER "'..'"},
    {"part-2.safetensors", false, "part-2.safetensors" LACKS("bias")},
    /* the index and the files contradict each other */
    {NULL, true, "part-2.safetensors" HAS_BIAS},
    {"part-2.safetensors", true, "part-1.safetensors" HAS_BIAS},
};

TEST_ROWS(an_index_with_wrong_or_repeated_names_is_refused, 0, ROWS(indexes))
{
    write_parts(indexes[_i].name, indexes[_i].twice);
    expect_refused(indexes[_i].message);
}

/* Row 0 renames a tensor, row 1 leaves one out. */
TEST_ROWS(an_index_names_all_that_the_files_have, 0, 2)
{
    static const char bias[] = "\"cls.predictions.bias\"";
    write_parts(NULL, false);
    const char *index = text_in(INDEX), *at = strstr(index, bias);
    const char *rest = _i ? strstr(at, ", ") + strlen(", ") : at + strlen(bias);
    put_text(INDEX, lasting("%.*s%s%s", (int)(at - index), index,
                            _i ? "" : "\"cls.predictions.bios\"", rest));
    expect_refused(_i ? "part-1.safetensors" HAS_BIAS : "part-1.safetensors" LACKS("bios"));
}

TEST(a_folder_of_hugging_face_has_a_config_and_weights)
{
    ck_assert(!rt_is_huggingface(scratch));
    copy_changed("masked_lm", "config.json", NULL);
    ck_assert(!rt_is_huggingface(scratch));
    ck_assert(!rt_is_huggingface(in_scratch("config.json")));
    copy_changed("masked_lm", "model.safetensors", NULL);
    ck_assert(rt_is_huggingface(scratch));
}

TEST_ROWS(theta_of_a_folder_goes_to_every_layer_and_head, 0, 2)
{
    static const rt_theta_form forms[] = {RT_THETA_LOG, RT_THETA_RAW};
    rt_huggingface *there = opened_fixture("masked_lm_theta");
    ck_assert(there->options.theta.learn);
    rt_transformer_options o = there->options;
    o.theta.scope = RT_THETA_HEAD;
    o.theta.form = forms[_i];
    rt_transformer *model = new_model(&o, 5);
    rt_huggingface_taken taken = take_values(there, model);
    ck_assert(taken.head && taken.theta);
    double theta[2 * 3 * 4];
    rt_transformer_theta(model, theta);
    for (int n = 0; n < 24; n++)
        ck_assert(fabs(theta[n] / there->theta[n % 4] - 1) < 1e-6);
    o.theta.learn = false;
    taken = take_values(there, new_model(&o, 5));
    ck_assert(taken.head && !taken.theta);
}

static const struct {
    const char *fixture, *words, *message;
} unfit[] = {
    {"masked_lm", "model.heads=6", "config.json: num_attention_heads is 3, this model has 6"},
    {"masked_lm", "position.pairing=half",
     "config.json: the model needs position.kind = rope and position.pairing = "
     "interleaved; set both"},
    {"masked_lm", "model.ffn_dim=48",
     "model.safetensors: roformer.encoder.layer.0.intermediate.dense.weight is (40, 24), (48, 24) "
     "expected"},
    {"masked_lm_untied", "model.tie_embeddings=yes",
     "config.json: the model has an output layer of its own; set model.tie_embeddings = "
     "no"},
    {"llama", "model.kind=roformer",
     "config.json: the model is a decoder, but the configuration describes a roformer; set "
     "model.kind = decoder"},
    {"llama", "position.pairing=interleaved",
     "config.json: the model needs position.kind = rope and position.pairing = half; set "
     "both"},
    {"llama", "model.kv_heads=4",
     WEIGHTS "model.layers.0.self_attn.k_proj.weight is (12, 24), (24, 24) expected"},
    {"llama", "model.tie_embeddings=yes",
     "config.json: the model has an output layer of its own; set model.tie_embeddings = "
     "no"},
    {"llama", "model.bias=all", WEIGHTS "lacks model.layers.0.self_attn.q_proj.bias (24)"},
};

TEST_ROWS(weights_that_do_not_fit_a_model_change_nothing, 0, ROWS(unfit))
{
    rt_huggingface_taken taken;
    rt_huggingface *there = opened_fixture(unfit[_i].fixture);
    rt_transformer_options o = there->options;
    set_options(&o, unfit[_i].words);
    rt_transformer *model = new_model(&o, 5), *start = new_model(&o, 5);
    is_status(rt_huggingface_load(there, model, true, &taken), RT_CHECKPOINT, unfit[_i].message);
    expect_same_block(model, start);
}

/* Labels are tested in test_huggingface_imported.c, theta of rotor's own in
 * test_huggingface_export.c. */
SAMPLED_ROWS(every_allocation_can_fail, 0, 2, 2)
{
    copy_fixture(_i ? "masked_lm_untied" : "masked_lm_theta", NULL, NULL);
    expect_ok_after_refusals(50, try_folder(scratch));
}
