/* The family of ESM-2 (Lin et al. 2023), an encoder of proteins. */

#include "io/huggingface/private.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

/* ---- tensors ---- */

/* A head that predicts contacts from attention: transformers draws it where it is missing. */
static void make_contacts(rt_safetensors_entry *e, const rt_beside *from)
{
    e->axes = 2;
    e->shape[0] = 1;
    e->shape[1] = from->options->layers * from->options->heads;
}

static void make_contact_bias(rt_safetensors_entry *e, const rt_beside *from)
{
    (void)from;
    e->axes = 1;
    e->shape[0] = 1;
}

static void fill_theta(const void *context, size_t first, size_t count, float *values)
{
    const rt_export_theta *theta = context;
    for (size_t n = 0; n < count; n++)
        values[n] = (float)theta->mean[first + n];
}

/* By which transformers rotates, whatever rope_theta is. */
static void make_theta(rt_safetensors_entry *e, const rt_beside *from)
{
    e->axes = 1;
    e->shape[0] = from->theta->pairs;
    e->fill = fill_theta;
    e->context = from->theta;
}

/* A norm whose weight and bias transformers 5 calls gamma and beta. */
#define NORM(there_name, here_name)                                                                \
    {there_name, .here = {here_name}},                                                             \
        {there_name ".gamma", .here = {here_name ".weight"}, .written = rt_never},                 \
    {                                                                                              \
        there_name ".beta", .here = {here_name ".bias"}, .written = rt_never                       \
    }

