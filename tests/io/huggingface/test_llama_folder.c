/* Folders of Llama and Mistral: keys that are read, and keys that are refused. */

#include "io/huggingface/hf_folder.h"

#define TYPE "\"rope_type\": \"default\""
#define BASE "\"rope_theta\": 10000.0"

SUITE(.setup = make_scratch, .teardown = remove_scratch)

static rt_huggingface *opened_llama(const char *name, const char *const *changes)
{
    copy_fixture(name, changes, NULL);
    rt_huggingface *there = opened_folder(scratch);
    model_of_folder(there);
    return there;
}

TEST(absent_keys_have_the_defaults_of_transformers)
{
    rt_huggingface *there =
        opened_llama("llama_tied",
                     CHANGES("\"num_key_value_heads\"", "\"n\"", "\"hidden_act\"", "\"h\"",
                             "\"rms_norm_eps\"", "\"r\"", "\"rope_parameters\"", "\"p\"",
                             "\"max_position_embeddings\"", "\"m\"", "\"head_dim\"", "\"d\"",
                             "\"attention_bias\"", "\"b\"", "\"mlp_bias\"", "\"l\"",
                             "\"attention_dropout\"", "\"a\"", "\"pad_token_id\"", "\"i\"",
                             "\"initializer_range\"", "\"s\""));
    const rt_transformer_options *o = &there->options;
    ck_assert_int_eq(o->kv_heads, 4);
    ck_assert_int_eq(o->ffn, RT_FFN_SWIGLU);
    ck_assert_int_eq(o->bias, RT_BIAS_NONE);
    ck_assert_int_eq(o->position.frequencies.scaling, RT_SCALING_NONE);
    ck_assert(o->norm_eps == 1e-6 && o->position.frequencies.base == 10000);
    ck_assert(o->init_std == 0.02 && o->attention_dropout == 0 && o->window == 0);
    ck_assert_int_eq(there->max_positions, 2048);
    ck_assert_int_eq(there->length, 2048);
    ck_assert_int_eq(there->padding_id, RT_NO_PADDING);
    there = opened_llama("mistral_window", CHANGES("\"sliding_window\": 5", "\"other\": 5",
                                                   "\"max_position_embeddings\"", "\"m\""));
    ck_assert_int_eq(there->options.window, 4096);
    ck_assert_int_eq(there->max_positions, 131072);
    there = opened_llama("mistral_window",
                         CHANGES("\"sliding_window\": 5", "\"sliding_window\": null"));
    ck_assert_int_eq(there->options.window, 0);
}

TEST(the_keys_of_a_folder_are_those_of_the_model)
{
    rt_huggingface *there =
        opened_llama("llama", CHANGES("\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"",
                                      "\"pad_token_id\": null", "\"pad_token_id\": 7",
                                      "\"attention_dropout\": 0.0", "\"attention_dropout\": 0.25",
                                      "\"initializer_range\": 0.02", "\"initializer_range\": 0.5",
                                      "\"pretraining_tp\": 1", "\"pretraining_tp\": 2",
                                      "\"eos_token_id\": 2", "\"eos_token_id\": [2, 3]"));
    const rt_transformer_options *o = &there->options;
    ck_assert_int_eq(o->ffn, RT_FFN_GEGLU);
    ck_assert_int_eq(o->kind, RT_KIND_DECODER);
    ck_assert_int_eq(there->padding_id, 7);
    ck_assert(o->attention_dropout == 0.25 && o->init_std == 0.5 && o->norm_eps == 1e-5);
    ck_assert_str_eq(there->architecture, "LlamaForCausalLM");
    there = opened_llama("llama", CHANGES("\"pad_token_id\": null", "\"pad_token_id\": -1",
                                          "\"max_position_embeddings\": 64",
                                          "\"max_position_embeddings\": 2000000"));
    ck_assert_int_eq(there->padding_id, RT_NO_PADDING);
    ck_assert_int_eq(there->max_positions, 2000000);
    ck_assert_int_eq(there->length, 1000000);
}

/* Opens the folder with "eos_token_id": 2 changed, beside a generation_config.json if there is one.
 */
