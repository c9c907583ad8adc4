#include "io/huggingface/hf_folder.h"
#include "tokenizer_fixtures.h"

#include "io/huggingface/json.h"

static bool has_file(const char *name)
{
    return exists(in_scratch(lasting("out/%s", name)));
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_folder_that_is_not_empty_is_kept)
{
    rt_transformer *model = model_of_words("roformer");
    ck_assert_int_eq(mkdir(in_scratch("out"), 0777), 0);
    put_text("out/tokenizer.json", "x");
    put_text("out/merges.txt", "x");
    put_text("out/notes", "x");
    rt_huggingface_export export = {.length = 8};
    is_status(write_with(model, &export), RT_CONFIG,
              lasting("%s/out: the folder is not empty; give --overwrite to write into it",
                      scratch));
    ck_assert(!has_file("config.json") && has_file("tokenizer.json"));
    export.overwrite = true;
    expect_ok(write_with(model, &export));
    ck_assert(has_file("config.json") && has_file("notes") && has_file("README.md"));
    ck_assert(!has_file("tokenizer.json") && !has_file("merges.txt") && !has_file("vocab.txt"));
}

/* Files that describe the same tokens, and a model card of others. */
TEST(files_that_rotor_does_not_write_are_kept)
{
    static const char settings[] = "{\"temperature\": 0.6}\n", map[] = "{}\n", card[] = "# Mine\n";
    rt_transformer *model = model_of_words("roformer");
    expect_ok(write_model(model));
    put_text("out/generation_config.json", settings);
    put_text("out/special_tokens_map.json", map);
    put_text("out/chat_template.jinja", "{{ a }}");
    put_text("out/README.md", card);
    expect_ok(write_model(model));
    expect_content("out/chat_template.jinja", "{{ a }}");
    expect_content("out/generation_config.json", settings);
    expect_content("out/special_tokens_map.json", map);
    expect_content("out/README.md", card);
    written_model("roformer vocab=14"); /* other tokens */
    ck_assert(!has_file("generation_config.json") && !has_file("special_tokens_map.json") &&
              !has_file("chat_template.jinja"));
    expect_content("out/README.md", card);
}

TEST(an_empty_folder_is_used_and_a_file_is_refused)
{
    const rt_huggingface_export export = {.length = 8};
    ck_assert_int_eq(mkdir(in_scratch("out"), 0777), 0);
    rt_transformer *model = written_model("roformer");
    remove_tree(in_scratch("out"));
    is_status(rt_huggingface_write(".gguf", model, &export), RT_CONFIG,
              ".gguf: a model is exported as a folder; name one, for config.json and "
              "model.safetensors, or a file.gguf");
    put_text("out", "x");
    is_status(write_model(model), RT_CONFIG, lasting("%s/out: not a folder", scratch));
    is_status(rt_huggingface_write(in_scratch("no/out"), model, &export), RT_IO,
              lasting("cannot make the folder %s/no/out: No such file or directory", scratch));
}

TEST(labels_of_any_letters_are_read_again)
{
    static const char *const labels[] = {"a \"b\" \\", "\n\t\x01", "\xc3\xa9", "\xff-"};
    rt_transformer *model = model_of_words("roformer head=token labels=4");
    expect_ok(write_with(model, &(rt_huggingface_export){.labels = labels, .length = 2000}));
    rt_huggingface *there = opened_folder(in_scratch("out"));
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(there->labels[i], labels[i]);
    ck_assert_str_eq(there->labels[3], "\xef\xbf\xbd-");
    ck_assert_int_eq(there->max_positions, 2000);
}

TEST(the_training_length_is_read_back)
{
    rt_transformer *model = model_of_words("roformer");
    expect_ok(write_with(model, &(rt_huggingface_export){.length = 24}));
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->length, 24);
    ck_assert_int_eq(there->max_positions, 1536); /* of the table, which leaves room */
    remove_tree(in_scratch("out"));
    expect_ok(write_with(model, &(rt_huggingface_export){.length = 24, .table_rows = 24}));
    there = opened_folder(in_scratch("out"));
    ck_assert_int_eq(there->max_positions, 24);
    remove_tree(in_scratch("out"));
    expect_ok(write_with(model, &(rt_huggingface_export){.length = 5})); /* fewer than others */
    expect_ok(rt_huggingface_import(&there, in_scratch("out")));
    ck_assert_int_eq(there->data.length, 5);
    rt_huggingface_close(there);
}

