#ifndef ROTOR_TESTS_HUGGINGFACE_FOLDERS_H
#define ROTOR_TESTS_HUGGINGFACE_FOLDERS_H

/* Checks of folders of Hugging Face against their references: values, gradients, configuration and
 * export. The folders are in ROTOR_HUGGINGFACE, or else in tests/fixtures/huggingface; a test of
 * other models names another variable and folder. Each NAME/ has hf/ and reference.h5; safetensors/
 * has files and expected.csv. */

#include "folder_ini.h"
#include "reference/reference.h"
#include "suite.h"
#include "util/scratch.h"

#include "io/huggingface/folder.h"

#include <glob.h>
#include <math.h>

#ifndef FIXTURES_VARIABLE
#define FIXTURES_VARIABLE "ROTOR_HUGGINGFACE"
#define FIXTURES_FOLDER   "huggingface"
#endif

typedef struct folder_case {
    reference r;
    rt_huggingface *there;
    rt_transformer *model;
    rt_transformer_input input;
    int32_t *labels; /* where they are predicted: of tokens, or of texts; NULL: there are none */
    int label_count;
} folder_case;

static inline bool is_double(void)
{
    return sizeof(real) == sizeof(double);
}

static inline const char *fixture_folder(void)
{
    const char *folder = getenv(FIXTURES_VARIABLE);
    return folder ? folder : TEST_SOURCES "/fixtures/" FIXTURES_FOLDER;
}

static inline const char *fixture_path(const char *name, const char *file)
{
    return lasting("%s/%s/%s", fixture_folder(), name, file);
}

/* Returns the names of the models, sorted, with a final NULL. */
static inline const char *const *fixture_names(void)
{
    enum { MOST = 256 };
    static const char *names[MOST + 1];
    glob_t found;
    ck_assert_msg(!glob(fixture_path("*", "reference.h5"), 0, NULL, &found), "%s has no model",
                  fixture_folder());
    ck_assert_uint_le(found.gl_pathc, MOST);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        *strrchr(found.gl_pathv[i], '/') = '\0';
        names[i] = lasting("%s", strrchr(found.gl_pathv[i], '/') + 1);
    }
    globfree(&found);
    return names;
}

/* NULL for a family that rotor does not read. */
static inline rt_huggingface *open_fixture(const char *name)
{
    rt_huggingface *there;
    rt_status status = rt_huggingface_open(&there, fixture_path(name, "hf"));
    if (status.code && strstr(status.message, "model_type must be")) {
        printf("SKIP %s: %s\n", name, status.message);
        return NULL;
    }
    ck_assert_msg(!status.code, "%s: %s", name, status.message);
    ck_assert_str_eq(there->warnings, "");
    return there;
}

static inline void read_input(folder_case *c)
{
    reference *r = &c->r;
    const array ids = reference_array(r, "inputs/input_ids");
    c->input = (rt_transformer_input){.B = ids.axis[0],
                                      .T = ids.axis[1],
                                      .ids = reference_ids(r, ids),
                                      .padding_id = RT_NO_PADDING};
    if (reference_has(r, "inputs/token_type_ids"))
        c->input.token_types = reference_ids(r, reference_array(r, "inputs/token_type_ids"));
    if (reference_has(r, "inputs/attention_mask")) {
        const array mask = reference_array(r, "inputs/attention_mask");
        uint8_t *shown = rt_arena_take(&r->memory, mask.size);
        check_size(r, mask, ids.size, "inputs/attention_mask");
        for (size_t i = 0; i < mask.size; i++)
            shown[i] = mask.values[i] != 0;
        c->input.key_mask = shown;
    }
}

/* In a causal language model the logits of token t predict token t + 1. */
static inline void read_labels(folder_case *c)
{
    const rt_transformer_options *o = &c->model->options;
    const int B = c->input.B, T = c->input.T, count = o->head == RT_HEAD_SEQUENCE ? B : B * T;
    const bool shifts = o->causal && o->head == RT_HEAD_LM;
    if (!reference_has(&c->r, "inputs/labels"))
        return;
    const array labels = reference_array(&c->r, "inputs/labels");
    check_size(&c->r, labels, (size_t)count, "inputs/labels");
    c->labels = reference_ids(&c->r, labels);
    for (int i = 0; i < count; i++) {
        if (shifts)
            c->labels[i] = i % T + 1 < T ? c->labels[i + 1] : RT_IGNORE;
        c->label_count += c->labels[i] != RT_IGNORE;
    }
}

