/* The family of the RoFormer (Su et al. 2021). */

#include "io/huggingface/private.h"

#include "core/memory.h"
#include "ops/ops.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>

/* ---- theta of a table of sines ---- */

static const double pi = 3.14159265358979323846;

static double sine_at(const rt_sine_table *t, int m, int i)
{
    return t->values[(size_t)m * 2 * (size_t)t->pairs + (size_t)i];
}

static double cosine_at(const rt_sine_table *t, int m, int i)
{
    return sine_at(t, m, t->pairs + i);
}

/* The relative error that rounding makes at most, with something to spare. A table of F64 is one
 * of floats that somebody has converted. */
static double rounding_of(rt_dtype dtype)
{
    switch (dtype) {
    case RT_DTYPE_BF16:
        return 1.01 / 256;
    case RT_DTYPE_F16:
        return 1.01 / 2048;
    default:
        return 1e-7;
    }
}

/* Returns the step to which numbers below the smallest normal number of a dtype are rounded. */
static double smallest_step(rt_dtype dtype)
{
    return dtype == RT_DTYPE_F16 ? ldexp(1, -24) : 1e-30;
}

/* ---- whether theta makes the table ---- */

static bool is_rounded(const rt_sine_table *t, double stored, double exact, double slack)
{
    const double allowed = rounding_of(t->dtype) * fabs(exact) + smallest_step(t->dtype) + slack;
    return fabs(stored - exact) <= allowed;
}

static bool is_narrow(const rt_sine_table *t)
{
    return t->dtype == RT_DTYPE_BF16 || t->dtype == RT_DTYPE_F16;
}

/* A narrow table is often rounded from one whose angles were computed as floats. */
static bool pair_is_of(const rt_sine_table *t, int i, double theta)
{
    const double slack = is_narrow(t) ? 2e-7 : 1e-15; /* radians a position */
    for (int m = 0; m < t->rows; m++)
        if (!is_rounded(t, sine_at(t, m, i), sin(m * theta), m * slack) ||
            !is_rounded(t, cosine_at(t, m, i), cos(m * theta), m * slack))
            return false;
    return true;
}

bool rt_sine_table_is_of(const rt_sine_table *table, const double *theta)
{
    for (int i = 0; i < table->pairs; i++)
        if (!pair_is_of(table, i, theta[i]))
            return false;
    return true;
}

/* ---- theta from the table ---- */

static double angle_at(const rt_sine_table *t, int m, int i)
{
    return atan2(sine_at(t, m, i), cosine_at(t, m, i));
}

/* The angle of row m that is nearest to m theta. */
static double unwrapped(const rt_sine_table *t, int m, int i, double theta)
{
    const double angle = angle_at(t, m, i);
    return angle + 2 * pi * round((m * theta - angle) / (2 * pi));
}

/* From the first row, which leaves no doubt of whole turns, to the last, each telling the turns of
 * the next; then the line through all angles, in which their rounding averages out. */
static double theta_of_pair(const rt_sine_table *t, int i)
{
    double theta = angle_at(t, 1, i), product = 0, squares = 0;
    if (theta < -pi / 2)
        theta += 2 * pi;
    for (int m = 2; m < t->rows; m++)
        theta = unwrapped(t, m, i, theta) / m;
    for (int m = 1; m < t->rows; m++) {
        product += m * unwrapped(t, m, i, theta);
        squares += (double)m * m;
    }
    return product / squares;
}

/* ---- a base ---- */

static bool is_geometric(const rt_sine_table *t, int rotated, double base, double *theta)
{
    rt_theta_geometric(theta, rotated, base);
    for (int i = 0; i < rotated; i++)
        if (!pair_is_of(t, i, theta[i]))
            return false;
    return true;
}

/* A table that was computed in another way than by rounding what is exact is still that of a base
 * if the theta that were read off it say so. */
static bool is_near(const double *found, const double *theta, int rotated)
{
    for (int i = 0; i < rotated; i++)
        if (!(fabs(found[i] / theta[i] - 1) <= 3e-7))
            return false;
    return true;
}

/* The base that the last pair tells, with so many digits; 0 if that is none. */
static double rounded_base(double base, int digits)
{
    char text[RT_NUMBER_SIZE];
    double rounder;
    snprintf(text, sizeof text, "%.*e", digits - 1, base);
    return isfinite(base) && rt_number_read(text, &rounder) && rounder > 1 ? rounder : 0;
}