TEST(the_card_escapes_markup)
{
    static const char *const facts[] = {"<script>`x`</script> [a](b)\n# heading"};
    const rt_huggingface_export export = {.length = 8,
                                          .title = "a\n---\n",
                                          .facts = facts,
                                          .fact_count = 1};
    expect_ok(write_with(model_of_words("roformer"), &export));
    const char *card = text_in("out/README.md");
    expect_in(card, "# a --- \n");
    expect_in(card, "- &#60;script&#62;\\`x\\`&#60;/script&#62; \\[a\\]\\(b\\) \\# heading\n");
    expect_in(card, "theta_i = 10000^(-2i/8), which is fixed.\n");
}

TEST(a_vocabulary_and_its_tokenizer_are_written)
{
    const rt_huggingface_export export = {.vocabulary = characters_of("bca\n", 4),
                                          .lowercase = true,
                                          .length = 8};
    expect_ok(write_with(model_of_words("roformer"), &export));
    expect_content("out/vocab.txt", "[PAD]\n[CLS]\n[MASK]\n[SEP]\n[UNK]\n\\n\na\nb\nc\n");
    const char *text = text_in("out/tokenizer_config.json");
    expect_in(text, "\"tokenizer_class\": \"BertTokenizer\"");
    expect_in(text, "\"do_lower_case\": true");
    ck_assert_str_eq(opened_folder(in_scratch("out"))->level, "char");
}

TEST_ROWS(a_model_is_written_as_the_first_family_that_can_express_it, 0, 4)
{
    static const rt_family *const families[] = {&rt_family_mistral, &rt_family_gpt_neox,
                                                &rt_family_llama, NULL};
    static const struct {
        const char *words;
        const rt_family *family;
    } rows[] = {{"decoder model.norm_kind=layer model.ffn=plain model.bias=all",
                 &rt_family_gpt_neox},
                {"decoder model.ffn=geglu", &rt_family_llama},
                {"decoder model.ffn=geglu model.window=5", &rt_family_mistral},
                {"decoder model.norm=post", NULL}};
    const rt_family *found;
    rt_transformer_options o = options_of(rows[_i].words);
    rt_transformer_resolve(&o);
    const rt_status status = rt_family_find(&found, families, &o);
    if (!rows[_i].family)
        is_status(status, RT_CONFIG,
                  "model.norm = post cannot be exported: a Llama of Hugging Face has its norms "
                  "before the blocks");
    else
        ck_assert_ptr_eq(status.code ? NULL : found, rows[_i].family);
}

#define HAVE    "config.json: rotor_theta must have "
#define MEMBERS "scope, form, base, and theta by layer, head and pair"
#define ABOVE_0 " heads of 4 numbers, which are above 0 if their form is log"
static const char *const wrong_theta[][3] = {
    {"\"scope\": \"layer\"", "\"scope\": \"pair\"", HAVE MEMBERS},
    {"\"scope\": \"layer\"", "\"scope\": \"head\"", HAVE "2 layers of 4" ABOVE_0},
    {"[[1, ", "[[-1, ", HAVE "2 layers of 1" ABOVE_0},
    {"[[1, ", "[], [[1, ", HAVE MEMBERS},
    {"]]\n", "]], []\n", HAVE "a list for each of 2 layers"},
};

TEST_ROWS(theta_of_another_form_are_refused, 0, ROWS(wrong_theta))
{
    written_model("roformer theta.learn=yes");
    change_file("out/config.json", wrong_theta[_i][0], wrong_theta[_i][1]);
    is_status(try_folder((char *)in_scratch("out")), RT_CHECKPOINT, wrong_theta[_i][2]);
}

/* Read off the table alone. A pair that rotates the other way, or not at all before one that does:
 * ln theta is no number. */
TEST_ROWS(theta_that_have_no_logarithm_are_raw, 0, 3)
{
    static const double thetas[][4] = {{0.9, -0.31, 0.02, 0.00017},
                                       {0.9, 0.31, 0, 0.00017},
                                       {0.9, 0.31, 0.02, 0.00017}};
    double read[4];
    rt_transformer *model =
        model_of_words("roformer theta.learn=yes theta.scope=model theta.form=raw");
    rt_transformer_set_theta(model, thetas[_i]);
    expect_ok(write_model(model));
    change_file("out/config.json", "\"rotor_theta\"", "\"theta\"");
    rt_huggingface *there = opened_folder(in_scratch("out"));
    ck_assert(there->options.theta.learn);
    ck_assert_int_eq(there->options.theta.form, _i < 2 ? RT_THETA_RAW : RT_THETA_LOG);
    rt_transformer *again = new_model(&there->options, 5);
    ck_assert(take_values(there, again).theta);
    ck_assert_uint_eq(rt_transformer_theta_count(&there->options), 4);
    rt_transformer_theta(again, read);
    for (int i = 0; i < 4; i++)
        ck_assert_msg(fabs(read[i] - thetas[_i][i]) <= 1e-6 * fabs(thetas[_i][i]) + 1e-9,
                      "theta %d is %.9g instead of %.9g", i, read[i], thetas[_i][i]);
}

