/* Folders of Hugging Face against what its transformers compute of them, and files of safetensors
 * against what may be read. ROTOR_HUGGINGFACE=DIR goes through another folder of the same layout.
 */

#include "fixtures.h"
#include "folder_ini.h"
#include "reference/reference.h"
#include "suite.h"
#include "training/scratch.h"

#include "io/huggingface/family.h"
#include "io/huggingface/weights.h"
#include "models/transformer.h"
#include "text/csv.h"
#include "train/config/config.h"

#include <math.h>

static bool is_double(void)
{
    return sizeof(real) == sizeof(double);
}

/* ---- safetensors ---- */

TEST(a_safetensors_file_is_read_or_refused_as_its_format_says)
{
    char folder[PATH_OF_FIXTURE], path[PATH_OF_FIXTURE];
    rt_csv csv = {0};
    int count = 0, accepted = 0;
    NEEDS(exists(fixture_path(path, "safetensors", "expected.csv")), "safetensors/expected.csv");
    ck_assert(rt_csv_open(&csv, fixture_path(folder, "safetensors", ""), "expected.csv"));
    while (rt_csv_row(&csv)) {
        rt_safetensors *file;
        const char *name = rt_csv_cell(&csv, "file");
        const bool wanted = !strcmp(rt_csv_cell(&csv, "strict"), "accept");
        fixture_path(path, "safetensors", name);
        rt_status status = rt_safetensors_open(&file, path);
        ck_assert_msg((status.code == RT_OK) == wanted, "%s: %s expected, got '%s'", name,
                      wanted ? "read" : "refused", status.message);
        ck_assert_msg(wanted || (status.code == RT_CHECKPOINT && !file), "%s: %s", name,
                      status.message);
        ck_assert_msg(wanted || !strncmp(status.message, name, strlen(name)), "%s", status.message);
        rt_safetensors_close(file);
        count++;
        accepted += wanted;
    }
    rt_csv_close(&csv);
    ck_assert_int_gt(count, 0);
    printf("%d files of safetensors, %d of them are read\n", count, accepted);
}

/* ---- models ---- */

typedef struct hf_case {
    reference *r;
    rt_huggingface *there;
    rt_transformer *model;
    rt_transformer_input input;
    int32_t *labels; /* where they are predicted */
    int label_count;
} hf_case;

static void read_input(hf_case *c)
{
    array ids = reference_array(c->r, "inputs/input_ids");
    c->input = (rt_transformer_input){.B = ids.axis[0],
                                      .T = ids.axis[1],
                                      .ids = reference_ids(c->r, ids),
                                      .padding_id = c->there->padding_id};
    if (reference_has(c->r, "inputs/token_type_ids"))
        c->input.token_types = reference_ids(c->r, reference_array(c->r, "inputs/token_type_ids"));
    if (reference_has(c->r, "inputs/attention_mask")) {
        array a = reference_array(c->r, "inputs/attention_mask");
        uint8_t *mask = rt_arena_take(&c->r->memory, a.size);
        for (size_t i = 0; i < a.size; i++)
            mask[i] = a.values[i] != 0;
        c->input.key_mask = mask;
    }
}

/* In a causal language model the logits of token t predict token t + 1. */
static void read_labels(hf_case *c)
{
    if (!reference_has(c->r, "inputs/labels"))
        return;
    array a = reference_array(c->r, "inputs/labels");
    const int T = a.axis[a.ndim - 1];
    const bool causal = !strcmp(c->there->architecture, "RoFormerForCausalLM");
    c->labels = reference_ids(c->r, a);
    for (int i = 0; causal && i < (int)a.size; i++)
        c->labels[i] = i % T + 1 < T ? c->labels[i + 1] : RT_IGNORE;
    for (size_t i = 0; i < a.size; i++)
        c->label_count += c->labels[i] != RT_IGNORE;
}

static rt_tensor *logits_of(hf_case *c)
{
    rt_graph_clear(c->r->graph);
    return c->there->has_head ? rt_transformer_forward(c->model, c->r->graph, &c->input)
                              : rt_transformer_encode(c->model, c->r->graph, &c->input);
}