static rt_huggingface *opened_with_ends(const char *ends, const char *generation)
{
    copy_fixture("llama", CHANGES("\"eos_token_id\": 2", ends), NULL);
    if (generation)
        put_text("generation_config.json", generation);
    return opened_folder(scratch);
}

TEST_ROWS(the_tokens_that_end_a_text_are_found, 0, 11)
{
    static const struct {
        const char *ends, *generation;
        int count, first, last;
    } rows[] = {
        {"\"eos_token_id\": 2", NULL, 1, 2, 2},
        {"\"eos_token_id\": [40, 0, 3]", NULL, 3, 40, 3},
        {"\"eos_token_id\": [1, 2, 3, 4, 5, 6, 7, 8]", NULL, 8, 1, 8},
        {"\"eos_token_id\": null", NULL, 0, 0, 0},
        {"\"eos_token_id\": []", NULL, 0, 0, 0},
        {"\"sep_token_id\": 2", NULL, 0, 0, 0},
        {"\"eos_token_id\": 2", "{\"eos_token_id\": [7, 9]}", 2, 7, 9},
        {"\"eos_token_id\": 2", "{\"eos_token_id\": 0}", 1, 0, 0},
        {"\"eos_token_id\": 2", "{\"eos_token_id\": null}", 1, 2, 2},
        {"\"eos_token_id\": -1", "{\"eos_token_id\": 5}", 1, 5, 5},
        {"\"sep_token_id\": 2", "{\"eos_token_id\": 5}", 1, 5, 5},
    };
    rt_huggingface *there = opened_with_ends(rows[_i].ends, rows[_i].generation);
    ck_assert_str_eq(there->warnings, "");
    ck_assert_int_eq(there->ends.count, rows[_i].count);
    if (rows[_i].count) {
        ck_assert_int_eq(there->ends.ids[0], rows[_i].first);
        ck_assert_int_eq(there->ends.ids[rows[_i].count - 1], rows[_i].last);
    }
}

