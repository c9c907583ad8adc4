/* Folders of Llama and Mistral against what transformers compute of them: the blocks that
 * model.kind = decoder is made of, with every scaling of theta; and texts, against what tokenizers
 * makes of them. ROTOR_LLAMA=DIR goes through another folder of the same layout. */

#define FIXTURES_VARIABLE "ROTOR_LLAMA"
#define FIXTURES_FOLDER   "llama"
#include "bpe_fixtures.h"
#include "folder_ini.h"
#include "huggingface/fixtures.h"
#include "reference/reference.h"
#include "suite.h"
#include "training/scratch.h"

#include "core/memory.h"
#include "io/huggingface/family.h"
#include "io/huggingface/huggingface.h"
#include "train/config/config.h"

#include <math.h>
#include <string.h>

typedef struct decoder_case {
    reference *r;
    rt_huggingface *there;
    rt_transformer *model;
    rt_transformer_input input;
    int32_t *labels; /* where they are predicted */
    int label_count;
} decoder_case;

/* ---- making it ---- */

/* To 1e-12 of the published formulas, whatever the precision of the build. */
static void check_theta(const decoder_case *c, int T)
{
    const array theta = reference_array(c->r, "theta");
    const double factor = reference_array(c->r, "attention_scaling").values[0];
    const rt_frequency_options *o = &c->model->options.position.frequencies;
    double own[RT_MOST_FACTORS];
    ck_assert_int_eq((int)theta.size, rt_transformer_pairs(&c->model->options));
    rt_frequencies_at(own, (int)theta.size, o, T);
    for (size_t i = 0; i < theta.size; i++)
        ck_assert_msg(fabs(own[i] - theta.values[i]) <= 1e-12 * theta.values[i],
                      "theta %zu is %.17g instead of %.17g", i, own[i], theta.values[i]);
    ck_assert_double_eq_tol(rt_frequencies_magnitude(o), factor, 1e-12 * factor);
}

static rt_huggingface *open_fixture(const char *name)
{
    char path[PATH_OF_FIXTURE];
    rt_huggingface *there;
    rt_status status = rt_huggingface_open(&there, fixture_path(path, name, "hf"));
    ck_assert_msg(!status.code, "%s: %s", name, status.message);
    ck_assert_str_eq(there->warnings, "");
    return there;
}

