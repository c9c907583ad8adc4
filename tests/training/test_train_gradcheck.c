/* --gradcheck of models that keys describe, alone and in pairs. */

#include "train_program.h"

/* At this seed units of relu lie within a step of their kink. */
START_TEST(the_gradients_of_a_model_of_relu_pass)
{
    expect_exit(w, 0,
                "$TRAIN64 --gradcheck tiny.ini run.seed=4 model.layers=1 model.dim=64 "
                "model.heads=1 data.length=6 data.vocab=8 model.activation=relu theta.learn=no");
    expect_text(w->out, "ok (at kinks too)");
    expect_text(w->out, "passed\n");
}
END_TEST

START_TEST(the_gradients_of_a_configured_model_pass)
{
    static const char *const options[] = {
        "theta.scope=model model.norm=pre position.pairing=half",
        "theta.scope=head theta.form=raw model.causal=yes position.rotate_value=yes",
        "theta.learn=no model.embedding_dim=12 model.tie_embeddings=no model.dropout=0.2",
        "position.fraction=0.5 model.activation=gelu_tanh model.attention_dropout=0.2",
        "theta.learn=no position.kind=none data.task=reverse",
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        expect_exit(w, 0, "$TRAIN64 --gradcheck tiny.ini %s", options[i]);
    expect_text(w->out, "passed\n");
    expect_text(w->out, "roformer.encoder.layer.1.attention.self.key.bias");
    expect_text(w->out, "ok (zero by symmetry)");
}
END_TEST

/* ---- the blocks of decoders ---- */

#define SMALL "model.dim=8 data.length=6 data.vocab=6 "

static const char *const keys[] = {
    "model.kind=decoder",
    "model.causal=yes position.xpos=16",
    "model.norm_kind=rms",
    "model.ffn=swiglu",
    "model.ffn=geglu model.tie_embeddings=no",
    "model.bias=no",
    "model.kv_heads=1",
    "model.window=3",
    "position.every=2",
    "position.fraction=0.5 position.pairing=half",
    "position.scaling=yarn position.scale=4 position.original_len=4",
    "theta.scope=head",
    "theta.scope=model theta.form=raw",
};
enum { KEYS = sizeof keys / sizeof *keys };

START_TEST(the_gradients_of_a_key_pass_alone)
{
    expect_exit(w, 0, "$TRAIN64 --gradcheck tiny.ini " SMALL "%s", keys[_i]);
    expect_text(w->out, "passed\n");
}
END_TEST

static bool same_key(const char *one, const char *other)
{
    const size_t length = strcspn(one, "=");
    return !strncmp(one, other, length + 1);
}

START_TEST(the_gradients_of_a_key_pass_with_each_other_one)
{
    for (int i = 0; i < _i; i++) {
        if (same_key(keys[i], keys[_i]))
            continue;
        expect_exit(w, 0, "$TRAIN64 --gradcheck tiny.ini " SMALL "%s %s", keys[i], keys[_i]);
        expect_text(w->out, "passed\n");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train gradcheck");
    TCase *tests = program_case(suite);
    tcase_add_test(tests, the_gradients_of_a_model_of_relu_pass);
    tcase_add_test(tests, the_gradients_of_a_configured_model_pass);
    tcase_add_loop_test(tests, the_gradients_of_a_key_pass_alone, 0, KEYS);
    tcase_add_loop_test(tests, the_gradients_of_a_key_pass_with_each_other_one, 1, KEYS);
    return run_suite(suite);
}