#define LAYER    "esm.encoder.layer.N."
#define INV_FREQ "attention.self.rotary_embeddings.inv_freq"
static const rt_tensor_row tensors[] = {
    {"esm.embeddings.word_embeddings.weight", .here = {RT_TOKENS_NAME}},
    NORM("esm.embeddings.layer_norm", "embeddings.norm"),
    {LAYER "attention.self.query", .here = {"layers.N.attention.query"}},
    {LAYER "attention.self.key", .here = {"layers.N.attention.key"}},
    {LAYER "attention.self.value", .here = {"layers.N.attention.value"}},
    {LAYER INV_FREQ, .spare = true, .make = make_theta},
    {LAYER "attention.output.dense", .here = {"layers.N.attention.output"}},
    NORM(LAYER "attention.LayerNorm", "layers.N.attention_norm"),
    {LAYER "intermediate.dense", .here = {"layers.N.ffn.up"}},
    {LAYER "output.dense", .here = {"layers.N.ffn.down"}},
    NORM(LAYER "LayerNorm", "layers.N.ffn_norm"),
    NORM("esm.encoder.emb_layer_norm_after", "norm"),
    {"esm.contact_head.regression.weight", .spare = true, .make = make_contacts},
    {"esm.contact_head.regression.bias", .spare = true, .make = make_contact_bias},
    {"lm_head.dense", .here = {"head.dense"}, .when = rt_when_lm},
    NORM("lm_head.layer_norm", "head.norm"),
    {"lm_head.decoder.weight", .here = {RT_OUTPUT_NAME}, .when = rt_when_lm, .spare = true},
    {"lm_head.bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm, .spare = true},
    {"classifier.dense", .here = {"head.dense"}, .when = rt_when_sequence},
    {"classifier.out_proj", .here = {"head.classifier"}, .when = rt_when_sequence},
    {"classifier", .here = {"head.classifier"}, .when = rt_when_token},
    /* buffers, and what only other classes use */
    {"esm.embeddings.position_ids", .spare = true},
    {"esm.embeddings.position_embeddings.weight", .spare = true},
    {"esm.pooler.dense", .spare = true},
    {0},
};
#undef LAYER
static const char *const head_prefixes[] = {"lm_head.", "classifier.", NULL};

/* ---- what it is ---- */

static const rt_option_row options[] = {
    {"model.embedding_norm", RT_IS, "no", NULL},
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.activation", RT_IS, "gelu", "gelu"},
    {"model.bias", RT_IS, "all", "biases"},
    {"model.window", RT_IS, "0", "attention to all tokens"},
    {"model.classifier", RT_IS, "tanh", NULL}, /* see check */
    {"position.scaling", RT_IS, "none", "no scaling of its frequencies"},
    {0},
};

static rt_status check(const rt_family *family, const rt_transformer_options *o)
{
    if ((o->head == RT_HEAD_SEQUENCE && o->classifier != RT_CLASSIFIER_TANH) ||
        (o->head == RT_HEAD_TOKEN && o->classifier == RT_CLASSIFIER_NORM))
        return rt_cannot_export(family, "model.classifier", o,
                                "tanh in its head for labels of texts, and a matrix for those of "
                                "tokens");
    const rt_status status = rt_check_head_dim(family, o);
    if (status.code)
        return status;
    if (!o->theta.learn && (o->position.frequencies.family != RT_FREQUENCIES_GEOMETRIC ||
                            2 * rt_transformer_pairs(o) < o->head_dim))
        return rt_error(RT_CONFIG,
                        "position.frequencies and position.fraction cannot be exported: a fixed "
                        "theta of an %s of Hugging Face is geometric, of all pairs",
                        family->name);
    return rt_ok();
}

/* ---- theta ---- */

/* Compares one buffer of the folder with theta, if it is there. `numbers` is scratch memory for as
 * many pairs. */
static rt_status compare_buffer(const rt_huggingface *there, const char *name, const double *theta,
                                double *numbers, int pairs, bool *same)
{
    const rt_weight w = rt_huggingface_tensor(there, name);
    if (!w.tensor || !*same)
        return rt_ok();
    *same = w.tensor->count == (uint64_t)pairs;
    if (!*same)
        return rt_ok();
    rt_status status = rt_safetensors_doubles(w.file, w.tensor, 0, (size_t)pairs, numbers);
    *same = !status.code && rt_theta_is_near(theta, numbers, pairs);
    return status;
}

/* Compares inv_freq, by which transformers rotates, with theta in every layer. */
static rt_status compare_buffers(const rt_huggingface *there, const double *theta, double *numbers,
                                 int pairs, bool *same)
{
    static const char *const shared[] = {"esm.encoder.layer.*." INV_FREQ,
                                         "esm.rotary_embeddings.inv_freq"};
    rt_status status = rt_ok();
    *same = true;
    for (int l = 0; l < there->options.layers && !status.code; l++) {
        char name[RT_NAME_SIZE];
        snprintf(name, sizeof name, "esm.encoder.layer.%d." INV_FREQ, l);
        status = compare_buffer(there, name, theta, numbers, pairs, same);
    }
    for (size_t i = 0; i < sizeof shared / sizeof *shared && !status.code; i++)
        status = compare_buffer(there, shared[i], theta, numbers, pairs, same);
    return status;
}

/* rotor_theta, if inv_freq was made of it. Without it rope_theta holds, of which inv_freq, a buffer
 * that some folders have rounded, may differ. */
static rt_status choose_theta(rt_huggingface *there, double *theta, double *numbers, int pairs)
{
    const rt_written_theta *t = &there->files->written;
    bool same;
    if (t->values)
        rt_mean_theta(t->values, RT_SHAPE_OF(t->layers, t->rows, t->pairs), pairs, theta);
    else
        rt_frequencies(theta, pairs, &there->options.position.frequencies);
    rt_status status = compare_buffers(there, theta, numbers, pairs, &same);
    if (status.code)
        return status;
    if (!t->values && !same)
        rt_writer_add(&there->files->warnings,
                      "inv_freq is not what rope_theta makes it; rotor uses rope_theta\n");
    rt_huggingface_choose_theta(there, same, "inv_freq", "rope_theta");
    return status;
}

static rt_status settle(rt_huggingface *there)
{
    const int pairs = rt_transformer_head_dim(&there->options) / 2;
    double *theta = rt_alloc(2 * (size_t)pairs, sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    rt_status status = choose_theta(there, theta, theta + pairs, pairs);
    rt_free(theta);
    return status;
}

/* ---- config.json ---- */

static void read_base(rt_reading *r, rt_huggingface *there)
{
    const double base = rt_reading_above_0(r, "rope_theta", 10000);
    if (!(base > 1))
        rt_reading_refuse(r, "rope_theta must be above 1; got %g", base);
    there->options.position.frequencies.base = base;
}

static void put_base(rt_config_writing *w)
{
    rt_json_put(&w->object, "rope_theta", json_real(w->theta->base));
}

static void read_mask(rt_reading *r, rt_huggingface *there)
{
    rt_transformer_options *o = &there->options;
    if (o->token_dropout && !rt_reading_find(r, "mask_token_id"))
        rt_reading_refuse(r, "token_dropout = true needs mask_token_id");
    o->mask_id = rt_reading_whole(r, "mask_token_id", 0, 0, o->vocab - 1);
}

static void put_mask(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const int id = v ? v->special.mask : w->options->mask_id;
    rt_json_put(&w->object, "mask_token_id", id >= 0 ? json_integer(id) : json_null());
}

static const rt_config_word rotary[] = {{"rotary", 0}, {0}};

static void put_rotary(rt_config_writing *w)
{
    rt_json_put(&w->object, "position_embedding_type", json_string(rotary->word));
}

static void read_rotary(rt_reading *r, rt_huggingface *there)
{
    const char *type = rt_reading_word(r, "position_embedding_type");
    (void)there;
    if (strcmp(type, rotary->word) != 0)
        rt_reading_refuse(r,
                          "position_embedding_type must be rotary: rotor reads ESM-2, not ESM-1; "
                          "got '%.40s'",
                          *type ? type : "absolute");
}

static const rt_config_row config[] = {
    {"position_embedding_type", .read = read_rotary, .put = put_rotary},
    RT_SIZES(33, 768, 3072, 12, 12),
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_SIZE), .initial = 1026},
    {"layer_norm_eps", RT_EPS(norm_eps), .initial = 1e-12},
    {"emb_layer_norm_before",
     RT_SWITCH(embedding_norm, RT_EMBEDDING_NORM_NO, RT_EMBEDDING_NORM_YES)},
    {"token_dropout", RT_YES_OR_NO(token_dropout)},
    {"mask_token_id", .read = read_mask, .put = put_mask},
    {"hidden_dropout_prob", RT_SHARE(dropout), .initial = 0.1},
    {"attention_probs_dropout_prob", RT_SHARE(attention_dropout), .initial = 0.1},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"is_decoder", RT_MUST_BE("false"), .reason = "rotor reads ESM as an encoder",
     .when = rt_always},
    {"add_cross_attention", RT_MUST_BE("false"), .reason = RT_NO_CROSS_ATTENTION,
     .when = rt_always},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true,
     .put = rt_config_put_tied},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_padding},
    {"rope_theta", .read = read_base, .put = put_base},
    {"head_dim", .read = rt_config_check_head_dim},
    {0},
};

