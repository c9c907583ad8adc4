/* Decoders of Hugging Face, whose parameters are put in by name, against what its transformers
 * compute of them: the blocks that model.kind = decoder is made of, with every scaling of theta.
 * ROTOR_LLAMA=DIR goes through another folder of the same layout. */

#define FIXTURES_VARIABLE "ROTOR_LLAMA"
#define FIXTURES_FOLDER   "llama"
#include "huggingface/fixtures.h"
#include "reference/reference.h"
#include "suite.h"

#include "core/memory.h"
#include "models/roformer.h"
#include "train/huggingface/safetensors.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

typedef struct decoder_case {
    reference *r;
    rt_roformer *model;
    rt_roformer_input input;
    int32_t *labels; /* where they are predicted */
    int label_count;
} decoder_case;

/* ---- making it ---- */

static int whole(const json_t *config, const char *name)
{
    const json_t *value = json_object_get(config, name);
    return json_is_integer(value) ? (int)json_integer_value(value) : 0;
}

static bool is_true(const json_t *config, const char *name)
{
    return json_is_true(json_object_get(config, name));
}

static double number(const json_t *config, const char *name)
{
    const json_t *value = json_object_get(config, name);
    return json_is_number(value) ? json_number_value(value) : 0;
}

static rt_factors factors(const json_t *config, const char *name)
{
    const json_t *list = json_object_get(config, name);
    rt_factors all = {.count = (int)json_array_size(list)};
    for (int i = 0; i < all.count && i < RT_MOST_FACTORS; i++)
        all.at[i] = json_number_value(json_array_get(list, (size_t)i));
    return all;
}

/* rope_parameters, or rope_theta and rope_scaling as versions before 5 have them. */
static rt_frequency_options read_frequencies(const json_t *c)
{
    static const char *const names[] = {RT_SCALINGS(RT_CHOICE_WORD)};
    const json_t *rope = json_object_get(c, "rope_parameters");
    const json_t *scaling = rope ? rope : json_object_get(c, "rope_scaling");
    const double base = number(rope ? rope : c, "rope_theta");
    const char *type = json_string_value(json_object_get(scaling, "rope_type"));
    const int original = whole(scaling, "original_max_position_embeddings");
    rt_frequency_options o = {
        .base = base > 0 ? base : 10000,
        .scale = number(scaling, "factor") > 0 ? number(scaling, "factor") : 1,
        .original_len = original ? original : whole(c, "max_position_embeddings"),
        .beta_fast = number(scaling, "beta_fast"),
        .beta_slow = number(scaling, "beta_slow"),
        .low_freq_factor = number(scaling, "low_freq_factor"),
        .high_freq_factor = number(scaling, "high_freq_factor"),
        .attention_factor = number(scaling, "attention_factor"),
        .short_factors = factors(scaling, "short_factor"),
        .long_factors = factors(scaling, "long_factor"),
    };
    bool known = !type || !strcmp(type, "default");
    for (int i = 0; type && i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(type, names[i])) {
            o.scaling = (rt_scaling)i;
            known = true;
        }
    ck_assert_msg(known, "scaling %s", type);
    return o;
}

static rt_roformer_options read_options(const char *name)
{
    char path[PATH_OF_FIXTURE];
    json_t *c = json_load_file(fixture_path(path, name, "hf/config.json"), 0, NULL);
    ck_assert_msg(c != NULL, "%s cannot be read", path);
    ck_assert_str_eq(json_string_value(json_object_get(c, "hidden_act")), "silu");
    ck_assert_int_eq(is_true(c, "attention_bias"), is_true(c, "mlp_bias"));
    const rt_roformer_options o = {
        .kind = RT_KIND_DECODER,
        .vocab = whole(c, "vocab_size"),
        .layers = whole(c, "num_hidden_layers"),
        .dim = whole(c, "hidden_size"),
        .heads = whole(c, "num_attention_heads"),
        .kv_heads = whole(c, "num_key_value_heads"),
        .ffn_dim = whole(c, "intermediate_size"),
        .norm = RT_NORM_PRE,
        .norm_kind = RT_NORM_RMS,
        .norm_eps = json_number_value(json_object_get(c, "rms_norm_eps")),
        .ffn = RT_FFN_SWIGLU,
        .bias = is_true(c, "mlp_bias") ? RT_BIAS_YES : RT_BIAS_NO,
        .causal = true,
        .window = whole(c, "sliding_window"),
        .tie_embeddings = is_true(c, "tie_word_embeddings"),
        .position = {.pairing = RT_HALF, .frequencies = read_frequencies(c), .fraction = 1},
    };
    json_decref(c);
    return o;
}

/* The name that a parameter has in transformers. */
static void name_there(char *there, size_t size, const char *here)
{
    static const char *const layer[][2] = {
        {"attention.self.query", "self_attn.q_proj"},
        {"attention.self.key", "self_attn.k_proj"},
        {"attention.self.value", "self_attn.v_proj"},
        {"attention.output.dense", "self_attn.o_proj"},
        {"attention.output.LayerNorm", "input_layernorm"},
        {"intermediate.gate", "mlp.gate_proj"},
        {"intermediate.dense", "mlp.up_proj"},
        {"output.dense", "mlp.down_proj"},
        {"output.LayerNorm", "post_attention_layernorm"},
    };
    static const char *const other[][2] = {
        {"roformer.embeddings.word_embeddings.weight", "model.embed_tokens.weight"},
        {"roformer.encoder.LayerNorm.weight", "model.norm.weight"},
        {"cls.predictions.decoder.weight", "lm_head.weight"},
    };
    int l, end = 0;
    *there = '\0';
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!strcmp(here, other[i][0]))
            snprintf(there, size, "%s", other[i][1]);
    if (sscanf(here, "roformer.encoder.layer.%d.%n", &l, &end) == 1 && end)
        for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
            if (!strncmp(here + end, layer[i][0], strlen(layer[i][0])))
                snprintf(there, size, "model.layers.%d.%s%s", l, layer[i][1],
                         here + end + strlen(layer[i][0]));
    ck_assert_msg(*there, "%s has no name in transformers", here);
}

