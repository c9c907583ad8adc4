/* The family of GPT-NeoX (Black et al. 2022), which Pythia (Biderman et al. 2023) is of. */

#include "io/huggingface/private.h"

/* ---- tensors ---- */

#define LAYER "gpt_neox.layers.N."
static const rt_tensor_row tensors[] = {
    {"gpt_neox.embed_in.weight", .here = {RT_TOKENS_NAME}},
    {LAYER "input_layernorm", .here = {"layers.N.attention_norm"}},
    {LAYER "attention.query_key_value",
     .here = {"layers.N.attention.query", "layers.N.attention.key", "layers.N.attention.value"},
     .form = RT_BY_HEAD},
    {LAYER "attention.dense", .here = {"layers.N.attention.output"}},
    {LAYER "post_attention_layernorm", .here = {"layers.N.ffn_norm"}},
    {LAYER "mlp.dense_h_to_4h", .here = {"layers.N.ffn.up"}},
    {LAYER "mlp.dense_4h_to_h", .here = {"layers.N.ffn.down"}},
    {"gpt_neox.final_layer_norm", .here = {"norm"}},
    {"embed_out.weight", .here = {RT_OUTPUT_NAME}, .spare = true},
    {"lm_head.weight", .here = {RT_OUTPUT_NAME}, .written = rt_never, .spare = true},
    {"score", .here = {"head.classifier"}, .when = rt_when_sequence},
    {"classifier", .here = {"head.classifier"}, .when = rt_when_token},
    /* masks, which older versions saved with the weights */
    {LAYER "attention.bias", .spare = true},
    {LAYER "attention.masked_bias", .spare = true},
    {0},
};
#undef LAYER
static const char *const head_prefixes[] = {"embed_out.", "lm_head.", "score.", "classifier.",
                                            NULL};

/* ---- what it is ---- */

static const rt_option_row alike[] = {RT_DECODER_OPTIONS,
                                      RT_POSITIONS_EVERYWHERE,
                                      {"model.pool", RT_IS, "last", NULL}, /* see the classes */
                                      {0}};

static const rt_option_row options[] = {
    {"model.norm_kind", RT_IS, "layer", "LayerNorm"},
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.kv_heads", RT_SAME_AS, "model.heads", "keys for every head"},
    {"model.window", RT_IS, "0", "attention to all tokens"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    {"position.fraction", RT_ABOVE_0, NULL, "pairs that are rotated"},
    {0},
};

static rt_status check(const rt_family *family, const rt_transformer_options *o)
{
    if (o->bias != RT_BIAS_ALL && o->bias != RT_BIAS_FFN)
        return rt_cannot_export(family, "model.bias", o,
                                "biases in its feed-forward blocks, and in attention or not");
    const rt_status status = rt_check_head_dim(family, o);
    return status.code ? status : rt_rope_parameters_check(family, o);
}

/* ---- config.json ---- */

static const rt_config_row config[] = {
    RT_SIZES(50432, 6144, 24576, 44, 64),
    {"hidden_act", RT_WORD(activation, rt_roformer_activations), .reason = "rotor has no other",
     .wish = "no such function"},
    {"layer_norm_eps", RT_EPS(norm_eps), .initial = 1e-5},
    {"hidden_dropout", RT_SHARE(dropout)},
    {"attention_dropout", RT_SHARE(attention_dropout)},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"use_parallel_residual", RT_SWITCH(residual, RT_RESIDUAL_SERIAL, RT_RESIDUAL_PARALLEL),
     .initial = true},
    {"attention_bias", RT_SWITCH(bias, RT_BIAS_FFN, RT_BIAS_ALL), .initial = true},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings)},
    {"pad_token_id", .read = rt_config_read_padding, .put = rt_config_put_special_ids},
    {"head_dim", .read = rt_config_check_head_dim},
    RT_CAUSAL,
    RT_ROPE_PARAMETERS_BASED(2048, "rotary_emb_base", "rotary_pct"),
    {0},
};

/* ---- the model card ---- */

/* Queries and keys are rotated as they come out of their matrix. */
/* clang-format off */
static const char own_theta[] =
    "```python\n"
    "import torch\n"
    "\n"
    "def use_own_theta(model):\n"
    "    theta = torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n"
    "    scale = model.base_model.rotary_emb.attention_scaling\n"
    "\n"
    "    def own_rotation(attention, theta):\n"
    "        size = attention.head_size\n"
    "        half = theta.shape[-1]\n"
    "        place = {}\n"
    "\n"
    "        def before(module, args, kwargs):\n"
    "            cos, sin = kwargs[\"position_embeddings\"]\n"
    "            angles = torch.arange(cos.shape[-2], dtype=torch.float64)[:, None, None] * theta\n"
    "            place[\"cos\"] = (angles.cos() * scale).to(cos)\n"
    "            place[\"sin\"] = (angles.sin() * scale).to(sin)\n"
    "            none = torch.ones_like(cos), torch.zeros_like(sin)\n"
    "            return args, {**kwargs, \"position_embeddings\": none}\n"
    "\n"
    "        def turn(heads):\n"
    "            first, second, rest = heads.split([half, half, size - 2 * half], -1)\n"
    "            cos, sin = place[\"cos\"], place[\"sin\"]\n"
    "            return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)\n"
    "\n"
    "        def rotate(module, args, x):\n"
    "            query, key, value = x.unflatten(-1, (-1, 3 * size)).chunk(3, -1)\n"
    "            return torch.cat([turn(query), turn(key), value], -1).flatten(-2)\n"
    "\n"
    "        attention.register_forward_pre_hook(before, with_kwargs=True)\n"
    "        attention.query_key_value.register_forward_hook(rotate)\n"
    "\n"
    "    for layer, own in zip(model.base_model.layers, theta):\n"
    "        own_rotation(layer.attention, own)\n"
    "```\n";
/* clang-format on */

/* ---- the family ---- */

const rt_family rt_family_gpt_neox = {
    .name = "GPT-NeoX",
    .type = "gpt_neox",
    .classes = RT_DECODER_CLASSES("GPTNeoX"),
    .prefix = "gpt_neox.",
    .tensors = tensors,
    .head_prefixes = head_prefixes,
    .layer_tensors = 10,
    .rope = {.base = 10000,
             .fraction = 0.25,
             .old_base = "rotary_emb_base",
             .old_fraction = "rotary_pct"},
    .pairing = RT_HALF,
    .pairs_rotated = true,
    .alike = alike,
    .options = options,
    .config = config,
    .unused = RT_KEYS("is_decoder", "rope_theta", "partial_rotary_factor"),
    .check = check,
    .settle_theta = rt_rope_parameters_settle,
    .shared_theta = rt_rope_parameters_shared,
    .mean_theta = rt_rope_parameters_mean,
    .own_theta = own_theta,
};