/* 10000, or the roundest base that fits. */
static double find_base(const rt_sine_table *t, int rotated, const double *found, double *theta)
{
    const double ten_thousand = 10000;
    const int most_digits = is_narrow(t) ? 3 : 9;
    const double base = rotated > 1 && found[rotated - 1] > 0
                            ? pow(found[rotated - 1], -(double)rotated / (rotated - 1))
                            : 0;
    if (is_geometric(t, rotated, ten_thousand, theta))
        return ten_thousand;
    for (int near = 0; near < 2; near++)
        for (int digits = 0; digits <= most_digits; digits++) {
            const double rounder = digits ? rounded_base(base, digits) : ten_thousand;
            const bool fits = rounder > 1 && is_geometric(t, rotated, rounder, theta);
            if (fits || (near && rounder > 1 && is_near(found, theta, rotated)))
                return rounder;
        }
    return 0;
}

static rt_status check_rotations(const rt_sine_table *t, const char *name, const double *theta)
{
    const double tolerance = fmax(4 * rounding_of(t->dtype), 1e-3);
    for (int m = 0; m < t->rows; m++)
        for (int i = 0; i < t->pairs; i++) {
            const double off = fmax(fabs(sine_at(t, m, i) - sin(m * theta[i])),
                                    fabs(cosine_at(t, m, i) - cos(m * theta[i])));
            if (!(off <= tolerance))
                return rt_error(RT_CHECKPOINT,
                                "%s is not a table of sines and cosines: position %d, pair %d",
                                name, m, i);
        }
    return rt_ok();
}

rt_status rt_sine_table_theta(const rt_sine_table *t, const char *name, double *theta,
                              rt_table_theta *found)
{
    *found = (rt_table_theta){.rotated = t->pairs};
    for (int i = 0; i < t->pairs; i++)
        theta[i] = t->rows > 1 ? theta_of_pair(t, i) : pow(10000, -(double)i / t->pairs);
    rt_status status = check_rotations(t, name, theta);
    if (status.code)
        return status;
    while (found->rotated && fabs(theta[found->rotated - 1]) < 1e-12)
        theta[--found->rotated] = 0;
    double *geometric = rt_alloc((size_t)t->pairs, sizeof *geometric);
    if (!geometric)
        return rt_out_of_memory("theta");
    found->base = find_base(t, found->rotated, theta, geometric);
    for (int i = 0; i < found->rotated && found->base > 0; i++)
        theta[i] = geometric[i];
    rt_free(geometric);
    return rt_ok();
}

#define RT_HF_TABLE "roformer.encoder.embed_positions.weight"

/* ---- the table of sines: reading ----
 *
 * The folder has it beside the parameters, and transformers rotates by it. It is read for the theta
 * that it was made of, unless rotor_theta has them. */

static rt_status read_table(const rt_huggingface *there, rt_sine_table *table)
{
    const rt_weight w = rt_huggingface_tensor(there, RT_HF_TABLE);
    const rt_transformer_options *o = &there->options;
    const int size = rt_transformer_head_dim(o);
    char shape[RT_SHAPE_OF_FILE_SIZE];
    *table = (rt_sine_table){.rows = there->max_positions, .pairs = size / 2};
    if (w.tensor->axes != 2 || w.tensor->shape[0] != (uint64_t)table->rows ||
        w.tensor->shape[1] != (uint64_t)size)
        return rt_error(RT_CHECKPOINT,
                        "%s: %s is %s; max_position_embeddings and the heads' size make it (%d, "
                        "%d)",
                        rt_safetensors_name(w.file), w.tensor->name,
                        rt_safetensor_shape(w.tensor, shape), table->rows, size);
    table->dtype = w.tensor->dtype;
    table->values = rt_alloc_unset((size_t)w.tensor->count, sizeof *table->values);
    if (!table->values)
        return rt_out_of_memory("a table of sines");
    return rt_safetensors_doubles(w.file, w.tensor, 0, (size_t)w.tensor->count, table->values);
}

/* Takes what rotor has written if it makes this table: its numbers say more than the table, and it
 * can have more of them. */