TEST(an_eos_token_id_out_of_range_is_a_warning)
{
    static const char *const values[] = {"-1",   "41",         "\"</s>\"", "2.0",
                                         "true", "{}",         "[2, 41]",  "[[2]]",
                                         "1e30", "[2, \"2\"]", "[2,-1]",   "[1,2,3,4,5,6,7,8,9]"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (int file = 0; file < 2; file++) {
            const char *key = lasting("\"eos_token_id\": %s", values[i]);
            rt_huggingface *there =
                file ? opened_with_ends("\"eos_token_id\": 2", lasting("{%s}", key))
                     : opened_with_ends(key, NULL);
            expect_in(there->warnings,
                      lasting("%s: eos_token_id must be a whole number from 0 to 40, or ",
                              file ? "generation_config.json" : "config.json"));
            ck_assert_int_eq(there->ends.count, 0);
            unlink(in_scratch("generation_config.json"));
        }
}

TEST(a_generation_config_that_is_broken_is_refused)
{
    copy_fixture("llama", NULL, NULL);
    put_text("generation_config.json", "{\"eos\"");
    expect_refused("generation_config.json:1: invalid JSON: '':' expected near end of file'");
}

/* Changes of a folder, and options of [position] that make the same theta. */
#define YARN_16  "scaling=yarn scale=4 original_len=16"
#define LONGROPE "scaling=longrope original_len=32 short_factors=1,1.1,1.2 long_factors=2,3,4"
static const struct {
    const char *fixture, *from, *to, *options;
} ropes[] = {
    /* as versions before 5 have it, with and without a scaling */
    {"llama", "\"rope_parameters\": {\n    " BASE, "\"rope_theta\": 500.0, \"o\": {\"t\": 1",
     "base=500"},
    {"llama", "\"rope_parameters\": {\n    " BASE ",\n    " TYPE,
     "\"rope_theta\": 500.0, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2",
     "base=500 scaling=linear scale=2"},
    {"llama", "\"rope_parameters\": {\n    " BASE ",\n    " TYPE,
     "\"rope_theta\": 500.0, \"rope_scaling\": null, \"rope_parameters\": {" BASE, ""},
    {"llama", "\"rope_parameters\": {",
     "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 3}, \"rope_parameters\": {",
     "scaling=linear scale=3"},
    {"llama", "\"rope_parameters\": {", "\"rope_scaling\": {}, \"rope_parameters\": {", ""},
    {"llama", TYPE, "\"rope_type\": \"dynamic\", \"factor\": 2.5",
     "scaling=dynamic scale=2.5 original_len=64"},
    /* the length before the scaling, and values that follow from it */
    {"llama_yarn", "\"factor\": 4.0,", "", YARN_16},
    {"llama_yarn", "\"vocab_size\": 41",
     "\"vocab_size\": 41, \"original_max_position_embeddings\": 32",
     "scaling=yarn scale=4 original_len=32"},
    {"llama_yarn", "\"original_max_position_embeddings\": 16",
     "\"beta_fast\": 20, \"beta_slow\": 2",
     "scaling=yarn scale=4 original_len=64 beta_fast=20 beta_slow=2"},
    {"llama_yarn", "\"factor\": 4.0", "\"factor\": 4.0, \"mscale\": 2, \"mscale_all_dim\": 0.5",
     YARN_16 " attention_factor=1.1944648761087142"},
    {"llama_yarn", "\"factor\": 4.0", "\"factor\": 4.0, \"attention_factor\": 1.5, \"mscale\": 2",
     YARN_16 " attention_factor=1.5"},
    {"llama_longrope", "\"factor\": 2.0,", "\"attention_factor\": 1.25,",
     LONGROPE " scale=2 attention_factor=1.25"},
    /* a factor below 1 is ignored */
    {"llama_longrope", "\"factor\": 2.0", "\"factor\": 0.5", LONGROPE " scale=1"},
    {"llama_llama3", "\"low_freq_factor\": 1.0", "\"low_freq_factor\": 2",
     "scaling=llama3 scale=8 original_len=16 low_freq_factor=2"},
};

TEST_ROWS(theta_follows_the_rope_parameters, 0, ROWS(ropes))
{
    const int lengths[] = {5, 16, 17, 33, 64, 65, 1000};
    double own[3], expected[3];
    rt_huggingface *there = opened_llama(ropes[_i].fixture, CHANGES(ropes[_i].from, ropes[_i].to));
    rt_transformer_options options = rt_model_defaults(RT_KIND_DECODER);
    for (const char *at = ropes[_i].options; *at; at += strspn(at, " ")) {
        const int length = (int)strcspn(at, " ");
        set_options(&options, lasting("position.%.*s", length, at));
        at += length;
    }
    const rt_frequency_options *f = &there->options.position.frequencies,
                               *wanted = &options.position.frequencies;
    ck_assert_int_eq(f->scaling, wanted->scaling);
    for (int n = 0; n < ROWS(lengths); n++) {
        rt_frequencies_at(own, 3, f, lengths[n]);
        rt_frequencies_at(expected, 3, wanted, lengths[n]);
        for (int i = 0; i < 3; i++)
            ck_assert_msg(own[i] == expected[i], "theta %d for %d tokens: %.17g instead of %.17g",
                          i, lengths[n], own[i], expected[i]);
    }
    ck_assert(fabs(rt_frequencies_magnitude(f) - rt_frequencies_magnitude(wanted)) < 1e-15);
}

/* Writes the tensors of the fixture whose names begin with the prefix to one file, without the
 * prefix; the tensor `again` once more as `added`. */
static void write_tensors(const char *fixture, const char *again, const char *added,
                          const char *prefix)
{
    rt_safetensors_entry all[MOST_TENSORS], list[MOST_TENSORS + 1];
    const int total = tensors_of(fixture, all);
    int count = 0;
    for (int i = 0; i < total; i++) {
        if (strncmp(all[i].name, prefix, strlen(prefix)) != 0)
            continue;
        list[count] = all[i];
        list[count++].name += strlen(prefix);
        if (again && !strcmp(all[i].name, again)) {
            list[count] = list[count - 1];
            list[count++].name = added;
        }
    }
    expect_ok(rt_safetensors_write(in_scratch("model.safetensors"), list, count));
}

static void expect_values_of(const rt_huggingface *there, const char *fixture)
{
    rt_transformer *a = model_of_folder(there), *b = model_of_folder(opened_fixture(fixture));
    for (int i = 0; i < b->parameters.count; i++)
        if (b->parameters.list[i]->component != RT_COMPONENT_HEAD)
            expect_same_parameter(b->parameters.list[i], a);
}

TEST_ROWS(frequencies_of_older_files_and_a_tied_decoder_are_ignored, 0, 6)
{
    static const char *const names[] = {"lm_head.weight",
                                        "model.layers.0.self_attn.rotary_emb.inv_freq",
                                        "model.rotary_emb.inv_freq",
                                        "model.rotary_emb.original_inv_freq",
                                        "rotary_emb.inv_freq",
                                        "model.layers.1.self_attn.rotary_emb.cos_cached"};
    copy_changed("llama_tied", "config.json", NULL);
    write_tensors("llama_tied", _i ? "model.norm.weight" : "model.embed_tokens.weight", names[_i],
                  "");
    rt_huggingface *there = opened_folder(scratch);
    ck_assert_str_eq(there->warnings, "");
    ck_assert(there->options.tie_embeddings);
    expect_values_of(there, "llama_tied");
}

TEST_ROWS(a_surplus_tensor_is_named, 0, 5)
{
    static const char *const names[] = {"model.layers.0.self_attn.q_norm.weight",
                                        "model.layers.0.self_attn.q_proj.bias",
                                        "model.layers.0.mlp.rotary.inv_freq", "inv_freq",
                                        "score.weight"};
    copy_changed("llama", "config.json", NULL);
    write_tensors("llama", "model.norm.weight", names[_i], "");
    expect_refused(
        lasting("model.safetensors: unexpected tensor %s, which the model lacks", names[_i]));
}

TEST(the_missing_head_of_a_folder_is_drawn)
{
    copy_changed("llama", "config.json", CHANGES("LlamaForCausalLM", "LlamaModel"));
    write_tensors("llama", NULL, NULL, "model.");
    rt_huggingface *there = opened_folder(scratch);
    ck_assert(!there->has_head);
    ck_assert_str_eq(there->architecture, "LlamaModel");
    expect_values_of(there, "llama");
    rt_transformer *model = model_of_folder(there);
    const rt_huggingface_taken taken = take_values(there, model);
    ck_assert(!taken.head && taken.theta);
    const rt_tensor *head = model->head.output.weight;
    for (size_t i = 0; i < rt_size(head); i++)
        ck_assert(head->data[i] != 0);
    copy_changed("llama", "config.json",
                 CHANGES("LlamaForCausalLM", "LlamaModel", "\"intermediate_size\": 50",
                         "\"intermediate_size\": 51"));
    expect_refused(
        "model.safetensors: layers.0.mlp.gate_proj.weight is (50, 24), (51, 24) expected");
}

/* Models that take the theta of a folder, or keep their own; without its scaling,
 * cosines and sines would be of another length. */
TEST_ROWS(theta_of_a_folder_is_loaded_into_models_that_can_hold_it, 0, 7)
{
    static const struct {
        const char *fixture, *options;
        bool taken;
    } rows[] = {{"llama_yarn", "theta.learn=yes", true},
                {"llama_yarn", "theta.learn=yes theta.scope=layer", true},
                {"llama_yarn", "theta.learn=yes position.scaling=none", false},
                {"llama_yarn", "", true},
                {"llama_yarn", "position.original_len=160", false},
                {"llama_yarn", "position.attention_factor=1", false},
                {"masked_lm", "position.base=500", false}};
    rt_huggingface *there = opened_fixture(rows[_i].fixture);
    rt_transformer_options o = there->options;
    set_options(&o, rows[_i].options);
    rt_transformer *model = new_model(&o, 5);
    const rt_huggingface_taken taken = take_values(there, model);
    ck_assert(taken.head);
    ck_assert_int_eq(taken.theta, rows[_i].taken);
    if (_i < 2) {
        double theta[6], expected[3];
        rt_transformer_theta(model, theta);
        rt_frequencies(expected, 3, &there->options.position.frequencies);
        for (int i = 0; i < (_i ? 6 : 3); i++)
            ck_assert(fabs(theta[i] / expected[i % 3] - 1) < 1e-6);
    }
}