static decoder_case make_case(reference *r, const char *name)
{
    decoder_case c = {.r = r, .there = open_fixture(name)};
    check_status(r, rt_huggingface_model(c.there, &c.model), name);
    const array ids = reference_array(r, "inputs/input_ids");
    check_theta(&c, ids.axis[1]);
    const array labels = reference_array(r, "inputs/labels");
    check_size(r, labels, ids.size, "inputs/labels");
    const int T = ids.axis[1];
    c.input = (rt_transformer_input){.B = ids.axis[0],
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
    rt_tensor *logits = rt_transformer_forward(c->model, g, &c->input);
    rt_tensor *loss = rt_cross_entropy(g, logits, c->labels, 0, c->label_count);
    check_status(c->r, rt_graph_backward(g, loss), "backward");
    check_values(c->r, logits->data, rt_size(logits), reference_array(c->r, "logits"),
                 VALUE_TOLERANCE, "logits");
    check_values(c->r, logits->data, rt_size(logits), reference_array(c->r, "file_table/logits"),
                 1e-5, "file_table/logits");
    check_values(c->r, loss->data, 1, reference_array(c->r, "loss"), VALUE_TOLERANCE, "loss");
    for (int i = 0; i < p->count && sizeof(real) == sizeof(double); i++) {
        rt_tensor_place place;
        ck_assert_msg(rt_tensor_place_of(&place, &rt_family_llama, &c->model->options,
                                         p->list[i]->name, 0),
                      "%s has no name in transformers", p->list[i]->name);
        check_gradient(c->r, p->list[i]->tensor.grad, rt_size(&p->list[i]->tensor),
                       reference_array(c->r, "grads/%s", place.name), "gradient of %s", place.name);
    }
    ck_assert_int_eq(reference_members(c->r, "grads").count, p->count);
    c->r->cases++;
}

TEST(a_decoder_is_what_transformers_compute)
{
    char path[PATH_OF_FIXTURE];
    fixtures all;
    list_fixtures(&all);
    for (int i = 0; i < all.count; i++) {
        const char *name = all.names[i];
        reference r = reference_open_at(name, fixture_path(path, name, "reference.h5"));
        decoder_case c = make_case(&r, name);
        check_case(&c);
        rt_transformer_free(c.model);
        rt_huggingface_close(c.there);
        reference_close(&r);
    }
}

TEST(the_configuration_of_a_folder_is_one_of_rotor)
{
    fixtures all;
    list_fixtures(&all);
    for (int i = 0; i < all.count; i++) {
        rt_config config;
        char *errors;
        rt_huggingface *there = open_fixture(all.names[i]);
        char *ini = ini_of(there);
        const rt_config_source source = {.path = "import.ini", .text = ini};
        ck_assert_ptr_nonnull(ini);
        rt_status status = rt_config_load_model(&config, &source, true, &errors);
        ck_assert_msg(!status.code, "%s: %s\n%s", all.names[i], status.message, ini);
        rt_transformer_options read = config.model;
        rt_transformer_options o = there->options;
        if (!o.position.frequencies.original_len)
            o.position.frequencies.original_len = config.data.length;
        o.position.max_len = config.data.length;
        ck_assert_int_eq(read.kind, RT_KIND_DECODER);
        read.vocab = o.vocab; /* which the data know */
        read.token_types = o.token_types;
        ck_assert_msg(!memcmp(&read, &o, sizeof read), "%s: other options:\n%s", all.names[i], ini);
        rt_free(ini);
        rt_huggingface_close(there);
    }
}

/* Files are F32; so are the fixtures, in double as well. */
static void expect_same_values(const char *name, const rt_transformer *a, const rt_transformer *b)
{
    ck_assert_int_eq(a->parameters.count, b->parameters.count);
    for (int i = 0; i < a->parameters.count; i++) {
        const rt_parameter *p = a->parameters.list[i], *q = b->parameters.list[i];
        ck_assert_str_eq(p->name, q->name);
        ck_assert_msg(!memcmp(p->tensor.data, q->tensor.data, rt_size(&p->tensor) * sizeof(real)),
                      "%s: %s has other values", name, p->name);
    }
}

/* At lengths on both sides of the original one. */
static void expect_same_theta(const char *name, const rt_transformer_options *a,
                              const rt_transformer_options *b)
{
    const int pairs = rt_transformer_pairs(a), lengths[] = {1, 16, 17, 64, 65, 5000};
    double one[RT_MOST_FACTORS], other[RT_MOST_FACTORS];
    ck_assert_int_eq(pairs, rt_transformer_pairs(b));
    ck_assert(rt_frequencies_magnitude(&a->position.frequencies) ==
              rt_frequencies_magnitude(&b->position.frequencies));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        rt_frequencies_at(one, pairs, &a->position.frequencies, lengths[i]);
        rt_frequencies_at(other, pairs, &b->position.frequencies, lengths[i]);
        ck_assert_msg(!memcmp(one, other, (size_t)pairs * sizeof *one),
                      "%s: other theta for %d tokens", name, lengths[i]);
    }
}

TEST(an_import_exported_and_imported_has_the_same_bits)
{
    fixtures all;
    list_fixtures(&all);
    make_scratch();
    for (int i = 0; i < all.count; i++) {
        char folder[PATH_OF_FIXTURE];
        rt_huggingface *there = open_fixture(all.names[i]), *again;
        rt_transformer *model, *same;
        snprintf(folder, sizeof folder, "%s/%s", scratch, all.names[i]);
        rt_status status = rt_huggingface_model(there, &model);
        ck_assert_msg(!status.code, "%s", status.message);
        status = rt_huggingface_write(folder, model, &(rt_huggingface_export){.length = 2});
        ck_assert_msg(!status.code, "%s", status.message);
        status = rt_huggingface_open(&again, folder);
        ck_assert_msg(!status.code, "%s: %s", all.names[i], status.message);
        ck_assert_str_eq(again->warnings, "");
        ck_assert_str_eq(again->architecture, there->architecture);
        status = rt_huggingface_model(again, &same);
        ck_assert_msg(!status.code, "%s", status.message);
        expect_same_values(all.names[i], model, same);
        expect_same_theta(all.names[i], &there->options, &again->options);
        rt_transformer_free(model);
        rt_transformer_free(same);
        rt_huggingface_close(there);
        rt_huggingface_close(again);
        remove_files(folder);
    }
    remove_scratch();
}

TEST(texts_have_the_ids_of_tokenizers)
{
    ck_assert_int_ge(check_bpe_folders(fixture_folder()), 0);
}
