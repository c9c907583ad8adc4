/* Folders of the families that differ by more than sizes from Llama and RoFormer, against what
 * transformers compute of them in double. ROTOR_FAMILIES=DIR goes through another folder of the
 * same layout; families that rotor does not read are named and left out. */

#define FIXTURES_VARIABLE "ROTOR_FAMILIES"
#define FIXTURES_FOLDER   "families"
#include "huggingface/folders.h"

/* transformers computes the angles of ESM and their cosines as floats, in a model of doubles too.
 * A file that was made without that has rotation_in_double. */
static double slack_of(const folder_case *c)
{
    const bool floats = !strcmp(c->there->files->family->type, "esm");
    return floats && !reference_has(&c->r, "rotation_in_double") ? 1e-5 : 0;
}

/* One for all layers, or one for those with a window. */
static array theta_of_layer(folder_case *c, int layer)
{
    const bool slides = rt_layer_row_of(&c->model->options, layer).window > 0;
    if (!reference_has(&c->r, "theta/full_attention") &&
        !reference_has(&c->r, "theta/sliding_attention"))
        return reference_array(&c->r, "theta");
    return reference_array(&c->r, "theta/%s", slides ? "sliding_attention" : "full_attention");
}

/* The theta of the file, which is that of the family's formula, for every layer and head. */
static void take_theta(folder_case *c, rt_theta_change *change)
{
    const rt_transformer_options *o = &c->model->options;
    const rt_shape shape = rt_transformer_rotation_shape(o);
    const size_t count = rt_shape_size(shape), layer = count / (size_t)shape.axis[0];
    double *numbers = rt_arena_take(&c->r.memory, count * sizeof *numbers);
    rt_transformer_rotation(c->model, c->input.T, numbers);
    for (size_t i = 0; i < count; i++) {
        const array theta = theta_of_layer(c, (int)(i / layer));
        const double own = numbers[i];
        ck_assert_int_eq((int)theta.size, shape.axis[2]);
        numbers[i] = theta.values[i % theta.size];
        ck_assert_msg(fabs(own - numbers[i]) <= 1e-6 * numbers[i],
                      "theta %zu is %.17g instead of %.17g", i, own, numbers[i]);
    }
    *change = (rt_theta_change){.numbers = numbers};
    rt_transformer_change_theta(c->model, change);
}

/* Numbers at padding mean nothing: they are replaced by the expected ones. */
static void check_logits(folder_case *c, const rt_tensor *logits)
{
    const array expected = reference_array(&c->r, "logits");
    const size_t tokens = (size_t)c->input.B * (size_t)c->input.T, size = rt_size(logits);
    const bool by_token = c->model->options.head != RT_HEAD_SEQUENCE;
    const uint8_t *mask = by_token ? c->input.key_mask : NULL;
    real *shown = rt_arena_take(&c->r.memory, size * sizeof *shown);
    check_size(&c->r, expected, size, "logits");
    for (size_t i = 0; i < size; i++)
        shown[i] = mask && !mask[i / (size / tokens)] ? (real)expected.values[i] : logits->data[i];
    check_values(&c->r, shown, size, expected, VALUE_TOLERANCE, "logits");
}

static void check_case(folder_case *c)
{
    rt_graph *g = c->r.graph;
    rt_tensor *hidden = rt_transformer_encode(c->model, g, &c->input);
    if (c->model->options.head == RT_HEAD_SEQUENCE)
        hidden = rt_pool(g, hidden, c->model->options.pool, c->input.key_mask);
    rt_tensor *logits = rt_transformer_logits(c->model, g, hidden);
    rt_tensor *loss = rt_cross_entropy(g, logits, c->labels, 0, c->label_count);
    check_status(&c->r, rt_graph_backward(g, loss), "backward");
    check_logits(c, logits);
    check_values(&c->r, loss->data, 1, reference_array(&c->r, "loss"), VALUE_TOLERANCE, "loss");
    check_gradients(c);
}

TEST(a_family_is_what_transformers_compute)
{
    fixtures all;
    list_fixtures(&all);
    for (int i = 0; i < all.count; i++) {
        folder_case c;
        rt_theta_change theta;
        if (!open_case(&c, all.names[i]))
            continue;
        c.r.slack = slack_of(&c);
        take_theta(&c, &theta);
        check_case(&c);
        printf("%s largest error of values %.1e, of gradients %.1e\n", c.r.name, c.r.value_error,
               c.r.gradient_error);
        c.r.quiet = true;
        close_case(&c);
    }
}

