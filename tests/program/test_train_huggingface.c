/* Folders of Hugging Face through the program: evaluated, asked, trained on, and written. */

#include "train_program.h"

/* Labels that letters of the fixtures' vocabulary decide; config of the same shape as theirs. */
static void enter_with_files(void)
{
    enter();
    setenv("HF", TEST_SOURCES "/fixtures/huggingface", 1);
    run("awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 200; i++) { s = substr(\"a b d f a b "
        "d f\", 1 + 2 * (i %% 4), 1 + 2 * (i * 7 %% 4)); print (i %% 2 ? \"y \" s : s) \"\\t\" (i "
        "%% 2 ? \"with\" : \"none\") } }' >c.tsv; awk 'BEGIN { for (i = 0; i < 200; i++) { for (k "
        "= 0; k < 1 + i %% 5; k++) { t = (i * 7 + k * 3) %% 4; print (t == 1 ? \"y\" : \"b\") "
        "\"\\t\" (t == 1 ? \"Y\" : \"O\") } print \"\" } }' >t.tsv; for i in $(seq 300); do echo "
        "'a b? d; f y'; done >text.txt");
    run("printf '[data]\\ntask = classify\\nfile = c.tsv\\nlevel = wordpiece\\nlength = "
        "12\\n[model]\\ndim = 24\\nheads = 3\\nffn_dim = 40\\n[optimizer]\\nlr = "
        "0.01\\nschedule_steps = 60\\n[train]\\nsteps = 60\\nbatch_size = 16\\neval_every = "
        "20\\ncheckpoint_every = 20\\ninit_from = '$HF'/masked_lm/hf\\n' >c.ini");
}

#define CLASSIFY "c.ini "
#define TAG      CLASSIFY "data.task=tag data.vocab=32 data.file=t.tsv "
#define LEARNED  "theta.learn=yes theta.scope=head "
#define LM                                                                                         \
    CLASSIFY "data.task=text data.vocab=32 data.file=text.txt data.objective=lm model.causal=yes " \
             "train.init_from=$HF/causal_lm/hf "

SUITE(.setup = enter_with_files, .teardown = leave, .timeout = 300)

/* Answers of transformers 5.23; special tokens are counted, but not shown. */
TEST(a_folder_answers_as_in_transformers)
{
#define MASKED "--checkpoint $HF/masked_lm/hf "
    expect_output("a b l d\nmask 1: 'l' 0.450, 'y' 0.412, ',' 0.010, '-' 0.008, 'k' 0.006\n",
                  "$TRAIN " MASKED "--predict 'a b [MASK] d'");
    expect_output(
        "a b h h . a h h . .\n",
        "$TRAIN --checkpoint $HF/causal_lm/hf --predict 'a b' --temperature 0 --tokens 8");
    const char *line = evaluate(MASKED "data.file=text.txt");
    ck_assert_str_eq(evaluate(MASKED "data.file=text.txt theta.learn=yes"), line);
    expect_stderr(2, "--eval needs data: give data.file=FILE", "$TRAIN " MASKED "--eval");
    expect_exit(w, 2, "$TRAIN " MASKED "--eval --best");
    expect_stderr(2, "--decay reads the learned theta of a checkpoint", "$TRAIN " MASKED "--decay");
}

TEST(without_a_vocabulary_ids_are_read_and_texts_refused)
{
    expect_stdout("eval: loss 7.",
                  "seq 2000 | awk '{ print 4 + $1 * 7 %% 49 }' >ids.txt; h5import ids.txt -d 2000 "
                  "-p /ids -t TEXTIN -s 32 -o ids.h5; $TRAIN --checkpoint $HF/masked_lm_bf16/hf "
                  "--eval data.file=ids.h5:/ids");
    expect_no_text(w->out, "diverged");
    expect_stderr(4,
                  "/model/hf has no tokenizer that rotor reads, such as tokenizer.json: the model "
                  "reads token ids, not texts\n",
                  "$TRAIN --checkpoint $HF/model/hf --predict 'a [MASK]'");
    run("$TRAIN --checkpoint $HF/model/hf --print-config");
    run("$TRAIN --checkpoint $HF/model/hf --export out && ! grep rotor_length out/config.json && "
        "grep 'converted with rotor' out/README.md");
    ck_assert(exists("out/model.safetensors") && !exists("out/vocab.txt"));
}