static void check_logits(hf_case *c, const char *group, double tolerance)
{
    rt_tensor *logits = logits_of(c);
    check_status(c->r, rt_graph_status(c->r->graph), "forward");
    check_values(c->r, logits->data, rt_size(logits), reference_array(c->r, "%slogits", group),
                 tolerance, "%slogits", group);
}

static rt_tensor *check_loss(hf_case *c, const char *group, double tolerance)
{
    rt_tensor *loss = rt_cross_entropy(c->r->graph, logits_of(c), c->labels, 0, c->label_count);
    check_status(c->r, rt_graph_status(c->r->graph), "loss");
    check_values(c->r, loss->data, 1, reference_array(c->r, "%sloss", group), tolerance, "%sloss",
                 group);
    return loss;
}

/* The gradient of a parameter by its name there: a decoder's bias has two. */
static const rt_parameter *parameter_of(const hf_case *c, const char *name)
{
    const rt_family *f = &rt_family_roformer;
    const rt_parameters *p = &c->model->parameters;
    const size_t prefix = strlen(f->prefix);
    rt_tensor_place place;
    for (int i = 0; i < p->count; i++)
        for (int n = 0; rt_tensor_place_of(&place, f, &c->model->options, p->list[i]->name, n); n++)
            if (!strcmp(place.name, name) ||
                (!strncmp(place.name, f->prefix, prefix) && !strcmp(place.name + prefix, name)))
                return p->list[i];
    return NULL;
}

static void check_gradients(hf_case *c)
{
    const rt_parameters *p = &c->model->parameters;
    rt_parameters_zero_grads(&c->model->parameters);
    check_status(c->r, rt_graph_backward(c->r->graph, check_loss(c, "", VALUE_TOLERANCE)),
                 "backward");
    name_list names = reference_members(c->r, "grads");
    for (int i = 0; i < names.count; i++) {
        const rt_parameter *parameter = parameter_of(c, names.names[i]);
        ck_assert_msg(parameter != NULL, "%s: grads/%s is no parameter", c->r->name,
                      names.names[i]);
        check_gradient(c->r, parameter->tensor.grad, rt_size(&parameter->tensor),
                       reference_array(c->r, "grads/%s", names.names[i]), "gradient of %s",
                       names.names[i]);
    }
    int own = 0;
    for (int i = 0; i < p->count; i++)
        own += p->list[i]->role == RT_ROLE_THETA;
    ck_assert_int_eq(names.count, p->count - own);
}

/* Returns the rounding of a number of the folder's table of sines; 0 if it is as fine as a float.
 */
static double table_rounding(const hf_case *c)
{
    char path[PATH_OF_FIXTURE];
    rt_weights weights;
    const rt_safetensor *t;
    double rounding = 0;
    check_status(c->r, rt_weights_open(&weights, fixture_path(path, c->r->name, "hf")), "weights");
    for (int n = 0; n < weights.count; n++)
        for (size_t i = 0; (t = rt_safetensors_at(weights.files[n], i)); i++)
            if (strstr(t->name, "embed_positions") && t->dtype == RT_DTYPE_BF16)
                rounding = 1.0 / 256;
            else if (strstr(t->name, "embed_positions") && t->dtype == RT_DTYPE_F16)
                rounding = 1.0 / 2048;
    rt_weights_close(&weights);
    return rounding;
}

/* An import turns by theta, the folder by a table that was rounded: what is narrow is held to that
 * rounding, as a share of the largest logit. */
static double own_rounding(hf_case *c)
{
    double largest = 1;
    array logits = reference_array(c->r, "file_table/logits");
    for (size_t i = 0; i < logits.size; i++)
        largest = fmax(largest, fabs(logits.values[i]));
    return fmax(1e-5, 4 * table_rounding(c) * largest);
}

