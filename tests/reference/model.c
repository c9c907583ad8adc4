#include "reference.h"

#include "io/huggingface/family.h"
#include "models/transformer.h"
#include "optim/optimizer.h"

/* One model of a file: at the root ("") or in a group ("causal_lm/"). */
typedef struct model_case {
    const char *at;    /* prefix of paths */
    const char *group; /* that the configuration's attributes are on */
    rt_transformer *model;
    rt_folder_tensors names; /* of its parameters */
    rt_transformer_input input;
    int32_t *labels; /* shifted to where they are predicted, one per row of logits */
    int label_count;
} model_case;

/* The files name parameters as the RoFormer's family does. Returns the one with that name, or that
 * is `wanted`; NULL if there is none. */
static const rt_folder_tensor *find_parameter(const model_case *c, const rt_parameter *wanted,
                                              const char *name)
{
    for (int i = 0; i < c->names.count; i++) {
        const rt_folder_tensor *t = c->names.list + i;
        if (!t->row->written && (name ? !strcmp(t->name, name) : t->stacked[0].parameter == wanted))
            return t;
    }
    return NULL;
}

static const char *name_of(const model_case *c, const rt_parameter *p)
{
    const rt_folder_tensor *found = find_parameter(c, p, NULL);
    ck_assert_msg(found != NULL, "%s has no name there", p->name);
    return found->name;
}

static const rt_parameter *find_named(const model_case *c, const char *name)
{
    const rt_folder_tensor *found = find_parameter(c, NULL, name);
    return found ? found->stacked[0].parameter : NULL;
}

static int whole(const reference *r, const model_case *c, const char *attribute)
{
    return (int)reference_number(r, c->group, attribute);
}

static rt_transformer_options read_options(const reference *r, const model_case *c, bool tied)
{
    const bool lm = reference_says(r, c->group, "architecture", "RoFormerForMaskedLM") ||
                    reference_says(r, c->group, "architecture", "RoFormerForCausalLM");
    const bool token =
        reference_says(r, c->group, "architecture", "RoFormerForTokenClassification");
    ck_assert_msg(reference_says(r, c->group, "hidden_act", "gelu"), "%s: hidden_act is not gelu",
                  r->name);
    return (rt_transformer_options){
        .vocab = whole(r, c, "vocab_size"),
        .token_types = whole(r, c, "type_vocab_size"),
        .layers = whole(r, c, "num_hidden_layers"),
        .dim = whole(r, c, "hidden_size"),
        .heads = whole(r, c, "num_attention_heads"),
        .embedding_dim = whole(r, c, "embedding_size"),
        .ffn_dim = whole(r, c, "intermediate_size"),
        .norm_eps = reference_number(r, c->group, "layer_norm_eps"),
        .causal = whole(r, c, "is_decoder") != 0,
        .head = lm      ? RT_HEAD_LM
                : token ? RT_HEAD_TOKEN
                        : RT_HEAD_SEQUENCE,
        .labels = whole(r, c, "num_labels"),
        .tie_embeddings = tied,
        .position = {.frequencies = {.base = 10000},
                     .fraction = 1,
                     .rotate_value = whole(r, c, "rotary_value") != 0},
    };
}

/* Every parameter comes from the file, and the file has no other but copies of tied ones and
 * the frozen table of positions. */
static void load_weights(reference *r, model_case *c)
{
    const rt_parameters *p = &c->model->parameters;
    char path[256];
    for (int i = 0; i < p->count; i++) {
        array a = reference_array(r, "%sweights/%s", c->at, name_of(c, p->list[i]));
        ck_assert_msg(a.size == rt_size(&p->list[i]->tensor), "%s: weights/%s has another size",
                      r->name, p->list[i]->name);
        for (size_t k = 0; k < a.size; k++)
            p->list[i]->tensor.data[k] = (real)a.values[k];
    }
    snprintf(path, sizeof path, "%sweights", c->at);
    name_list names = reference_members(r, path);
    for (int i = 0; i < names.count; i++) {
        snprintf(path, sizeof path, "%sweights/%s", c->at, names.names[i]);
        ck_assert_msg(find_named(c, names.names[i]) || strstr(names.names[i], "embed_positions") ||
                          H5Aexists_by_name(r->file, path, "tied_to", H5P_DEFAULT) > 0,
                      "%s: %s is no parameter of the model", r->name, path);
    }
}

/* In a causal model the logits of token t predict token t + 1. */
static void place_labels(reference *r, model_case *c, array a)
{
    const int T = a.axis[a.ndim - 1];
    const bool per_sequence = c->model->options.head == RT_HEAD_SEQUENCE;
    check_size(r, a, (size_t)c->input.B * (size_t)(per_sequence ? 1 : c->input.T), "labels");
    int32_t *labels = reference_ids(r, a);
    c->label_count = 0;
    for (int i = 0; c->model->options.causal && i < (int)a.size; i++)
        labels[i] = i % T + 1 < T ? labels[i + 1] : RT_IGNORE;
    for (size_t i = 0; i < a.size; i++)
        c->label_count += labels[i] != RT_IGNORE;
    c->labels = labels;
}