/* False for a family that rotor does not read. */
static inline bool open_case(folder_case *c, const char *name)
{
    *c = (folder_case){.there = open_fixture(name)};
    if (!c->there)
        return false;
    c->r = reference_open_at(name, fixture_path(name, "reference.h5"));
    check_status(&c->r, rt_huggingface_model(c->there, NULL, &c->model, NULL), name);
    read_input(c);
    read_labels(c);
    return true;
}

static inline void close_case(folder_case *c)
{
    rt_transformer_free(c->model);
    rt_huggingface_close(c->there);
    c->r.cases++;
    reference_close(&c->r);
}

/* Checks every folder with its reference. */
static inline void check_each(void (*check)(folder_case *c))
{
    for (const char *const *name = fixture_names(); *name; name++) {
        folder_case c;
        if (open_case(&c, *name)) {
            check(&c);
            close_case(&c);
        } else {
            ck_assert_str_eq(FIXTURES_FOLDER, "families"); /* others have none that is not read */
        }
    }
}

/* The part of a tensor's gradient that is a parameter's. A tensor can have a second name, and a
 * folder without a head has no prefix. */
static inline void check_part(folder_case *c, const rt_folder_tensors *tensors,
                              const rt_parameter *p)
{
    const char *prefix = c->there->files->family->prefix, *name = NULL;
    const rt_folder_tensor *t, *tensor = NULL;
    for (int n = 0; !name && (t = rt_folder_tensors_find(tensors, p, n)); n++) {
        tensor = t;
        name = t->name;
        if (!reference_has(&c->r, "grads/%s", name) && !strncmp(name, prefix, strlen(prefix)))
            name += strlen(prefix);
        if (!reference_has(&c->r, "grads/%s", name))
            name = NULL;
    }
    ck_assert_msg(name != NULL, "%s: no gradient of %s", c->r.name, p->name);
    const array all = reference_array(&c->r, "grads/%s", name);
    array part = {.ndim = 1, .axis = {(int)rt_size(&p->tensor)}, .size = rt_size(&p->tensor)};
    size_t found = 0;
    int of;
    part.values = rt_arena_take(&c->r.memory, part.size * sizeof *part.values);
    for (size_t i = 0; i < all.size; i++) {
        const size_t index = rt_folder_tensor_at(tensor, i, &of);
        if (tensor->stacked[of].parameter == p) {
            ck_assert_uint_lt(index, part.size);
            part.values[index] = all.values[i];
            found++;
        }
    }
    ck_assert_uint_eq(found, part.size);
    check_gradient(&c->r, p->tensor.grad, part.size, part, "gradient of %s", p->name);
}

/* Checks the gradients of all parameters but theta; returns how many there are. */
static inline int check_gradients(folder_case *c)
{
    const rt_parameters *p = &c->model->parameters;
    rt_folder_tensors tensors;
    int count = 0;
    expect_ok(
        rt_folder_tensors_new(&tensors, c->there->files->family, &c->there->options, c->model, -1));
    for (int i = 0; i < p->count && is_double(); i++)
        if (p->list[i]->role != RT_ROLE_THETA) {
            check_part(c, &tensors, p->list[i]);
            count++;
        }
    rt_folder_tensors_free(&tensors);
    return count;
}

/* ---- all folders ---- */

static inline void check_configuration(const char *name, const rt_huggingface *there)
{
    rt_config config;
    char *errors, *ini = ini_of(there);
    const rt_config_source source = {.path = "import.ini", .text = ini};
    ck_assert_ptr_nonnull(ini);
    const rt_status status = rt_config_load_model(&config, &source, true, &errors);
    ck_assert_msg(!status.code, "%s: %s\n%s", name, status.message, ini);
    rt_transformer_options read = config.model, o = there->options;
    if (!o.position.frequencies.original_len)
        o.position.frequencies.original_len = read.position.frequencies.original_len;
    o.position.max_len = config.data.length;
    read.vocab = o.vocab; /* which the data know */
    read.token_types = o.token_types;
    read.mask_id = o.mask_id;
    read.head = o.head;
    read.labels = o.labels;
    ck_assert_msg(!memcmp(&read, &o, sizeof read), "%s: other options:\n%s", name, ini);
    rt_free(ini);
}