TEST(a_folder_is_a_configuration_and_exported_and_imported_the_same_model)
{
    check_folders();
}

/* ---- what is refused ---- */

/* A folder of this repository with one key of config.json as JSON says it, "" to leave it out. */
static rt_status open_with(const char *name, const char *key, const char *value)
{
    char from[PATH_OF_FIXTURE], to[PATH_OF_FIXTURE];
    rt_huggingface *there;
    snprintf(from, sizeof from, TEST_SOURCES "/fixtures/families/%s/hf/config.json", name);
    json_t *config = json_load_file(from, 0, NULL),
           *json = json_loads(value, JSON_DECODE_ANY, NULL);
    ck_assert(config && (json || !*value));
    ck_assert_int_eq(json ? json_object_set_new(config, key, json) : json_object_del(config, key),
                     0);
    snprintf(to, sizeof to, "%s/config.json", scratch);
    ck_assert_int_eq(json_dump_file(config, to, 0), 0);
    json_decref(config);
    snprintf(from, sizeof from, TEST_SOURCES "/fixtures/families/%s/hf/model.safetensors", name);
    snprintf(to, sizeof to, "%s/model.safetensors", scratch);
    remove(to);
    ck_assert_int_eq(symlink(from, to), 0);
    rt_transformer *model = NULL;
    rt_status status = rt_huggingface_open(&there, scratch);
    if (!status.code)
        status = rt_huggingface_model(there, &model);
    rt_transformer_free(model);
    rt_huggingface_close(there);
    remove(to);
    snprintf(to, sizeof to, "%s/config.json", scratch);
    remove(to);
    return status;
}