/* Returns the effective theta of an import, in radians: (D/2). */
static void theta_of(const hf_case *c, double *theta, size_t pairs)
{
    const rt_transformer_options *o = &c->model->options;
    const int rotated = rt_transformer_pairs(o);
    for (size_t i = 0; i < pairs; i++)
        theta[i] = 0;
    if (o->theta.learn)
        rt_transformer_theta(c->model, theta);
    else
        rt_theta_geometric(theta, rotated, o->position.frequencies.base);
}

/* To 1e-6, and where a narrow table is of no base, to its rounding. */
static void check_imported_theta(hf_case *c)
{
    const double rounding = c->there->options.theta.learn ? table_rounding(c) : 0;
    array expected = reference_array(c->r, "theta");
    double *theta = rt_arena_take(&c->r->memory, expected.size * sizeof *theta);
    theta_of(c, theta, expected.size);
    for (size_t i = 0; i < expected.size; i++) {
        const double error = fabs(theta[i] - expected.values[i]);
        ck_assert_msg(error <= fmax(1e-6, rounding) * fabs(expected.values[i]),
                      "%s: theta %zu: expected %.15g, got %.15g", c->r->name, i, expected.values[i],
                      theta[i]);
    }
}

static void open_case(hf_case *c, reference *r)
{
    char path[PATH_OF_FIXTURE];
    *c = (hf_case){.r = r};
    check_status(r, rt_huggingface_open(&c->there, fixture_path(path, r->name, "hf")), "open");
    check_status(r, rt_huggingface_model(c->there, &c->model), "model");
    ck_assert_str_eq(c->there->warnings, "");
    read_input(c);
    read_labels(c);
}

static void close_case(hf_case *c)
{
    rt_transformer_free(c->model);
    rt_huggingface_close(c->there);
    c->r->cases++;
    reference_close(c->r);
}

/* Gives the model the exact theta of the reference, which no table holds. */
static void set_exact_theta(hf_case *c)
{
    array theta = reference_array(c->r, "theta");
    rt_huggingface_taken taken;
    rt_transformer_options o = c->there->options;
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_MODEL, .form = RT_THETA_RAW};
    o.position.fraction = 1;
    rt_transformer_free(c->model);
    check_status(c->r, rt_transformer_new(&c->model, &o, 1, NULL), "model with theta");
    check_status(c->r, rt_huggingface_load(c->there, c->model, &taken), "load");
    ck_assert(taken.head == c->there->has_head);
    check_size(c->r, theta, rt_transformer_theta_count(&o), "theta");
    rt_transformer_set_theta(c->model, theta.values);
}

TEST(an_import_alone_computes_what_the_folder_does)
{
    fixtures f;
    list_fixtures(&f);
    for (int i = 0; i < f.count; i++) {
        char path[PATH_OF_FIXTURE];
        reference r = reference_open_at(f.names[i], fixture_path(path, f.names[i], "reference.h5"));
        hf_case c;
        open_case(&c, &r);
        check_imported_theta(&c);
        if (reference_has(&r, "file_table/logits"))
            check_logits(&c, "file_table/", own_rounding(&c));
        if (c.labels && reference_has(&r, "file_table/loss"))
            check_loss(&c, "file_table/", own_rounding(&c));
        close_case(&c);
    }
}

TEST(with_exact_theta_logits_losses_and_gradients_are_those_of_the_reference)
{
    fixtures f;
    list_fixtures(&f);
    for (int i = 0; i < f.count && is_double(); i++) {
        char path[PATH_OF_FIXTURE];
        reference r = reference_open_at(f.names[i], fixture_path(path, f.names[i], "reference.h5"));
        hf_case c;
        open_case(&c, &r);
        set_exact_theta(&c);
        check_logits(&c, "", VALUE_TOLERANCE);
        if (c.labels && reference_has(&r, "grads"))
            check_gradients(&c);
        close_case(&c);
    }
}