/* In double, numbers that are no floats were drawn by a seed, or are theta recovered from a table:
 * these differ by rounding. */
static inline void expect_same(const char *name, const char *what, double x, double y)
{
    const bool exact = !is_double() || (double)(float)x == x;
    ck_assert_msg(exact ? x == y : fabs(x - y) <= 1e-7 * fabs(x), "%s: %s is %.17g, again %.17g",
                  name, what, x, y);
}

static inline void expect_same_model(const char *name, const rt_transformer *a,
                                     const rt_transformer *b)
{
    const int lengths[] = {1, 16, 17, 64, 65, 5000}; /* on both sides of an original length */
    const size_t thetas = rt_shape_size(rt_transformer_rotation_shape(&a->options));
    double *theta = rt_alloc(2 * thetas, sizeof *theta);
    ck_assert_int_eq(a->parameters.count, b->parameters.count);
    for (int i = 0; i < a->parameters.count; i++) {
        const rt_parameter *p = a->parameters.list[i], *q = b->parameters.list[i];
        ck_assert_str_eq(p->name, q->name);
        for (size_t k = 0; k < rt_size(&p->tensor); k++)
            expect_same(name, p->name, (double)p->tensor.data[k], (double)q->tensor.data[k]);
    }
    ck_assert_uint_eq(thetas, rt_shape_size(rt_transformer_rotation_shape(&b->options)));
    ck_assert(rt_frequencies_magnitude(&a->options.position.frequencies) ==
              rt_frequencies_magnitude(&b->options.position.frequencies));
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        rt_transformer_rotation(a, lengths[n], theta);
        rt_transformer_rotation(b, lengths[n], theta + thetas);
        for (size_t i = 0; i < thetas; i++)
            ck_assert_msg(a->options.theta.learn
                              ? fabs(theta[i] - theta[thetas + i]) <= 1e-6 * fabs(theta[i])
                              : theta[i] == theta[thetas + i],
                          "%s: theta %zu for %d tokens", name, i, lengths[n]);
    }
    rt_free(theta);
}

/* Exports the model of a folder, and imports it again. */
static inline void check_export(const char *name, const rt_huggingface *there)
{
    const char *folder = lasting("%s/%s", scratch, name);
    rt_transformer *model, *same, *loaded;
    rt_huggingface *again;
    rt_huggingface_taken taken;
    const rt_huggingface_export export = {.labels = (const char *const *)there->labels,
                                          .length = 2};
    expect_ok(rt_huggingface_model(there, NULL, &model, NULL));
    expect_ok(rt_huggingface_write(folder, model, &export));
    expect_ok(rt_huggingface_open(&again, folder));
    ck_assert_str_eq(again->warnings, "");
    if (there->has_head) /* else it is written with the head that was drawn */
        ck_assert_str_eq(again->architecture, there->architecture);
    expect_ok(rt_huggingface_model(again, NULL, &same, NULL));
    rt_transformer_options options = model->options;
    if (options.position.frequencies.scaling == RT_SCALING_YARN ||
        options.position.frequencies.scaling == RT_SCALING_LONGROPE)
        options.position.frequencies = same->options.position.frequencies; /* with all defaults */
    ck_assert_msg(!memcmp(&options, &same->options, sizeof options), "%s: other options", name);
    expect_same_model(name, model, same);
    expect_ok(rt_transformer_new(&loaded, &again->options, 7, NULL));
    expect_ok(rt_huggingface_load(again, loaded, true, &taken));
    ck_assert(taken.head && taken.theta);
    expect_same_model(name, model, loaded);
    rt_transformer_free(model);
    rt_transformer_free(same);
    rt_transformer_free(loaded);
    rt_huggingface_close(again);
    remove_tree(folder);
}

/* Checks the configuration and the export of every folder. */
static inline void check_folders(void)
{
    make_scratch();
    for (const char *const *name = fixture_names(); *name; name++) {
        rt_huggingface *there = open_fixture(*name);
        if (!there)
            continue;
        check_configuration(*name, there);
        check_export(*name, there);
        rt_huggingface_close(there);
    }
    remove_scratch();
}

#endif
