#include "suite.h"
#include "training/hf_export.h"

#include "io/huggingface/json.h"
#include "io/huggingface/safetensors.h"
#include "text/text_file.h"

static rt_status write_with(const rt_transformer *model, const rt_huggingface_export *export)
{
    return rt_huggingface_write(in_scratch("out"), model, export);
}

static bool is_written(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "out/%.100s", name);
    return exists(in_scratch(path));
}

SUITE(.setup = make_scratch, .teardown = remove_all)

/* ---- folders ---- */

TEST(a_folder_that_is_not_empty_is_kept)
{
    char message[256];
    rt_transformer *model = model_of_words("roformer");
    ck_assert_int_eq(mkdir(in_scratch("out"), 0777), 0);
    write_bytes(in_scratch("out/tokenizer.json"), "x", 1);
    write_bytes(in_scratch("out/notes"), "x", 1);
    rt_huggingface_export export = {.length = 8};
    snprintf(message, sizeof message,
             "%s/out: the folder is not empty; give --overwrite to write into it", scratch);
    assert_status(write_with(model, &export), RT_CONFIG, message);
    ck_assert(!is_written("config.json") && is_written("tokenizer.json"));
    export.overwrite = true;
    assert_status(write_with(model, &export), RT_OK, "");
    ck_assert(is_written("config.json") && is_written("notes") && is_written("README.md"));
    ck_assert(!is_written("tokenizer.json") && !is_written("vocab.txt"));
}

static void expect_file(const char *name, const char *text)
{
    size_t size;
    char *bytes = rt_read_bytes(in_scratch(name), 1 << 20, &size);
    ck_assert_msg(bytes && !strcmp(bytes, text), "%s: %s", name, bytes ? bytes : "is gone");
    rt_free(bytes);
}

/* Files that rotor does not write: those that describe the same tokens, and a model card of others.
 */
TEST(files_that_rotor_does_not_write_are_kept)
{
    static const char settings[] = "{\"temperature\": 0.6}\n", map[] = "{}\n", card[] = "# Mine\n";
    rt_transformer *model = model_of_words("roformer");
    rt_huggingface_export export = {.length = 8, .overwrite = true};
    assert_status(write_with(model, &export), RT_OK, "");
    write_bytes(in_scratch("out/generation_config.json"), settings, strlen(settings));
    write_bytes(in_scratch("out/special_tokens_map.json"), map, strlen(map));
    write_bytes(in_scratch("out/README.md"), card, strlen(card));
    assert_status(write_with(model, &export), RT_OK, "");
    expect_file("out/generation_config.json", settings);
    expect_file("out/special_tokens_map.json", map);
    expect_file("out/README.md", card);
    model = model_of_words("roformer vocab=14"); /* other tokens */
    assert_status(write_with(model, &export), RT_OK, "");
    ck_assert(!is_written("generation_config.json") && !is_written("special_tokens_map.json"));
    expect_file("out/README.md", card);
}

TEST(an_empty_folder_is_taken)
{
    rt_transformer *model = model_of_words("roformer");
    ck_assert_int_eq(mkdir(in_scratch("out"), 0777), 0);
    assert_status(write_model(model), RT_OK, "");
}

TEST(a_file_or_a_name_without_a_folder_is_refused)
{
    char message[256];
    rt_transformer *model = model_of_words("roformer");
    write_bytes(in_scratch("out"), "x", 1);
    snprintf(message, sizeof message, "%s/out: not a folder", scratch);
    assert_status(write_with(model, &(rt_huggingface_export){.overwrite = true}), RT_CONFIG,
                  message);
    snprintf(message, sizeof message, "cannot make the folder %s/no/out: No such file or directory",
             scratch);
    assert_status(rt_huggingface_write(in_scratch("no/out"), model,
                                       &(rt_huggingface_export){.length = 8}),
                  RT_IO, message);
}

/* ---- content ---- */

static void expect_word(const json_t *json, const char *key, const char *word)
{
    ck_assert_str_eq(json_string_value(json_object_get(json, key)), word);
}

