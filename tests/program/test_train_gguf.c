/* `train --export FILE.gguf`: contents and refusals. scripts/check llama runs llama.cpp on it. */

#include "train_program.h"

#define MODEL                                                                                      \
    TINY "train.steps=1 optimizer.lr=1e-12 data.task=text data.vocab=32 "                          \
         "data.file=tiny.ini data.level=byte "
#define DECODER MODEL "theta.learn=no model.kind=decoder "
#define EXPORT  "$TRAIN --quiet --checkpoint runs/tiny --export "

static const unsigned char *read_bytes(const char *path, size_t *size)
{
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    *size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return bytes;
}

static uint64_t number_at(const unsigned char *at, int size)
{
    uint64_t number = 0;
    for (int i = size; i--;)
        number = number << 8 | at[i];
    return number;
}

/* Returns the bytes after a text that occurs once; NULL otherwise. */
static const unsigned char *behind(const unsigned char *bytes, size_t size, const char *text)
{
    const unsigned char *found = NULL;
    const size_t length = strlen(text);
    for (size_t i = 0; i + length <= size; i++)
        if (!memcmp(bytes + i, text, length) && number_at(bytes + i - 8, 8) == length)
            found = bytes + i + length;
    return found;
}

/* Returns the number of so many bytes at a distance after a text that must occur. */
static uint64_t number_in(const unsigned char *bytes, size_t size, const char *text, int distance,
                          int width)
{
    const unsigned char *at = behind(bytes, size, text);
    ck_assert_msg(at != NULL, "there is no %s", text);
    return number_at(at + distance, width);
}

SUITE(PROGRAM_OPTIONS)

TEST(a_decoder_is_a_file_of_keys_and_tensors)
{
    size_t size;
    run(DECODER "position.pairing=half && " EXPORT "out.gguf");
    const unsigned char *bytes = read_bytes("out.gguf", &size), *at;
    ck_assert_mem_eq(bytes, "GGUF\3\0\0\0", 8);
    ck_assert_uint_eq(number_in(bytes, size, "llama.vocab_size", 0, 4), 4); /* a uint32 */
    ck_assert_uint_eq(number_in(bytes, size, "llama.vocab_size", 4, 4), 260);
    ck_assert_uint_eq(number_in(bytes, size, "llama.context_length", 4, 4), 12); /* data.length */
    ck_assert_uint_eq(number_in(bytes, size, "token_embd.weight", 0, 4), 2);
    ck_assert_uint_eq(number_in(bytes, size, "token_embd.weight", 12, 8),
                      260);                                                   /* last axis first */
    ck_assert_uint_eq(number_in(bytes, size, "token_embd.weight", 20, 4), 0); /* F32 */
    ck_assert_ptr_nonnull(at = behind(bytes, size, "tokenizer.ggml.model"));
    ck_assert_mem_eq(at + 4, "\4\0\0\0\0\0\0\0gpt2", 12);
    ck_assert_ptr_null(behind(bytes, size, "rope_freqs.weight"));
    expect_message(2, "train: out.gguf: the file exists; give --overwrite to replace it\n",
                   EXPORT "out.gguf");
    run(EXPORT "out.gguf --overwrite --dtype f16");
    bytes = read_bytes("out.gguf", &size);
    ck_assert_uint_eq(number_in(bytes, size, "token_embd.weight", 20, 4), 1); /* F16 */
    ck_assert_uint_eq(number_in(bytes, size, "output_norm.weight", 12, 4), 0);
}

/* The numbers begin at a multiple of 32 after the name, axes, type and offset of the last tensor.
 */
static size_t header_of(const unsigned char *bytes, size_t size)
{
    const unsigned char *factors = behind(bytes, size, "rope_freqs.weight");
    const unsigned char *output = behind(bytes, size, "output.weight");
    ck_assert_ptr_nonnull(output);
    const size_t axes = factors ? 1 : 2;
    const size_t end = (size_t)((factors ? factors : output) - bytes) + 4 + 8 * axes + 4 + 8;
    return (end + 31) / 32 * 32;
}