TEST(the_configuration_of_a_folder_is_one_of_rotor)
{
    fixtures f;
    list_fixtures(&f);
    for (int i = 0; i < f.count; i++) {
        char path[PATH_OF_FIXTURE], *errors;
        rt_huggingface *there;
        rt_config config;
        rt_status status = rt_huggingface_open(&there, fixture_path(path, f.names[i], "hf"));
        ck_assert_msg(!status.code, "%s", status.message);
        char *ini = ini_of(there);
        ck_assert_ptr_nonnull(ini);
        const rt_config_source source = {.path = "import.ini", .text = ini};
        status = rt_config_load_model(&config, &source, true, &errors);
        ck_assert_msg(!status.code, "%s: %s\n%s", f.names[i], status.message, ini);
        const rt_transformer_options *o = &there->options, *read = &config.model;
        ck_assert_int_eq(read->layers, o->layers);
        ck_assert_int_eq(read->dim, o->dim);
        ck_assert_int_eq(read->heads, o->heads);
        ck_assert_int_eq(read->embedding_dim, o->embedding_dim);
        ck_assert_int_eq(read->ffn_dim, o->ffn_dim);
        ck_assert_int_eq(read->activation, o->activation);
        ck_assert(read->norm_eps == o->norm_eps && read->causal == o->causal);
        ck_assert(read->theta.learn == o->theta.learn);
        ck_assert(read->tie_embeddings == o->tie_embeddings);
        ck_assert(read->position.rotate_value == o->position.rotate_value);
        ck_assert(read->position.fraction == o->position.fraction);
        ck_assert(read->position.frequencies.base == o->position.frequencies.base);
        rt_free(ini);
        rt_huggingface_close(there);
    }
}

TEST(an_import_exported_and_imported_has_the_same_bits)
{
    fixtures f;
    list_fixtures(&f);
    make_scratch();
    for (int i = 0; i < f.count; i++) {
        char path[PATH_OF_FIXTURE], folder[PATH_OF_FIXTURE];
        rt_huggingface *there, *again;
        rt_transformer *model, *same;
        rt_huggingface_taken taken;
        snprintf(folder, sizeof folder, "%s/%s", scratch, f.names[i]);
        rt_status status = rt_huggingface_open(&there, fixture_path(path, f.names[i], "hf"));
        ck_assert_msg(!status.code, "%s", status.message);
        status = rt_huggingface_model(there, &model);
        ck_assert_msg(!status.code, "%s", status.message);
        const rt_huggingface_export export = {.labels = (const char *const *)there->labels,
                                              .length = 2};
        status = rt_huggingface_write(folder, model, &export);
        ck_assert_msg(!status.code, "%s", status.message);
        status = rt_huggingface_open(&again, folder);
        ck_assert_msg(!status.code, "%s: %s", f.names[i], status.message);
        status = rt_transformer_new(&same, &again->options, 7, NULL);
        ck_assert_msg(!status.code, "%s", status.message);
        status = rt_huggingface_load(again, same, &taken);
        ck_assert_msg(!status.code, "%s: %s", f.names[i], status.message);
        ck_assert(taken.head && taken.theta);
        ck_assert_str_eq(again->warnings, "");
        ck_assert_int_eq(same->parameters.count, model->parameters.count);
        for (int n = 0; n < model->parameters.count; n++) {
            const rt_parameter *a = model->parameters.list[n], *b = same->parameters.list[n];
            ck_assert_str_eq(a->name, b->name);
            for (size_t k = 0; k < rt_size(&a->tensor); k++) {
                const double x = (double)a->tensor.data[k], y = (double)b->tensor.data[k];
                /* What is no float, in double: what a seed drew, and a theta read off a table. */
                const bool exact = !is_double() || (double)(float)x == x;
                ck_assert_msg(exact ? x == y : fabs(x - y) <= 1e-7 * fabs(x),
                              "%s: %s, element %zu: %.17g, again %.17g", f.names[i], a->name, k, x,
                              y);
            }
        }
        rt_transformer_free(model);
        rt_transformer_free(same);
        rt_huggingface_close(there);
        rt_huggingface_close(again);
        remove_files(folder);
    }
    remove_scratch();
}
