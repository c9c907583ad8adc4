/* Folders of Hugging Face against values of transformers, and safetensors files against their
 * expected contents. ROTOR_HUGGINGFACE=DIR names another folder of the same layout. */

#include "huggingface/folders.h"

#include "util/csv.h"

TEST(a_safetensors_file_is_read_or_refused_as_its_format_says)
{
    rt_csv csv = {0};
    int count = 0, accepted = 0;
    NEEDS(exists(fixture_path("safetensors", "expected.csv")), "safetensors/expected.csv");
    ck_assert(rt_csv_open(&csv, fixture_path("safetensors", ""), "expected.csv"));
    while (rt_csv_row(&csv)) {
        rt_safetensors *file;
        const char *name = rt_csv_cell(&csv, "file");
        const bool wanted = !strcmp(rt_csv_cell(&csv, "strict"), "accept");
        rt_status status = rt_safetensors_open(&file, fixture_path("safetensors", name));
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

static rt_tensor *logits_of(folder_case *c)
{
    rt_graph_clear(c->r.graph);
    return c->there->has_head ? rt_transformer_forward(c->model, c->r.graph, &c->input)
                              : rt_transformer_encode(c->model, c->r.graph, &c->input);
}

static void check_logits(folder_case *c, const char *group, double tolerance)
{
    rt_tensor *logits = logits_of(c);
    check_status(&c->r, rt_graph_status(c->r.graph), "forward");
    check_values(&c->r, logits->data, rt_size(logits), reference_array(&c->r, "%slogits", group),
                 tolerance, "%slogits", group);
}

static rt_tensor *check_loss(folder_case *c, const char *group, double tolerance)
{
    rt_tensor *loss = rt_cross_entropy(c->r.graph, logits_of(c), c->labels, 0, c->label_count);
    check_status(&c->r, rt_graph_status(c->r.graph), "loss");
    check_values(&c->r, loss->data, 1, reference_array(&c->r, "%sloss", group), tolerance, "%sloss",
                 group);
    return loss;
}

static void check_loss_and_gradients(folder_case *c)
{
    rt_parameters_zero_grads(&c->model->parameters);
    check_status(&c->r, rt_graph_backward(c->r.graph, check_loss(c, "", VALUE_TOLERANCE)),
                 "backward");
    const int count = check_gradients(c);
    ck_assert_int_eq(reference_members(&c->r, "grads").count, count);
}

/* Returns the rounding of a number of the folder's table of sines; 0 if it is as fine as a float.
 */
static double table_rounding(const folder_case *c)
{
    rt_weights weights;
    double rounding = 0;
    check_status(&c->r, rt_weights_open(&weights, fixture_path(c->r.name, "hf")), "weights");
    for (int n = 0; n < weights.count; n++)
        for (size_t i = 0; i < weights.files[n]->count; i++) {
            const rt_safetensor *t = weights.files[n]->tensors + i;
            if (strstr(t->name, "embed_positions") && t->dtype == RT_DTYPE_BF16)
                rounding = 1.0 / 256;
            else if (strstr(t->name, "embed_positions") && t->dtype == RT_DTYPE_F16)
                rounding = 1.0 / 2048;
        }
    rt_weights_close(&weights);
    return rounding;
}

/* An import rotates by theta, and the folder by a rounded table. The tolerance of narrow tables is
 * that rounding, as a share of the largest logit. */
static double own_rounding(folder_case *c)
{
    double largest = 1;
    array logits = reference_array(&c->r, "file_table/logits");
    for (size_t i = 0; i < logits.size; i++)
        largest = fmax(largest, fabs(logits.values[i]));
    return fmax(1e-5, 4 * table_rounding(c) * largest);
}

/* Returns the effective theta of an import, in radians: (D/2). */
static void theta_of(const folder_case *c, double *theta, size_t pairs)
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
static void check_imported_theta(folder_case *c)
{
    const double rounding = c->there->options.theta.learn ? table_rounding(c) : 0;
    array expected = reference_array(&c->r, "theta");
    double *theta = rt_arena_take(&c->r.memory, expected.size * sizeof *theta);
    theta_of(c, theta, expected.size);
    for (size_t i = 0; i < expected.size; i++) {
        const double error = fabs(theta[i] - expected.values[i]);
        ck_assert_msg(error <= fmax(1e-6, rounding) * fabs(expected.values[i]),
                      "%s: theta %zu: expected %.15g, got %.15g", c->r.name, i, expected.values[i],
                      theta[i]);
    }
}

/* Gives the model the exact theta of the reference, which no table holds. */
static void set_exact_theta(folder_case *c)
{
    array theta = reference_array(&c->r, "theta");
    rt_huggingface_taken taken;
    rt_transformer_options o = c->there->options;
    o.theta = (rt_theta_options){.learn = true, .scope = RT_THETA_MODEL, .form = RT_THETA_RAW};
    o.position.fraction = 1;
    rt_transformer_free(c->model);
    check_status(&c->r, rt_transformer_new(&c->model, &o, 1, NULL), "model with theta");
    check_status(&c->r, rt_huggingface_load(c->there, c->model, true, &taken), "load");
    ck_assert(taken.head == c->there->has_head);
    check_size(&c->r, theta, rt_transformer_theta_count(&o), "theta");
    rt_transformer_set_theta(c->model, theta.values);
}

static void check_import(folder_case *c)
{
    c->input.padding_id = c->there->padding_id;
    check_imported_theta(c);
    if (reference_has(&c->r, "file_table/logits"))
        check_logits(c, "file_table/", own_rounding(c));
    if (c->labels && reference_has(&c->r, "file_table/loss"))
        check_loss(c, "file_table/", own_rounding(c));
}

TEST(an_imported_model_computes_the_values_of_its_folder)
{
    check_each(check_import);
}

static void check_with_exact_theta(folder_case *c)
{
    c->input.padding_id = c->there->padding_id;
    set_exact_theta(c);
    check_logits(c, "", VALUE_TOLERANCE);
    if (c->labels && reference_has(&c->r, "grads"))
        check_loss_and_gradients(c);
}

TEST(with_exact_theta_logits_losses_and_gradients_are_those_of_the_reference)
{
    if (is_double())
        check_each(check_with_exact_theta);
}

TEST(folders_become_configurations_and_survive_export_and_import)
{
    check_folders();
}