static int32_t *read_ids(reference *r, size_t size, const char *at, const char *name)
{
    array a = reference_array(r, "%sinputs/%s", at, name);
    check_size(r, a, size, name);
    return reference_ids(r, a);
}

static model_case make_model(reference *r, const char *at, bool tied)
{
    char group[128];
    model_case c = {.at = at, .group = "/"};
    if (*at) {
        snprintf(group, sizeof group, "%.*s", (int)strlen(at) - 1, at);
        c.group = group;
    }
    rt_transformer_options options = read_options(r, &c, tied);
    check_status(r, rt_transformer_new(&c.model, &options, 1, NULL), "model");
    c.group = NULL; /* not needed from here on */
    check_status(r,
                 rt_folder_tensors_new(&c.names, &rt_family_roformer, &c.model->options, c.model,
                                       -1),
                 "names");
    load_weights(r, &c);
    array ids = reference_array(r, "%sinputs/input_ids", at);
    c.input = (rt_transformer_input){.B = ids.axis[0],
                                     .T = ids.axis[1],
                                     .ids = reference_ids(r, ids),
                                     .token_types = read_ids(r, ids.size, at, "token_type_ids"),
                                     .padding_id = RT_NO_PADDING};
    c.input.key_mask = reference_mask(r, ids.size, "%sinputs/attention_mask", at);
    place_labels(r, &c, reference_array(r, "%sinputs/labels", at));
    return c;
}

static void free_model(model_case *c)
{
    rt_folder_tensors_free(&c->names);
    rt_transformer_free(c->model);
}

static rt_tensor *run(reference *r, model_case *c, rt_tensor **logits)
{
    rt_graph_clear(r->graph);
    *logits = rt_transformer_forward(c->model, r->graph, &c->input);
    rt_tensor *loss = rt_cross_entropy(r->graph, *logits, c->labels, 0, c->label_count);
    check_status(r, rt_graph_status(r->graph), "forward");
    return loss;
}

static void differentiate(reference *r, model_case *c)
{
    rt_tensor *logits;
    rt_parameters_zero_grads(&c->model->parameters);
    check_status(r, rt_graph_backward(r->graph, run(r, c, &logits)), "backward");
}

static const rt_tensor *parameter(const model_case *c, const char *name)
{
    return &find_named(c, name)->tensor;
}

static void check_forward(reference *r, model_case *c)
{
    const int L = c->model->options.layers, H = c->model->options.heads;
    const size_t weights = (size_t)(c->input.B * H * c->input.T) * (size_t)c->input.T;
    rt_tensor **states = rt_arena_take(&r->memory, (size_t)(L + 1) * sizeof(rt_tensor *));
    real **attentions = rt_arena_take(&r->memory, (size_t)L * sizeof(real *)), *all;
    rt_tensor *logits;
    char path[256];
    all = rt_arena_take(&r->memory, (size_t)L * weights * sizeof *all);
    for (int l = 0; l < L; l++)
        attentions[l] = all + (size_t)l * weights;
    c->input.hidden_states = states;
    c->input.attentions = attentions;
    rt_tensor *loss = run(r, c, &logits);
    snprintf(path, sizeof path, "%sexpected", c->at);
    check_output(r, logits, path, "logits");
    check_output(r, loss, path, "loss");
    check_output(r, states[L], path, "last_hidden_state");
    for (int l = 0; l <= L && reference_has(r, "%sexpected/hidden_states", c->at); l++)
        check_values(r, states[l]->data, rt_size(states[l]),
                     reference_array(r, "%sexpected/hidden_states/%d", c->at, l), VALUE_TOLERANCE,
                     "%shidden state %d", c->at, l);
    for (int l = 0; l < L && reference_has(r, "%sexpected/attentions", c->at); l++)
        check_values(r, attentions[l], weights,
                     reference_array(r, "%sexpected/attentions/%d", c->at, l), VALUE_TOLERANCE,
                     "%sattention %d", c->at, l);
    c->input.hidden_states = NULL;
    c->input.attentions = NULL;
    r->cases++;
}

/* Gradients are checked in double only. */
static bool exact(void)
{
    return sizeof(real) == sizeof(double);
}

static void check_gradients(reference *r, model_case *c)
{
    const rt_parameters *p = &c->model->parameters;
    char path[256];
    differentiate(r, c);
    for (int i = 0; i < p->count; i++)
        check_gradient(r, p->list[i]->tensor.grad, rt_size(&p->list[i]->tensor),
                       reference_array(r, "%sgrads/%s", c->at, name_of(c, p->list[i])),
                       "gradient of %s", p->list[i]->name);
    snprintf(path, sizeof path, "%sgrads", c->at);
    name_list names = reference_members(r, path);
    ck_assert_msg(names.count == p->count, "%s: %s has %d entries for %d parameters", r->name, path,
                  names.count, p->count);
    r->cases++;
}