TEST(what_rotor_has_not_is_refused_with_its_key)
{
    static const struct {
        const char *name, *key, *value, *message;
    } refused[] = {
        {"gpt_neox", "hidden_act", "\"laplace\"",
         "hidden_act must be gelu, gelu_new, relu, tanh, sigmoid or silu: rotor has no other; got "
         "'laplace'"},
        {"gpt_neox", "rope_parameters", "{\"rope_theta\": 100, \"partial_rotary_factor\": 0.1}",
         "rope_parameters.partial_rotary_factor = 0.1 of heads of 8 features: rotor rotates whole "
         "pairs"},
        {"gpt_neox", "rope_parameters", "{\"rope_theta\": 100, \"partial_rotary_factor\": 1.5}",
         "rope_parameters.partial_rotary_factor = 1.5 of heads"},
        {"gpt_neox", "num_attention_heads", "3", "hidden_size = 32 is not divisible"},
        {"qwen2", "model_type", "\"qwen2_moe\"",
         "model_type must be roformer, modernbert, esm, llama, "},
        {"qwen2", "num_experts", "8", "num_experts: rotor has no mixture of experts"},
        {"qwen2", "hidden_act", "\"relu\"", "hidden_act must be silu or gelu: rotor has no other"},
        {"qwen2_window", "layer_types",
         "[\"full_attention\", \"chunked_attention\", \"sliding_attention\"]",
         "layer_types must have full_attention or sliding_attention for each of 3 layers: rotor "
         "has "
         "no other; that of layer 1 is 'chunked_attention'"},
        {"qwen2_window", "layer_types", "[\"full_attention\"]",
         "layer_types must be a list of 3, num_hidden_layers"},
        {"qwen2_window", "use_sliding_window", "false",
         "layer_types has sliding_attention, but use_sliding_window and sliding_window give no "
         "window"},
        {"qwen2_window", "rope_parameters",
         "{\"full_attention\": {\"rope_theta\": 10000}, \"sliding_attention\": {}}",
         "rope_parameters must be one for all layers"},
        {"qwen3", "head_dim", "8", "is (48, 32), (32, 32) expected"},
        {"qwen3", "head_dim", "16",
         "is (48, 32), (64, 32) expected: num_attention_heads and num_key_value_heads times "
         "head_dim"},
        {"qwen3", "head_dim", "13", "head_dim = 13: a head must have pairs to rotate"},
        {"qwen3", "attention_bias", "true", "attention_bias = true: rotor has biases in all maps"},
        {"smollm3", "mlp_bias", "true", "mlp_bias = true: rotor has biases in all maps"},
        {"smollm3", "no_rope_layers", "[0, 0, 0]", "no_rope_layers leaves no layer with positions"},
        {"smollm3", "no_rope_layers", "[1, 2, 0]",
         "no_rope_layers must have 1 or 0 for each layer"},
        {"smollm3", "no_rope_layers", "[1, 0]",
         "no_rope_layers must be a list of 3, num_hidden_layers"},
        {"esm", "position_embedding_type", "\"absolute\"",
         "position_embedding_type must be rotary: rotor reads ESM-2, not ESM-1; got 'absolute'"},
        {"esm", "position_embedding_type", "",
         "position_embedding_type must be rotary: rotor reads ESM-2, not ESM-1; got 'absolute'"},
        {"esm", "is_folding_model", "true",
         "is_folding_model = true: rotor reads ESM-2, and folds no proteins"},
        {"esm", "esmfold_config", "{\"trunk\": {}}",
         "esmfold_config: rotor reads ESM-2, and folds no proteins"},
        {"esm", "mask_token_id", "null", "token_dropout = true needs mask_token_id"},
        {"esm", "mask_token_id", "33", "mask_token_id must be a whole number from 0 to 32"},
        {"esm", "is_decoder", "true", "is_decoder = true: rotor reads ESM as an encoder"},
        {"esm", "rope_theta", "1", "rope_theta must be above 1; got 1"},
        {"esm", "architectures", "[\"EsmForProteinFolding\"]",
         "architectures must be EsmForMaskedLM, "},
        {"modernbert_classify", "classifier_pooling", "\"max\"",
         "classifier_pooling must be cls or mean: rotor has no other; got 'max'"},
        {"modernbert", "is_decoder", "true",
         "is_decoder = true: windows of a ModernBERT are symmetric"},
        {"modernbert", "hidden_activation", "\"relu\"",
         "hidden_activation must be gelu or silu: rotor has no other gates; got 'relu'"},
        {"modernbert", "classifier_activation", "\"laplace\"",
         "classifier_activation must be gelu"},
        {"modernbert", "mlp_bias", "true",
         "attention_bias, mlp_bias, classifier_bias = false, true, false: rotor has biases in all "
         "maps of a model, in the last one alone or in none"},
        {"modernbert_old", "classifier_bias", "false",
         "attention_bias, mlp_bias, classifier_bias = true, true, false: rotor"},
        {"modernbert", "local_attention", "-1", "local_attention must be a whole number from 0"},
        {"modernbert", "layer_types", "[\"full_attention\"]",
         "layer_types must be a list of 3, num_hidden_layers"},
        {"modernbert", "rope_parameters", "{\"rope_theta\": 100}",
         "rope_parameters must be an object with full_attention and sliding_attention"},
        {"modernbert", "rope_parameters", "{\"full_attention\": {\"rope_theta\": 1}}",
         "rope_parameters.full_attention.rope_theta must be above 1; got 1"},
        {"modernbert", "rope_parameters",
         "{\"sliding_attention\": {\"rope_type\": \"linear\", \"factor\": 2}}",
         "rope_parameters: full_attention and sliding_attention must have one scaling: rotor has "
         "one for all layers"},
        {"modernbert", "rope_parameters", "{\"sliding_attention\": {\"rope_type\": \"linear\"}}",
         "rope_parameters.sliding_attention.factor is missing"},
        {"modernbert_old", "global_rope_theta", "0.5", "rope_theta must be above 1; got 0.5"},
    };
    make_scratch();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const rt_status status = open_with(refused[i].name, refused[i].key, refused[i].value);
        ck_assert_msg(status.code == RT_CHECKPOINT && strstr(status.message, refused[i].message),
                      "%s, %s = %s: '%s' expected, got '%s'", refused[i].name, refused[i].key,
                      refused[i].value, refused[i].message, status.message);
    }
    rt_status status = open_with("gpt_neox", "use_cache", "");
    ck_assert_msg(!status.code, "%s", status.message);
    status = open_with("esm", "emb_layer_norm_before", "");
    ck_assert_msg(!status.code, "%s", status.message);
    remove_scratch();
}