TEST(labels_of_any_letters_are_read_again)
{
    static const char *const labels[] = {"a \"b\" \\", "\n\t\x01", "\xc3\xa9", "\xff-"};
    rt_transformer *model = model_of_words("roformer head=token labels=4");
    assert_status(write_with(model, &(rt_huggingface_export){.labels = labels, .length = 2000}),
                  RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(there->labels[i], labels[i]);
    ck_assert_str_eq(there->labels[3], "\xef\xbf\xbd-");
    ck_assert_int_eq(there->max_positions, 2000);
}

TEST(the_length_of_the_training_comes_back)
{
    rt_transformer *model = model_of_words("roformer");
    assert_status(write_with(model, &(rt_huggingface_export){.length = 24}), RT_OK, "");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->length, 24);
    ck_assert_int_eq(there->max_positions, 1536); /* of the table, which leaves room */
    remove_out();
    assert_status(write_with(model, &(rt_huggingface_export){.length = 24, .table_rows = 24}),
                  RT_OK, "");
    there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->max_positions, 24);
}

TEST_ROWS(the_class_follows_the_head, 0, 4)
{
    static const struct {
        rt_head head;
        bool causal;
        const char *name;
    } classes[] = {{RT_HEAD_LM, false, "RoFormerForMaskedLM"},
                   {RT_HEAD_LM, true, "RoFormerForCausalLM"},
                   {RT_HEAD_SEQUENCE, false, "RoFormerForSequenceClassification"},
                   {RT_HEAD_TOKEN, false, "RoFormerForTokenClassification"}};
    rt_transformer_options o = options_of("roformer labels=3");
    o.head = classes[_i].head;
    o.causal = classes[_i].causal;
    rt_transformer *model = new_model(&o);
    assert_status(write_model(model), RT_OK, "");
    json_t *config = read_config();
    const json_t *list = json_object_get(config, "architectures");
    ck_assert_str_eq(json_string_value(json_array_get(list, 0)), classes[_i].name);
    ck_assert(json_is_true(json_object_get(config, "is_decoder")) == classes[_i].causal);
    ck_assert_int_eq(json_object_size(json_object_get(config, "label2id")), _i < 2 ? 0 : 3);
    expect_word(config, "model_type", "roformer");
    expect_word(config, "dtype", "float32");
    json_decref(config);
}

TEST(the_card_means_nothing_but_its_words)
{
    static const char *const facts[] = {"<script>`x`</script> [a](b)\n# heading"};
    char card[4096];
    rt_transformer *model = model_of_words("roformer");
    assert_status(write_with(model, &(rt_huggingface_export){.length = 8,
                                                             .title = "a\n---\n",
                                                             .facts = facts,
                                                             .fact_count = 1}),
                  RT_OK, "");
    read_into(card, sizeof card, "out/README.md");
    expect_in(card, "# a --- \n");
    expect_in(card, "- &#60;script&#62;\\`x\\`&#60;/script&#62; \\[a\\]\\(b\\) \\# heading\n");
    expect_in(card, "theta_i = 10000^(-2i/8), which is fixed.\n");
}

TEST(a_vocabulary_and_its_tokenizer_are_written)
{
    char text[512];
    rt_vocabulary *v;
    rt_transformer *model = model_of_words("roformer");
    assert_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)"bca\n", 4), RT_OK, "");
    assert_status(write_with(model, &(rt_huggingface_export){.vocabulary = v,
                                                             .lowercase = true,
                                                             .length = 8}),
                  RT_OK, "");
    read_into(text, sizeof text, "out/vocab.txt");
    ck_assert_str_eq(text, "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\n\\n\na\nb\nc\n");
    read_into(text, sizeof text, "out/tokenizer_config.json");
    expect_in(text, "\"tokenizer_class\": \"BertTokenizer\"");
    expect_in(text, "\"do_lower_case\": true");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_str_eq(there->level, "char");
    rt_vocabulary_free(v);
}

/* ---- theta ---- */

