/* Decoders that classify, against what transformers compute of them: the label of a text at its
 * last token that is no padding, and those of tokens. reference.json has the inputs, the logits,
 * the loss and its gradients in double. */

#define FIXTURES_VARIABLE "ROTOR_DECODER_HEADS"
#define FIXTURES_FOLDER   "decoder_heads"
#include "huggingface/fixtures.h"
#include "training/hf_export.h"

#include "io/huggingface/family.h"

enum { MOST = 64 };
static const char *const names[] = {"llama_sequence", "mistral_sequence", "llama_token"};
static const double tolerance = sizeof(real) == sizeof(double) ? 1e-11 : 2e-5;

static int read_whole(const json_t *from, const char *key, int32_t *to)
{
    const json_t *list = json_object_get(from, key);
    int count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        for (size_t k = 0; k < (json_is_array(row) ? json_array_size(row) : 1); k++) {
            const json_t *value = json_is_array(row) ? json_array_get(row, k) : row;
            ck_assert_int_lt(count, MOST);
            to[count++] = (int32_t)json_integer_value(value);
        }
    }
    return count;
}

static void expect_values(const real *got, size_t size, const json_t *wanted, const char *what)
{
    ck_assert_msg(size == json_array_size(wanted), "%s: %zu numbers", what, size);
    for (size_t i = 0; i < size; i++) {
        const double value = json_number_value(json_array_get(wanted, i));
        ck_assert_msg(fabs((double)got[i] - value) <= tolerance * fmax(1, fabs(value)),
                      "%s: number %zu is %.17g instead of %.17g", what, i, (double)got[i], value);
    }
}

static void expect_gradients(const rt_huggingface *there, const rt_transformer *m,
                             const json_t *grads)
{
    const rt_family *family = there->options.window ? &rt_family_mistral : &rt_family_llama;
    rt_folder_tensors all;
    expect_ok(rt_folder_tensors_new(&all, family, &m->options, m, -1));
    for (int i = 0; i < m->parameters.count; i++) {
        const rt_parameter *p = m->parameters.list[i];
        const rt_folder_tensor *t = rt_folder_tensors_find(&all, p, 0);
        ck_assert_msg(t != NULL, "%s", p->name);
        expect_values(p->tensor.grad, rt_size(&p->tensor), json_object_get(grads, t->name),
                      t->name);
    }
    rt_folder_tensors_free(&all);
    ck_assert_int_eq((int)json_object_size(grads), m->parameters.count);
}

static void expect_reference(const rt_huggingface *there, rt_transformer *m, const char *name)
{
    char path[PATH_OF_FIXTURE];
    int32_t ids[MOST], mask[MOST], labels[MOST];
    uint8_t tokens[MOST];
    json_t *wanted;
    rt_graph *g = rt_graph_new();
    expect_ok(rt_json_read_file(&wanted, fixture_path(path, name, ""), "reference.json"));
    const int count = read_whole(wanted, "input_ids", ids), B = 3;
    read_whole(wanted, "attention_mask", mask);
    int used = 0;
    for (int i = 0, rows = read_whole(wanted, "labels", labels); i < rows; i++) {
        labels[i] = labels[i] < 0 ? RT_IGNORE : labels[i];
        used += labels[i] != RT_IGNORE;
    }
    for (int i = 0; i < count; i++)
        tokens[i] = mask[i] != 0;
    const rt_transformer_input in = {
        .B = B, .T = count / B, .ids = ids, .key_mask = tokens, .padding_id = RT_NO_PADDING};
    rt_tensor *logits = rt_transformer_forward(m, g, &in);
    rt_tensor *loss = rt_cross_entropy(g, logits, labels, 0, used);
    expect_ok(rt_graph_backward(g, loss));
    /* what transformers makes of padding is nothing to a token */
    if (m->options.head == RT_HEAD_SEQUENCE)
        expect_values(logits->data, rt_size(logits), json_object_get(wanted, "logits"), "logits");
    ck_assert_double_eq_tol((double)loss->data[0],
                            json_number_value(json_object_get(wanted, "loss")), tolerance);
    expect_gradients(there, m, json_object_get(wanted, "grads"));
    json_decref(wanted);
    rt_graph_free(g);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST_ROWS(a_decoder_with_labels_is_what_transformers_compute, 0, ROWS(names))
{
    char path[PATH_OF_FIXTURE];
    rt_huggingface *there = opened_folder(fixture_path(path, names[_i], "hf"));
    rt_transformer *model = model_of_folder(there);
    ck_assert_str_eq(there->warnings, "");
    ck_assert_int_eq(model->options.pool, RT_POOL_LAST);
    ck_assert(there->has_head);
    expect_reference(there, model, names[_i]);
    expect_ok(write_model(model));
    rt_huggingface *again = opened_folder(in_scratch("out"));
    ck_assert_str_eq(again->warnings, "");
    ck_assert_str_eq(again->architecture, there->architecture);
    expect_reference(again, model_of_folder(again), names[_i]);
}