/* ---- the model card ---- */

/* Queries and keys are rotated as they come out of their maps. */
/* clang-format off */
static const char own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    size = model.config.hidden_size // model.config.num_attention_heads\n"
    "    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))\n"
    "\n"
    "    def own_rotation(attention, theta):\n"
    "        def before(module, args, kwargs):\n"
    "            cos, sin = kwargs[\"position_embeddings\"]\n"
    "            none = torch.ones_like(cos), torch.zeros_like(sin)\n"
    "            return args, {**kwargs, \"position_embeddings\": none}\n"
    "\n"
    "        def rotate(module, args, x):\n"
    "            heads = x.unflatten(-1, (-1, size))\n"
    "            angles = torch.arange(x.shape[1], dtype=torch.float64)[:, None, None] * theta\n"
    "            angles = torch.cat([angles, angles], -1)\n"
    "            first, second = heads.chunk(2, -1)\n"
    "            swapped = torch.cat([-second, first], -1)\n"
    "            return (heads * angles.cos().to(x) + swapped * angles.sin().to(x)).flatten(2)\n"
    "\n"
    "        attention.register_forward_pre_hook(before, with_kwargs=True)\n"
    "        attention.query.register_forward_hook(rotate)\n"
    "        attention.key.register_forward_hook(rotate)\n"
    "\n"
    "    for layer, own in zip(model.base_model.encoder.layer, theta):\n"
    "        own_rotation(layer.attention.self, own)\n"
    "```\n";
/* clang-format on */

/* ---- the family ---- */

const rt_family rt_family_esm = {
    .name = "ESM",
    .type = "esm",
    .classes = RT_ENCODER_CLASSES("Esm", rt_when_pool_first),
    .prefix = "esm.",
    .tensors = tensors,
    .head_prefixes = head_prefixes,
    .layer_tensors = 16,
    .pairing = RT_HALF,
    .alike = rt_encoder_options,
    .options = options,
    .config = config,
    .unused = RT_KEYS("is_causal", "hidden_act", "vocab_list"),
    .check = check,
    .settle_theta = settle,
    .shared_theta = "`inv_freq` of its layers is theta, so transformers rotates by it, to the "
                    "precision of a float, without any code.",
    .mean_theta = "transformers has one theta for all: `inv_freq` is made of the mean, and is not "
                  "what the model was trained with.",
    .own_theta = own_theta,
};