/* Every tensor of the file is a parameter, and the other way round. */
static void load_weights(const decoder_case *c, const char *name)
{
    const rt_parameters *p = &c->model->parameters;
    char path[PATH_OF_FIXTURE], there[128];
    rt_safetensors *file;
    rt_status status = rt_safetensors_open(&file, fixture_path(path, name, "hf/model.safetensors"));
    check_status(c->r, status, path);
    for (int i = 0; i < p->count; i++) {
        rt_tensor *tensor = &p->list[i]->tensor;
        name_there(there, sizeof there, p->list[i]->name);
        const rt_safetensor *t = rt_safetensors_find(file, there);
        ck_assert_msg(t && t->count == rt_size(tensor), "%s: %s for %s %s", name, there,
                      p->list[i]->name, rt_shape_text(tensor));
        check_status(c->r, rt_safetensors_reals(file, t, 0, rt_size(tensor), tensor->data), there);
    }
    ck_assert_ptr_null(rt_safetensors_at(file, (size_t)p->count));
    rt_safetensors_close(file);
}

/* To 1e-12 of the published formulas, whatever the precision of the build. */
static void check_theta(const decoder_case *c, int T)
{
    const array theta = reference_array(c->r, "theta");
    const double factor = reference_array(c->r, "attention_scaling").values[0];
    const rt_frequency_options *o = &c->model->options.position.frequencies;
    double own[RT_MOST_FACTORS];
    ck_assert_int_eq((int)theta.size, rt_roformer_pairs(&c->model->options));
    rt_frequencies_at(own, (int)theta.size, o, T);
    for (size_t i = 0; i < theta.size; i++)
        ck_assert_msg(fabs(own[i] - theta.values[i]) <= 1e-12 * theta.values[i],
                      "theta %zu is %.17g instead of %.17g", i, own[i], theta.values[i]);
    ck_assert_double_eq_tol(rt_frequencies_magnitude(o), factor, 1e-12 * factor);
}

static decoder_case make_case(reference *r, const char *name)
{
    decoder_case c = {.r = r};
    const rt_roformer_options options = read_options(name);
    check_status(r, rt_roformer_new(&c.model, &options, 1, NULL), name);
    load_weights(&c, name);
    const array ids = reference_array(r, "inputs/input_ids");
    check_theta(&c, ids.axis[1]);
    const array labels = reference_array(r, "inputs/labels");
    check_size(r, labels, ids.size, "inputs/labels");
    const int T = ids.axis[1];
    c.input = (rt_roformer_input){.B = ids.axis[0],
                                  .T = T,
                                  .ids = reference_ids(r, ids),
                                  .padding_id = RT_NO_PADDING};
    c.labels = reference_ids(r, labels);
    for (int i = 0; i < (int)labels.size; i++) {
        c.labels[i] = i % T + 1 < T ? c.labels[i + 1] : RT_IGNORE;
        c.label_count += c.labels[i] != RT_IGNORE;
    }
    return c;
}

/* ---- comparing it ---- */

static void check_case(decoder_case *c)
{
    const rt_parameters *p = &c->model->parameters;
    rt_graph *g = c->r->graph;
    rt_tensor *logits = rt_roformer_logits(c->model, g, rt_roformer_encode(c->model, g, &c->input));
    rt_tensor *loss = rt_cross_entropy(g, logits, c->labels, 0, c->label_count);
    check_status(c->r, rt_graph_backward(g, loss), "backward");
    check_values(c->r, logits->data, rt_size(logits), reference_array(c->r, "logits"),
                 VALUE_TOLERANCE, "logits");
    check_values(c->r, loss->data, 1, reference_array(c->r, "loss"), VALUE_TOLERANCE, "loss");
    for (int i = 0; i < p->count && sizeof(real) == sizeof(double); i++) {
        char there[128];
        name_there(there, sizeof there, p->list[i]->name);
        check_gradient(c->r, p->list[i]->tensor.grad, rt_size(&p->list[i]->tensor),
                       reference_array(c->r, "grads/%s", there), "gradient of %s", there);
    }
    ck_assert_int_eq(reference_members(c->r, "grads").count, p->count);
    c->r->cases++;
}

START_TEST(a_decoder_is_what_transformers_compute)
{
    char path[PATH_OF_FIXTURE];
    fixtures all;
    list_fixtures(&all);
    for (int i = 0; i < all.count; i++) {
        const char *name = all.names[i];
        reference r = reference_open_at(name, fixture_path(path, name, "reference.h5"));
        decoder_case c = make_case(&r, name);
        check_case(&c);
        rt_roformer_free(c.model);
        reference_close(&r);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("llama");
    TCase *tests = leak_checked_case(suite, "decoder");
    tcase_add_test(tests, a_decoder_is_what_transformers_compute);
    return run_suite(suite);
}