/* Runs the model, and compares logits and loss with those of a group of the file. */
static void check_outputs(reference *r, model_case *c, const char *path)
{
    rt_tensor *logits, *loss = run(r, c, &logits);
    check_output(r, logits, path, "logits");
    check_output(r, loss, path, "loss");
}

/* Checks the same labels, mask and types with ids in which the padding id also stands for itself.
 */
static void check_padding_id(reference *r, model_case *c)
{
    static const char words[] = "roformer.embeddings.word_embeddings.weight";
    const int32_t *ids = c->input.ids;
    array other = reference_array(r, "padding_idx_case/input_ids");
    check_size(r, other, (size_t)c->input.B * (size_t)c->input.T, "padding_idx_case/input_ids");
    c->input.ids = reference_ids(r, other);
    check_outputs(r, c, "padding_idx_case");
    if (exact()) {
        differentiate(r, c);
        check_input(r, parameter(c, words), "padding_idx_case",
                    "grad_word_embeddings_no_padding_idx");
        c->input.padding_id = (int)reference_number(r, "/", "pad_token_id");
        differentiate(r, c);
        check_input(r, parameter(c, words), "padding_idx_case",
                    "grad_word_embeddings_padding_idx_0");
    }
    c->input.padding_id = RT_NO_PADDING;
    c->input.ids = ids;
    r->cases++;
}

static void check_untied(reference *r)
{
    model_case c = make_model(r, "", false);
    name_list names = reference_members(r, "grads_untied");
    differentiate(r, &c);
    for (int i = 0; i < names.count; i++) {
        ck_assert_msg(find_named(&c, names.names[i]) != NULL, "%s: grads_untied/%s is no parameter",
                      r->name, names.names[i]);
        check_input(r, parameter(&c, names.names[i]), "grads_untied", names.names[i]);
    }
    free_model(&c);
    r->cases++;
}

static void check_training(reference *r, model_case *c)
{
    const rt_parameters *p = &c->model->parameters;
    array loss = reference_array(r, "train/loss"), lr = reference_array(r, "train/lr");
    array norm = reference_array(r, "train/total_norm");
    check_size(r, loss, lr.size + 1, "train/loss");
    check_size(r, norm, lr.size, "train/total_norm");
    const rt_optimizer_settings settings = {.rule = RT_OPTIMIZER_ADAMW,
                                            .beta1 = reference_number(r, "train", "beta1"),
                                            .beta2 = reference_number(r, "train", "beta2"),
                                            .eps = reference_number(r, "train", "eps"),
                                            .weight_decay =
                                                reference_number(r, "train", "weight_decay"),
                                            .clip_norm =
                                                reference_number(r, "train", "clip_max_norm"),
                                            .theta_lr_scale = 1};
    rt_optimizer *optimizer;
    rt_tensor *logits;
    double size;
    check_status(r, rt_optimizer_new(&optimizer, &c->model->parameters, &settings), "optimizer");
    for (int t = 0; t < (int)lr.size; t++) {
        differentiate(r, c);
        check_number(r, (double)run(r, c, &logits)->data[0], loss.values[t], TRAJECTORY_TOLERANCE,
                     "loss in training");
        check_status(r, rt_optimizer_step(optimizer, lr.values[t], &size), "step");
        check_number(r, size, norm.values[t], TRAJECTORY_TOLERANCE, "norm of the gradient");
    }
    rt_optimizer_free(optimizer);
    check_number(r, (double)run(r, c, &logits)->data[0], loss.values[lr.size], TRAJECTORY_TOLERANCE,
                 "loss after training");
    for (int i = 0; i < p->count; i++)
        check_values(r, p->list[i]->tensor.data, rt_size(&p->list[i]->tensor),
                     reference_array(r, "train/final_params/%s", name_of(c, p->list[i])),
                     TRAJECTORY_TOLERANCE, "%s after training", p->list[i]->name);
    r->cases++;
}

void check_model_file(reference *r)
{
    model_case c = make_model(r, "", reference_number(r, "/", "tie_word_embeddings") != 0);
    check_forward(r, &c);
    const uint8_t *mask = c.input.key_mask;
    c.input.key_mask = NULL;
    check_outputs(r, &c, "no_mask");
    c.input.key_mask = mask;
    r->cases++;
    check_padding_id(r, &c);
    if (exact()) {
        check_gradients(r, &c);
        check_untied(r);
        check_training(r, &c);
    }
    free_model(&c);
}

void check_heads_case(reference *r, const char *name)
{
    char at[128];
    snprintf(at, sizeof at, "%s/", name);
    model_case c = make_model(r, at, true);
    check_forward(r, &c);
    if (exact())
        check_gradients(r, &c);
    free_model(&c);
}