static float number_of(const char *path, const char *tensor, int axes, size_t number)
{
    size_t size;
    const unsigned char *bytes = read_bytes(path, &size), *at = behind(bytes, size, tensor);
    ck_assert_ptr_nonnull(at);
    const size_t begin =
        header_of(bytes, size) + number_at(at + 4 + 8 * (size_t)axes + 4, 8) + 4 * number;
    const uint32_t bits = (uint32_t)number_at(bytes + begin, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TEST(queries_are_interleaved_in_the_file)
{
    run(DECODER "position.pairing=half model.heads=1 && " EXPORT "half.gguf");
    run(DECODER "position.pairing=interleaved model.heads=1 run.name=other");
    run("$TRAIN --quiet --checkpoint runs/other --export other.gguf");
    /* Both models start alike: of a head of 16, row 1 of the file is row 8 of halves, row 1 of
     * pairs. */
    const size_t row = 16;
    ck_assert_float_eq_tol(number_of("half.gguf", "blk.0.attn_q.weight", 2, 0),
                           number_of("other.gguf", "blk.0.attn_q.weight", 2, 0), 1e-6F);
    ck_assert_float_eq_tol(number_of("half.gguf", "blk.0.attn_q.weight", 2, row),
                           number_of("other.gguf", "blk.0.attn_q.weight", 2, 8 * row), 1e-6F);
    ck_assert_float_eq_tol(number_of("half.gguf", "blk.0.attn_q.weight", 2, 2 * row),
                           number_of("other.gguf", "blk.0.attn_q.weight", 2, row), 1e-6F);
    /* scaled frequencies are factors */
    run(DECODER "position.scaling=linear position.scale=4 --overwrite && " EXPORT "out.gguf");
    for (size_t i = 0; i < 2; i++)
        ck_assert_float_eq_tol(number_of("out.gguf", "rope_freqs.weight", 1, i), 4, 1e-6F);
}

TEST(a_decoder_with_norms_of_queries_is_a_qwen3)
{
    size_t size;
    run(DECODER "model.qk_norm=yes model.heads=1 position.pairing=half && " EXPORT "out.gguf");
    const unsigned char *bytes = read_bytes("out.gguf", &size), *at;
    ck_assert_ptr_nonnull(at = behind(bytes, size, "general.architecture"));
    ck_assert_mem_eq(at + 4, "\5\0\0\0\0\0\0\0qwen3", 13);
    ck_assert_uint_eq(number_in(bytes, size, "qwen3.rope.dimension_count", 4, 4), 16);
    ck_assert_ptr_nonnull(behind(bytes, size, "qwen3.vocab_size"));
    ck_assert_ptr_null(behind(bytes, size, "llama.vocab_size"));
    ck_assert_ptr_nonnull(behind(bytes, size, "blk.0.attn_q_norm.weight"));
    ck_assert_ptr_nonnull(behind(bytes, size, "blk.0.attn_k_norm.weight"));
    /* The features of queries are in halves as in the model. A Llama with the same initial values
     * has them interleaved. */
    run(DECODER "model.heads=1 position.pairing=half run.name=other");
    run("$TRAIN --quiet --checkpoint runs/other --export other.gguf");
    ck_assert_float_eq_tol(number_of("out.gguf", "blk.0.attn_q.weight", 2, 8 * 16),
                           number_of("other.gguf", "blk.0.attn_q.weight", 2, 16), 1e-6F);
}

TEST(a_decoder_with_biases_of_queries_is_a_qwen2)
{
    size_t size;
    run(DECODER "model.bias=qkv && " EXPORT "out.gguf");
    const unsigned char *bytes = read_bytes("out.gguf", &size);
    ck_assert_ptr_nonnull(behind(bytes, size, "qwen2.vocab_size"));
    ck_assert_ptr_nonnull(behind(bytes, size, "blk.0.attn_q.bias"));
    run("$TRAIN --quiet --checkpoint out.gguf --print-config | grep '^bias = qkv$'");
    /* llama.cpp reads factors of theta for a Llama alone, which may have such biases */
    run(DECODER "model.bias=qkv position.fraction=0.5 --overwrite && " EXPORT
                "out.gguf --overwrite");
    bytes = read_bytes("out.gguf", &size);
    ck_assert_ptr_nonnull(behind(bytes, size, "llama.vocab_size"));
    ck_assert_ptr_nonnull(behind(bytes, size, "rope_freqs.weight"));
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