/* Hugging Face has the bias twice, and uses that of the decoder. */
TEST(an_untied_decoder_has_its_bias)
{
    enum { VOCAB = 13 };
    static const char *const names[] = {"cls.predictions.decoder.bias", "cls.predictions.bias"};
    rt_transformer *model = written_model("roformer model.tie_embeddings=no");
    for (int n = 0; n < 2; n++) {
        double bias[VOCAB];
        const rt_safetensor *t =
            rt_safetensors_find(opened_weights("out/model.safetensors"), names[n]);
        ck_assert_msg(t != NULL, "no %s", names[n]);
        expect_ok(rt_safetensors_doubles(t, 0, VOCAB, bias));
        for (int i = 0; i < VOCAB; i++)
            ck_assert_double_eq(bias[i], (double)(float)model->head.output.bias->data[i]);
    }
}

/* An unsigned integer of 64 bits becomes the largest of 63, since Jansson has no larger one. */
TEST(integers_of_more_than_64_bits_keep_17_digits)
{
    char text[] = "{\"a\": [18446744073709551615, 18446744073709551616, -9223372036854775809, "
                  "123456789012345678901]}";
    static const double numbers[] = {0, 18446744073709551e3, -92233720368547758e2,
                                     12345678901234567e4};
    json_t *object;
    expect_ok(rt_json_read(&object, "a.json", text, strlen(text)));
    const json_t *list = json_object_get(object, "a");
    ck_assert(json_integer_value(json_array_get(list, 0)) == INT64_MAX);
    for (size_t i = 1; i < ROWS(numbers); i++)
        ck_assert(json_real_value(json_array_get(list, i)) == numbers[i]);
    json_decref(object);
}

/* Every double reads back exactly. Whole numbers have no point, unless a float is wanted. */
TEST(numbers_are_short_and_exact)
{
    static const double numbers[] = {0.1, 1e-12, -0.0, 10000, 1.0 / 3, 1e-300, -3, 1.5e300};
    json_t *object = json_object();
    rt_json_put(&object, "list", rt_json_numbers(numbers, ROWS(numbers)));
    rt_json_put(&object, "whole", json_real(3));
    char *text = rt_json_text(object);
    ck_assert_str_eq(text,
                     "{\n  \"list\": [0.1, 1e-12, -0.0, 10000, 0.3333333333333333, 1e-300, -3, "
                     "1.5e+300],\n  \"whole\": 3.0\n}\n");
    json_t *again = json_loads(text, 0, NULL);
    for (size_t i = 0; i < ROWS(numbers); i++) {
        const double value = json_number_value(json_array_get(json_object_get(again, "list"), i));
        ck_assert_int_eq(memcmp(&value, numbers + i, sizeof value), 0);
    }
    json_decref(again);
    rt_free(text);
    json_decref(object);
}

static rt_huggingface_export everything; /* that an export can have */

static rt_status try_export(void *model)
{
    const rt_status status = write_with(model, &everything);
    ck_assert(has_file("config.json") == (status.code == RT_OK));
    return status;
}

SAMPLED_ROWS(every_allocation_can_fail, 0, 4, 2)
{
    static const char *const models[] = {"roformer head=sequence labels=2", "decoder", "modernbert",
                                         "esm"};
    static const char *const labels[] = {"a", "b"}, *const facts[] = {"loss: 1"};
    everything = (rt_huggingface_export){.vocabulary = characters_of("abc", 3),
                                         .length = 8,
                                         .labels = _i ? NULL : labels,
                                         .facts = facts,
                                         .fact_count = 1,
                                         .overwrite = true};
    expect_faults(try_export,
                  model_of_words(lasting("%s theta.learn=yes theta.scope=head", models[_i])), 10);
    const char *folder = lasting("%s", in_scratch("out"));
    expect_ok_after_refusals(10, try_folder(folder));
}