TEST(a_missing_head_or_another_activation_is_a_warning)
{
    run("cp -r $HF/model/hf m; chmod -R u+w m; cp $HF/masked_lm/hf/vocab.txt m; echo "
        "'{\"tokenizer_class\": \"BertTokenizer\"}' >m/tokenizer_config.json");
    expect_stderr(
        0, "train: warning: the folder has no head for this model: the head is newly initialized",
        "$TRAIN --checkpoint m --predict 'a [MASK]' --quiet");
    expect_no_stderr("warning", "$TRAIN --checkpoint $HF/masked_lm/hf --predict 'a [MASK]'");
    expect_stderr(0, "train: warning: model.activation differs from the folder's model",
                  "$TRAIN " CLASSIFY "--quiet train.steps=1 model.activation=relu");
    expect_no_stderr("warning", "$TRAIN " CLASSIFY "train.steps=1 run.name=b");
}

TEST(a_vocabulary_with_fewer_tokens_than_rows_is_trained_on)
{
    run("cp -r $HF/masked_lm/hf m; chmod -R u+w m; sed -i '$d' m/vocab.txt");
    run("$TRAIN " CLASSIFY "train.init_from=m train.steps=20");
    run("$TRAIN " CLASSIFY "train.init_from=m --resume");
    const char *line = evaluate("--checkpoint runs/c");
    run("$TRAIN --checkpoint runs/c --export out");
    run("grep -q '\"vocab_size\": 53,' out/config.json");
    ck_assert_str_eq(evaluate("--checkpoint out data.file=c.tsv"), line);
}

TEST_ROWS(an_exported_folder_evaluates_as_its_run, 0, 3)
{
    static const struct {
        const char *arguments, *file;
    } tasks[] = {{CLASSIFY, "c.tsv"}, {TAG LEARNED, "t.tsv"}, {LM, "text.txt"}};
    run("$TRAIN %s optimizer.lr=0.002", tasks[_i].arguments);
    expect_export_of("c", tasks[_i].file, "config.json vocab.txt tokenizer_config.json");
}

TEST(classes_keep_their_names_in_another_order)
{
    run("$TRAIN " CLASSIFY);
    const char *line = evaluate("--checkpoint runs/c");
    run("$TRAIN --checkpoint runs/c --export out");
    expect_no_stderr("newly initialized",
                     "$TRAIN " CLASSIFY "train.init_from=out run.name=b train.steps=1");
    expect_stderr(0, "train: the head of the model is newly initialized\n",
                  "cp c.tsv old.tsv; sed -i s/none/znone/ c.tsv; $TRAIN " CLASSIFY
                  "train.init_from=out run.name=d train.steps=1");
    run("grep -q '\"0\": \"none\"' out/config.json && sed -i s/none/znone/ out/config.json");
    ck_assert_str_eq(evaluate("--checkpoint out data.file=c.tsv"), line);
}

TEST(the_card_describes_the_run)
{
    double loss, accuracy, told[2];
    run("$TRAIN " CLASSIFY LEARNED);
    ck_assert_int_eq(sscanf(line_of(w->out, "eval: "), "eval: loss %lf, accuracy %lf", &loss,
                            &accuracy),
                     2);
    expect_stdout("which was given and not trained",
                  "$TRAIN " CLASSIFY LEARNED "theta.lr_scale=0 train.steps=1 run.name=kept --quiet "
                  "&& $TRAIN --checkpoint runs/kept --export kept; cat kept/README.md");
    expect_stdout("learned separately for every head, but given and not trained in layers 1. ",
                  "$TRAIN " CLASSIFY LEARNED "train.freeze=layers.1 train.steps=9 run.name=half "
                  "--quiet && $TRAIN --checkpoint runs/half --export half; cat half/README.md");
    expect_stdout("\n# c\n", "$TRAIN --checkpoint runs/c --export out; cat out/README.md");
    expect_text(w->out, "which was learned ");
    expect_text(
        w->out,
        "\n- data: classify of c.tsv\n- training: 60 steps with seed 1\n- evaluation: loss ");
    ck_assert_int_eq(sscanf(line_of(w->out, "- evaluation: "),
                            "- evaluation: loss %lf, accuracy %lf", told, told + 1),
                     2);
    expect_number(told[0] / loss, 1 - 2e-5, 1 + 2e-5);
    ck_assert_double_eq(told[1], accuracy);
    expect_text(w->out, "\n- theta: max relative drift ", "\ndef use_own_theta(model):\n");
    /* an older checkpoint is not what result.csv is of */
    expect_stdout("\n- data: classify of c.tsv\n- training: 20 steps with seed 1\n",
                  "$TRAIN --checkpoint runs/c/checkpoints/step-00000020.h5 --export out "
                  "--overwrite; cat out/README.md");
    expect_no_text(w->out, "evaluation:");
    expect_stdout(
        "\n- theta: fixed\n",
        "$TRAIN --checkpoint $HF/masked_lm/hf --export out --overwrite; cat out/README.md");
    expect_no_text(w->out, "training:");
}
