/* `train --export FILE.gguf`: contents and refusals. scripts/check llama runs llama.cpp on it. */

#include "train_program.h"

#include "io/gguf/private.h"

#define MODEL                                                                                      \
    TINY "train.steps=1 optimizer.lr=1e-12 data.task=text data.vocab=32 "                          \
         "data.file=tiny.ini data.level=byte "
#define DECODER MODEL "theta.learn=no model.kind=decoder "
#define EXPORT  "$TRAIN --quiet --checkpoint runs/tiny --export "

static rt_gguf file; /* the one that was opened last */

static void close_file(void)
{
    rt_gguf_close(&file);
}

/* Reads a file by the reader, which tests/io/gguf/test_gguf.c holds to numbers of llama.cpp. */
static void open_file(const char *path)
{
    close_file();
    expect_ok(rt_gguf_open(&file, path));
}

static const rt_safetensor *tensor(const char *name)
{
    const rt_safetensor *t = rt_safetensors_find(file.tensors, name);
    ck_assert_msg(t != NULL, "there is no %s", name);
    return t;
}

static double number_of(const char *path, const char *name, uint64_t number)
{
    double value;
    open_file(path);
    expect_ok(rt_safetensors_doubles(tensor(name), number, 1, &value));
    return value;
}

SUITE(PROGRAM_OPTIONS, .clean = close_file)

/* The key of the vocabulary is a uint32. */
TEST(a_decoder_is_a_file_of_keys_and_tensors)
{
    run(DECODER "position.pairing=half && " EXPORT "out.gguf");
    open_file("out.gguf");
    run("grep -qaP 'llama.vocab_size\\x04\\x00\\x00\\x00\\x04\\x01\\x00\\x00' out.gguf");
    ck_assert_int_eq(json_integer_value(json_object_get(file.keys, "llama.context_length")), 12);
    ck_assert_str_eq(tensor("token_embd.weight")->type->name, "F32");
    ck_assert_uint_eq(tensor("token_embd.weight")->shape[0], 260);
    ck_assert_ptr_null(rt_safetensors_find(file.tensors, RT_GGUF_FACTORS));
    expect_message(2, "train: out.gguf: the file exists; give --overwrite to replace it\n",
                   EXPORT "out.gguf");
    run(EXPORT "out.gguf --overwrite --dtype f16");
    open_file("out.gguf");
    ck_assert_str_eq(tensor("token_embd.weight")->type->name, "F16");
    ck_assert_str_eq(tensor("output_norm.weight")->type->name, "F32");
}

/* Models of a head of 16 with the same initial values, and the row of the first that is the same as
 * a row of the second: of halves row 8 is row 1 of pairs, and a Llama is written in pairs. */
TEST_ROWS(queries_are_interleaved_in_the_file_of_a_llama_alone, 0, 3)
{
    static const struct {
        const char *one, *other;
        uint64_t row, same;
    } rows[] = {{"position.pairing=half", "position.pairing=interleaved", 1, 8},
                {"position.pairing=half", "position.pairing=interleaved", 2, 1},
                {"model.qk_norm=yes position.pairing=half", "position.pairing=half", 8, 1}};
    static const char query[] = "blk.0.attn_q.weight";
    run(DECODER "model.heads=1 %s && " EXPORT "one.gguf", rows[_i].one);
    run(DECODER "model.heads=1 %s --overwrite && " EXPORT "other.gguf", rows[_i].other);
    ck_assert_double_eq_tol(number_of("one.gguf", query, 16 * rows[_i].row),
                            number_of("other.gguf", query, 16 * rows[_i].same), 1e-6);
    ck_assert_double_eq_tol(number_of("one.gguf", query, 0), number_of("other.gguf", query, 0),
                            1e-6);
}

/* Only a Llama can have factors of theta, and may have biases of queries beside them. */
TEST_ROWS(a_decoder_is_written_as_the_family_that_has_its_tensors, 0, 4)
{
    static const struct {
        const char *settings, *family, *tensor;
    } rows[] = {{"model.qk_norm=yes model.heads=1 position.pairing=half", "qwen3",
                 "blk.0.attn_k_norm.weight"},
                {"model.bias=qkv", "qwen2", "blk.0.attn_q.bias"},
                {"model.bias=qkv position.fraction=0.5", "llama", RT_GGUF_FACTORS},
                {"position.scaling=linear position.scale=4", "llama", RT_GGUF_FACTORS}};
    run(DECODER "%s && " EXPORT "out.gguf", rows[_i].settings);
    open_file("out.gguf");
    ck_assert_str_eq(json_string_value(json_object_get(file.keys, "general.architecture")),
                     rows[_i].family);
    ck_assert_ptr_nonnull(json_object_get(file.keys, lasting("%s.vocab_size", rows[_i].family)));
    tensor(rows[_i].tensor);
    if (_i == 3)
        ck_assert_double_eq_tol(number_of("out.gguf", RT_GGUF_FACTORS, 1), 4, 1e-6);
}

/* Options of a decoder, whose file has the same losses. */
static const char *const options[] = {
    "",
    "position.pairing=half",
    "model.qk_norm=yes",
    "model.bias=qkv model.heads=2",
    "model.bias=all model.tie_embeddings=no",
    "model.window=5",
    "position.frequencies=linear",
    "theta.scope=model",
    "position.fraction=0.5",
    "position.scaling=linear position.scale=4",
    "position.scaling=yarn position.scale=4 position.original_len=4",
    "position.scaling=llama3 position.scale=2 position.original_len=4"};

/* Returns the loss of a model on the text of the run. */
static double loss_of(const char *model)
{
    run("$TRAIN64 --checkpoint %s --eval --quiet data.file=tiny.ini data.length=12", model);
    return number_behind(w->out, "eval: loss ");
}

TEST_ROWS(a_file_that_was_written_is_read, 0, ROWS(options))
{
    run(MODEL "model.kind=decoder %s%s", strstr(options[_i], "scope") ? "" : "theta.learn=no ",
        options[_i]);
    run(EXPORT "out.gguf");
    run("$TRAIN --quiet --checkpoint out.gguf --export hf");
    run("$TRAIN --quiet --checkpoint out.gguf --export again.gguf");
    const double loss = loss_of("out.gguf");
    ck_assert_double_eq_tol(loss_of("hf"), loss, 1e-5 * loss);
    ck_assert_double_eq_tol(loss_of("again.gguf"), loss, 1e-5 * loss);
    if (!strstr(options[_i], "window")) /* the file has no window */
        ck_assert_double_eq_tol(loss_of("runs/tiny"), loss, 1e-5 * loss);
}

TEST(a_training_starts_from_a_file)
{
    run(DECODER "position.pairing=half");
    run(EXPORT "out.gguf");
    expect_stderr(2, "model.heads = 4 (command line); the model has 2",
                  TINY "model.heads=4 run.name=new data.task=text data.file=tiny.ini "
                       "train.init_from=out.gguf");
    run("$TRAIN --quiet --checkpoint out.gguf --print-config >own.ini");
    run("$TRAIN own.ini --quiet data.file=tiny.ini run.name=new train.init_from=out.gguf "
        "train.steps=1 optimizer.lr=1e-12 data.length=12");
    const double loss = loss_of("out.gguf");
    ck_assert_double_eq_tol(loss_of("runs/new"), loss, 1e-5 * loss);
    run("head -c 40 out.gguf >bad.gguf");
    expect_stderr(4, "bad.gguf: the file: 21 tensors are more than the 1 that there can be",
                  "$TRAIN --checkpoint bad.gguf --eval");
}