static rt_status take_written(rt_huggingface *there, const rt_sine_table *table)
{
    const rt_written_theta *t = &there->files->written;
    double *mean = rt_alloc((size_t)table->pairs, sizeof *mean);
    if (!mean)
        return rt_out_of_memory("theta");
    rt_mean_theta(t->values, RT_SHAPE_OF(t->layers, t->rows, t->pairs), table->pairs, mean);
    rt_huggingface_choose_theta(there, !table->values || rt_sine_table_is_of(table, mean),
                                RT_HF_TABLE, "the table");
    rt_free(mean);
    return rt_ok();
}

static rt_status take_table(rt_huggingface *there, const rt_sine_table *table)
{
    rt_transformer_options *o = &there->options;
    rt_table_theta found;
    double *theta = rt_alloc((size_t)table->pairs, sizeof *theta);
    if (!theta)
        return rt_out_of_memory("theta");
    rt_status status = rt_sine_table_theta(table, RT_HF_TABLE, theta, &found);
    if (!status.code) {
        o->position.fraction = (double)found.rotated / table->pairs;
        o->theta.learn = !(found.base > 0);
        if (found.base > 0)
            o->position.frequencies.base = found.base;
    }
    if (status.code || !o->theta.learn) {
        rt_free(theta);
        return status;
    }
    o->theta.form = RT_THETA_LOG;
    for (int i = 0; i < found.rotated; i++)
        if (!(theta[i] > 0))
            o->theta.form = RT_THETA_RAW;
    there->theta = theta;
    return rt_ok();
}

static rt_status settle_theta(rt_huggingface *there)
{
    const rt_transformer_options *o = &there->options;
    rt_sine_table table = {.pairs = rt_transformer_head_dim(o) / 2};
    rt_status status = rt_ok();
    if (rt_huggingface_tensor(there, RT_HF_TABLE).tensor)
        status = read_table(there, &table);
    if (!status.code && there->files->written.values)
        status = take_written(there, &table);
    if (!status.code && !there->theta && table.values)
        status = take_table(there, &table);
    rt_free(table.values);
    return status;
}

/* ---- the table of sines: writing ---- */

/* The table of sines, (positions, 2 pairs). */
static void fill_sines(const void *context, size_t first, size_t count, float *values)
{
    const rt_export_theta *s = context;
    const size_t pairs = (size_t)s->pairs;
    for (size_t n = 0; n < count; n++) {
        const size_t column = (first + n) % (2 * pairs);
        const double position = (double)((first + n) / (2 * pairs));
        const double angle = position * s->mean[column % pairs];
        values[n] = (float)(column < pairs ? sin(angle) : cos(angle));
    }
}

static void make_table(rt_safetensors_entry *e, const rt_beside *from)
{
    e->axes = 2;
    e->shape[0] = from->positions;
    e->shape[1] = 2 * from->theta->pairs;
    e->fill = fill_sines;
    e->context = from->theta;
}

static const rt_family_class classes[] = {
    {"RoFormerForMaskedLM", RT_HEAD_LM, true, rt_when_bidirectional},
    {"RoFormerForCausalLM", RT_HEAD_LM, true, rt_when_causal},
    {"RoFormerForSequenceClassification", RT_HEAD_SEQUENCE, true, rt_when_pool_first},
    {"RoFormerForTokenClassification", RT_HEAD_TOKEN, true, NULL},
    {"RoFormerModel", RT_HEAD_LM, false, NULL},
    {0},
};

/* ---- tensors ---- */

/* A row of zeros, as transformers cannot be without token types. */
static void make_types(rt_safetensors_entry *e, const rt_beside *from)
{
    e->axes = 2;
    e->shape[0] = 1;
    e->shape[1] = from->options->embedding_dim;
}