static const struct {
    const char *from, *to, *message;
} wrong_theta[] = {
    {"\"scope\": \"layer\"", "\"scope\": \"pair\"",
     "config.json: rotor_theta must have scope, form, base, and theta by layer, head and pair"},
    {"\"scope\": \"layer\"", "\"scope\": \"head\"",
     "config.json: rotor_theta must have 2 layers of 4 heads of 4 numbers, which are above 0 if "
     "their form is log"},
    {"[[1, ", "[[-1, ",
     "config.json: rotor_theta must have 2 layers of 1 heads of 4 numbers, which are above 0 if "
     "their form is log"},
    {"[[1, ", "[], [[1, ",
     "config.json: rotor_theta must have scope, form, base, and theta by "
     "layer, head and pair"},
    {"]]\n", "]], []\n", "config.json: rotor_theta must have a list for each of 2 layers"},
};

TEST_ROWS(theta_of_another_form_are_refused, 0, ROWS(wrong_theta))
{
    rt_huggingface *there;
    written_model("roformer theta.learn=yes");
    change_file("out/config.json", wrong_theta[_i].from, wrong_theta[_i].to);
    assert_status(rt_huggingface_open(&there, in_scratch("out")), RT_CHECKPOINT,
                  wrong_theta[_i].message);
}

/* Hugging Face has the bias twice, and uses that of the decoder. */
TEST(an_untied_decoder_has_its_bias)
{
    enum { VOCAB = 13 };
    double one[VOCAB], other[VOCAB];
    rt_safetensors *file;
    rt_transformer *model = written_model("roformer model.tie_embeddings=no");
    assert_status(rt_safetensors_open(&file, in_scratch("out/model.safetensors")), RT_OK, "");
    const rt_safetensor *a = rt_safetensors_find(file, "cls.predictions.decoder.bias");
    const rt_safetensor *b = rt_safetensors_find(file, "cls.predictions.bias");
    ck_assert(a && b);
    assert_status(rt_safetensors_doubles(a, 0, VOCAB, one), RT_OK, "");
    assert_status(rt_safetensors_doubles(b, 0, VOCAB, other), RT_OK, "");
    for (int i = 0; i < VOCAB; i++)
        ck_assert(one[i] == other[i] && one[i] == (double)(float)model->head.output.bias->data[i]);
    rt_safetensors_close(file);
}

/* ---- faults ---- */

typedef struct faulty_export {
    const rt_transformer *model;
    rt_huggingface_export export;
} faulty_export;

static rt_status try_export(void *context)
{
    const faulty_export *e = context;
    const rt_status status = write_with(e->model, &e->export);
    ck_assert(is_written("config.json") == (status.code == RT_OK));
    return status;
}

TEST_ROWS(every_allocation_can_fail, 0, 4)
{
    static const char *const models[] = {
        "roformer head=sequence labels=2 theta.learn=yes theta.scope=head",
        "decoder theta.learn=yes theta.scope=head", "modernbert theta.learn=yes theta.scope=head",
        "esm theta.learn=yes theta.scope=head"};
    static const char *const labels[] = {"a", "b"}, *const facts[] = {"loss: 1"};
    char folder[512];
    rt_vocabulary *v;
    rt_transformer *model = model_of_words(models[_i]);
    assert_status(rt_vocabulary_of_text(&v, "text", (const unsigned char *)"abc", 3), RT_OK, "");
    faulty_export e = {
        model, {.vocabulary = v, .length = 8, .facts = facts, .fact_count = 1, .overwrite = true}};
    e.export.labels = _i ? NULL : labels;
    expect_faults(try_export, &e, 10);
    snprintf(folder, sizeof folder, "%s", in_scratch("out"));
    expect_faults(try_folder, folder, 10);
    rt_vocabulary_free(v);
}

static rt_status write_usual(void)
{
    rt_transformer *model = model_of_words("roformer");
    rt_status status = write_model(model);
    return status;
}

TEST(a_full_disk_leaves_no_whole_folder)
{
    ck_assert(fails_on_full_disk(4096, write_usual));
    ck_assert(!is_written("config.json") && !is_written("model.safetensors"));
}

TEST(a_number_that_no_float_holds_is_not_written)
{
    rt_transformer *model = model_of_words("roformer");
    model->embeddings.tokens->data[5] = (real)INFINITY;
    assert_status(write_model(model), RT_NONFINITE,
                  "model.safetensors: roformer.embeddings.word_embeddings.weight has a number that "
                  "is not finite as a float");
}
