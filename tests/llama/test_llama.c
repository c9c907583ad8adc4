/* Folders of Llama and Mistral against values of transformers: the blocks of model.kind = decoder
 * with every scaling of theta; and ids of texts against those of tokenizers. ROTOR_LLAMA=DIR names
 * another folder of the same layout. */

#define FIXTURES_VARIABLE "ROTOR_LLAMA"
#define FIXTURES_FOLDER   "llama"
#include "huggingface/folders.h"
#include "tokenizer_fixtures.h"

/* To 1e-12 of the published formulas, whatever the precision of the build. */
static void check_theta(folder_case *c)
{
    const array theta = reference_array(&c->r, "theta");
    const double factor = reference_array(&c->r, "attention_scaling").values[0];
    const rt_frequency_options *o = &c->model->options.position.frequencies;
    double own[RT_MOST_FACTORS];
    ck_assert_int_eq((int)theta.size, rt_transformer_pairs(&c->model->options));
    rt_frequencies_at(own, (int)theta.size, o, c->input.T);
    for (size_t i = 0; i < theta.size; i++)
        ck_assert_msg(fabs(own[i] - theta.values[i]) <= 1e-12 * theta.values[i],
                      "theta %zu is %.17g instead of %.17g", i, own[i], theta.values[i]);
    ck_assert_double_eq_tol(rt_frequencies_magnitude(o), factor, 1e-12 * factor);
}

static void check_case(folder_case *c)
{
    check_theta(c);
    reference *r = &c->r;
    rt_graph *g = r->graph;
    rt_tensor *logits = rt_transformer_forward(c->model, g, &c->input);
    rt_tensor *loss = rt_cross_entropy(g, logits, c->labels, 0, c->label_count);
    check_status(r, rt_graph_backward(g, loss), "backward");
    check_values(r, logits->data, rt_size(logits), reference_array(r, "logits"), VALUE_TOLERANCE,
                 "logits");
    check_values(r, logits->data, rt_size(logits), reference_array(r, "file_table/logits"), 1e-5,
                 "file_table/logits");
    check_values(r, loss->data, 1, reference_array(r, "loss"), VALUE_TOLERANCE, "loss");
    check_gradients(c);
    ck_assert_int_eq(reference_members(r, "grads").count, c->model->parameters.count);
}

TEST(a_decoder_computes_the_values_of_transformers)
{
    check_each(check_case);
}

TEST(folders_become_configurations_and_survive_export_and_import)
{
    check_folders();
}

TEST(texts_have_the_ids_of_tokenizers)
{
    ck_assert_int_ge(check_bpe_folders(fixture_folder()), 0);
}