#define LAYER "roformer.encoder.layer.N."
#define LM    "cls.predictions."
static const rt_tensor_row tensors[] = {
    {"roformer.embeddings.word_embeddings.weight", .here = {RT_TOKENS_NAME}},
    {"roformer.embeddings.token_type_embeddings.weight", .here = {RT_TYPES_NAME},
     .make = make_types},
    {"roformer.embeddings.LayerNorm", .here = {"embeddings.norm"}},
    {"roformer.embeddings_project", .here = {"embeddings.project"}},
    {RT_HF_TABLE, .spare = true, .make = make_table},
    {LAYER "attention.self.query", .here = {"layers.N.attention.query"}},
    {LAYER "attention.self.key", .here = {"layers.N.attention.key"}},
    {LAYER "attention.self.value", .here = {"layers.N.attention.value"}},
    {LAYER "attention.output.dense", .here = {"layers.N.attention.output"}},
    {LAYER "attention.output.LayerNorm", .here = {"layers.N.attention_norm"}},
    {LAYER "intermediate.dense", .here = {"layers.N.ffn.up"}},
    {LAYER "output.dense", .here = {"layers.N.ffn.down"}},
    {LAYER "output.LayerNorm", .here = {"layers.N.ffn_norm"}},
    {LM "transform.dense", .here = {"head.dense"}, .when = rt_when_lm},
    {LM "transform.LayerNorm", .here = {"head.norm"}},
    {LM "decoder.weight", .here = {RT_OUTPUT_NAME}, .when = rt_when_lm, .spare = true},
    /* of two biases, this is the one that is used */
    {LM "decoder.bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm,
     .written = rt_when_untied, .spare = true},
    {LM "bias", .here = {RT_OUTPUT_BIAS_NAME}, .when = rt_when_lm, .spare = true},
    {"classifier.dense", .here = {"head.dense"}, .when = rt_when_sequence},
    {"classifier.out_proj", .here = {"head.classifier"}, .when = rt_when_sequence},
    {"classifier", .here = {"head.classifier"}, .when = rt_when_token},
    {0},
};
#undef LAYER
#undef LM

/* ---- what it is ---- */

static const rt_option_row options[] = {
    {"model.kind", RT_IS, "roformer", "the layers of one"},
    {"model.norm_kind", RT_IS, "layer", "LayerNorm"},
    {"model.embedding_norm", RT_IS, "yes", "a norm over its embeddings"},
    {"model.ffn", RT_IS, "plain", "no gates"},
    {"model.bias", RT_IS, "all", "biases"},
    {"model.kv_heads", RT_SAME_AS, "model.heads", "keys for every head"},
    {"model.window", RT_IS, "0", "attention to all tokens"},
    {"model.qk_norm", RT_IS, "no", "no norms of queries and keys"},
    {"model.residual", RT_IS, "serial", "blocks one after the other"},
    {"position.layers", RT_IS, "", "positions in every layer"},
    {"position.xpos", RT_IS, "0", "no decay of its scores"},
    {"position.every", RT_IS, "1", "positions in every layer"},
    {"model.norm", RT_IS, "post", "its norms behind the blocks"},
    {"model.attention", RT_IS, "softmax", "softmax attention"},
    {"position.kind", RT_IS, "rope", "rotary positions"},
    {"position.scaling", RT_IS, "none", "no scaling of its frequencies"},
    {0},
};

const rt_config_word rt_roformer_activations[] = {
    {"gelu", RT_GELU},
    {"gelu_new", RT_GELU_TANH},
    {"relu", RT_RELU},
    {"tanh", RT_TANH},
    {"sigmoid", RT_SIGMOID},
    {"silu", RT_SILU},
    {"gelu_python", RT_GELU},
    {"gelu_pytorch_tanh", RT_GELU_TANH},
    {"gelu_fast", RT_GELU_TANH},
    {"swish", RT_SILU},
    {0},
};

static void put_types(rt_config_writing *w)
{
    const int types = w->options->token_types;
    rt_json_put(&w->object, "type_vocab_size", json_integer(types ? types : 1));
}

static void read_padding(rt_reading *r, rt_huggingface *there)
{
    const bool given = json_object_get(r->json, "pad_token_id") != NULL;
    const bool none = given && !rt_reading_find(r, "pad_token_id");
    there->padding_id =
        none ? RT_NO_PADDING : rt_reading_whole(r, "pad_token_id", 0, 0, there->options.vocab - 1);
}

/* Only a decoder attends by it. */
static void check_causal(rt_reading *r, rt_huggingface *there)
{
    const json_t *value = json_object_get(r->json, "is_causal");
    if (there->options.causal && value && !json_is_true(value))
        rt_reading_refuse(r, "is_causal must be true with is_decoder = true: a decoder of rotor "
                             "attends to no token behind its own");
}

/* The default of transformers, so that a short training leaves room for longer texts. */
int rt_roformer_rows(const rt_huggingface_export *export)
{
    enum { INITIAL = 1536 };
    const int rows = export->length > INITIAL ? export->length : INITIAL;
    return export->table_rows ? export->table_rows : rows;
}

static void put_positions(rt_config_writing *w)
{
    rt_json_put(&w->object, "max_position_embeddings", json_integer(rt_roformer_rows(w->export)));
}

static const rt_config_row config[] = {
    {"vocab_size", RT_SIZE(vocab), .initial = 50000},
    {"hidden_size", RT_SIZE(dim), .initial = 768},
    {"embedding_size", RT_SIZE(embedding_dim), .same_as = RT_MEMBER_OF(int, dim)},
    {"intermediate_size", RT_SIZE(ffn_dim), .initial = 3072},
    {"num_hidden_layers", RT_LAYERS, .initial = 12},
    {"num_attention_heads", RT_SIZE(heads), .initial = 12},
    {"type_vocab_size", RT_SIZE(token_types), .initial = 2, .put = put_types},
    {"max_position_embeddings", RT_POSITIONS(RT_MOST_SIZE), .initial = 1536, .put = put_positions},
    {"hidden_act", RT_WORD(activation, rt_roformer_activations), .reason = "rotor has no other",
     .wish = "no such function"},
    {"layer_norm_eps", RT_EPS(norm_eps), .initial = 1e-12},
    {"hidden_dropout_prob", RT_SHARE(dropout), .initial = 0.1},
    {"attention_probs_dropout_prob", RT_SHARE(attention_dropout), .initial = 0.1},
    {"initializer_range", RT_DEVIATION(init_std), .initial = RT_INIT_STD},
    {"rotary_value", RT_YES_OR_NO(position.rotate_value)},
    {"is_decoder", RT_YES_OR_NO(causal)},
    {"is_causal", .read = check_causal},
    {"tie_word_embeddings", RT_YES_OR_NO(tie_embeddings), .initial = true,
     .put = rt_config_put_tied},
    {"add_cross_attention", RT_MUST_BE("false"), .reason = RT_NO_CROSS_ATTENTION,
     .when = rt_always},
    {"pad_token_id", .read = read_padding, .put = rt_config_put_padding},
    {0},
};

/* ---- the model card ---- */

/* Python code that makes a model of transformers use theta of layers or heads. */
static const char own_theta[] =
    "```python\nimport torch\n\ndef use_own_theta(model):\n    theta = "
    "torch.tensor(model.config.rotor_theta[\"theta\"], dtype=torch.float64)\n    pairs = "
    "model.config.hidden_size // model.config.num_attention_heads // 2\n    theta = "
    "torch.nn.functional.pad(theta, (0, pairs - theta.shape[-1]))\n\n    def rotate_by(theta):\n   "
    "     def hook(module, args, kwargs):\n            table = args[2] if len(args) > 2 else "
    "kwargs[\"sinusoidal_pos\"]\n            positions = torch.arange(table.shape[-2], "
    "dtype=torch.float64)\n            angles = positions[None, :, None] * theta[:, None, :]\n     "
    "       own = torch.cat([angles.sin(), angles.cos()], -1)[None].to(table)\n            if "
    "len(args) > 2:\n                return (*args[:2], own, *args[3:]), kwargs\n            "
    "return args, {**kwargs, \"sinusoidal_pos\": own}\n        return hook\n\n    for layer, own "
    "in zip(model.base_model.encoder.layer, theta):\n        "
    "layer.attention.register_forward_pre_hook(rotate_by(own), with_kwargs=True)\n```\n";

/* ---- the family ---- */

static const char *const head_prefixes[] = {"cls.", "classifier.", NULL};

const rt_family rt_family_roformer = {
    .name = "RoFormer",
    .type = "roformer",
    .classes = classes,
    .prefix = "roformer.",
    .tensors = tensors,
    .head_prefixes = head_prefixes,
    .layer_tensors = 16,
    .pairing = RT_INTERLEAVED,
    .options = options,
    .config = config,
    .settle_theta = settle_theta,
    .shared_theta = "`encoder.embed_positions.weight` is its table, so transformers rotates by it "
                    "without any code.",
    .mean_theta = "transformers has one table for all: `encoder.embed_positions.weight` is made of "
                  "the mean, and is not what the model was trained with.",
    .own_theta = own_theta,
};
