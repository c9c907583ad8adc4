/* Encoders as ModernBERT and ESM-2: trained, exported to Hugging Face, and used from there. */

#include "train_program.h"

#define BPE      TEST_SOURCES "/fixtures/bpe/modernbert/tokenizer.json"
#define RESIDUES TEST_SOURCES "/fixtures/residue/vocab.txt"

static void make_files(void)
{
    run("for i in $(seq 60); do echo 'the model is a model of the texts'; done >text.txt; for i in "
        "$(seq 60); do echo MKTAYIAKQRQISFVKSHFSRQLEERL; done >proteins.txt; printf "
        "'[model]\\nnorm = pre\\nnorm_bias = no\\nfirst_norm = no\\nffn = geglu\\nbias = "
        "output\\nwindow = 4\\nlayer_types = full, sliding\\nlayers = 2\\ndim = 16\\nheads = "
        "2\\n[position]\\npairing = half\\nbase = 160000\\nlocal_base = 10000\\n[data]\\ntask = "
        "text\\nlevel = bpe\\nfile = text.txt\\nvocab_file = " BPE
        "\\nlength = 16\\n[train]\\nsteps = 4\\n' >bert.ini; printf '[model]\\nnorm = "
        "pre\\nembedding_norm = no\\ntoken_dropout = yes\\nlayers = 2\\ndim = 16\\nheads = "
        "2\\n[position]\\npairing = half\\n[data]\\ntask = text\\nlevel = residue\\nfile = "
        "proteins.txt\\nvocab_file = " RESIDUES
        "\\ndocuments = line\\ncross = no\\nlength = 29\\n[train]\\nsteps = 4\\n' >esm.ini");
}

/* Trains a model and exports it as `name`, and as `foreign` as if another program had. */
static void make_folders(const char *name)
{
    run("$TRAIN %s.ini --quiet && $TRAIN --checkpoint runs/%s --export %s && cp -r %s foreign && "
        "sed -i '/\"rotor_/d' foreign/config.json",
        name, name, name, name);
    run("test %d = 0 || cp " BPE " foreign/", *name == 'b');
}

SUITE(PROGRAM_OPTIONS, .prepare = make_files)

TEST_ROWS(masks_are_filled_between_the_tokens_around_a_text, 0, 2)
{
    static const char *const names[] = {"bert", "esm"};
    static const char *const texts[] = {"the [MASK] of the", "MKT<mask>YIA"};
    make_folders(names[_i]);
    run("echo '%s' >asked; $TRAIN --checkpoint runs/%s --predict - --jsonl <asked >run", texts[_i],
        names[_i]);
    run("$TRAIN --checkpoint %s --predict - --jsonl <asked | cmp - run", names[_i]);
    expect_exit(w, 1, "$TRAIN --checkpoint foreign --predict - --jsonl <asked | cmp - run");
}

TEST(a_mask_of_a_protein_has_two_spellings)
{
    make_folders("esm");
    run("$TRAIN --checkpoint foreign --predict 'MK<mask>AY<mask>' >one; cat one");
    run("$TRAIN --checkpoint foreign --predict 'MK[MASK]AY[MASK]' | cmp - one");
    run("grep -q '^MK[A-Z.<-].*AY' one && grep -q '^mask 2: ' one");
    expect_stderr(0,
                  "words of the text that are not in the vocabulary and are read as [UNK]: 1, the "
                  "first is 'x' at byte 2",
                  "$TRAIN --checkpoint foreign --predict 'MKxy<mask>' >/dev/null");
    expect_stderr(2, "the text must have a [MASK] to fill",
                  "$TRAIN --checkpoint foreign --predict MKT");
    /* both have the token that the tokenizer adds after a protein, and count special tokens */
    char token[8];
    double probability, loss;
    int tokens;
    run("$TRAIN --checkpoint foreign --predict '<mask>' --jsonl");
    const char *answer = strstr(w->out, "\"masks\"");
    ck_assert_msg(answer &&
                      sscanf(answer, "\"masks\": [{\"token\": \"%7[^\"]\", \"probability\": %lf",
                             token, &probability) == 2,
                  "%s", w->out);
    run("echo %s >line; $TRAIN --quiet --checkpoint foreign --eval --per-line data.eval_file=line",
        token);
    ck_assert_msg(sscanf(w->out, "line,loss,tokens\n1,%lf,%d\n", &loss, &tokens) == 2, "%s",
                  w->out);
    ck_assert_int_eq(tokens, 1);
    ck_assert_double_eq_tol(loss, -log(probability), 1e-4);
}

#define SET_MASK(id)                                                                               \
    "sed -i 's/\"mask_token_id\": [0-9]*/\"mask_token_id\": " id "/' foreign/config.json; "

TEST(a_mask_token_id_that_the_vocabulary_contradicts_is_reported)
{
    make_folders("esm");
    expect_stderr(4, "config.json: mask_token_id is 7, but the mask of the vocabulary has the id ",
                  SET_MASK("7") "$TRAIN --checkpoint foreign --predict 'M<mask>'");
    expect_text(w->err, "; make them equal: with token_dropout = true the model depends on both");
    expect_stderr(
        0, "; rotor uses that of the vocabulary",
        "sed 's/\"token_dropout\": true/\"token_dropout\": false/' -i foreign/config.json; "
        "$TRAIN --checkpoint foreign --predict 'M<mask>'");
}

TEST(the_mask_of_token_ids_is_that_of_config_json)
{
    make_folders("esm");
    expect_stderr(2, "data.vocab_file must name a vocab.txt of ESM for data.level = residue",
                  "$TRAIN esm.ini --check data.vocab_file=");
    run("rm foreign/vocab.txt; " SET_MASK(
        "7") "$TRAIN --checkpoint foreign --export out; grep '\"mask_token_id\": 7' "
             "out/config.json; $TRAIN --checkpoint foreign --print-config | grep -x 'mask_id = 7'");
    expect_stderr(
        4, "config.json: mask_token_id is 0, the id of padding where the folder has no vocabulary",
        SET_MASK("0") "$TRAIN --checkpoint foreign --print-config");
}

TEST_ROWS(a_folder_makes_vectors_and_learns_labels, 0, 2)
{
    static const char *const names[] = {"bert", "esm"};
    static const char *const classes[] = {"ModernBertForSequenceClassification",
                                          "EsmForSequenceClassification"};
    make_folders(names[_i]);
    run("printf 'MKTA\\nYIAKQR\\n' >lines; $TRAIN --checkpoint foreign --embed lines >all; test "
        "$(wc -l <all) = 3; $TRAIN --checkpoint %s --embed lines | cmp - all && exit 1 || exit 0",
        names[_i]);
    run("awk 'BEGIN { print \"text\\tlabel\"; for (i = 0; i < 40; i++) print (i %% 2 ? \"MKTA\" : "
        "\"YIAK\") \"\\t\" (i %% 2 ? \"a\" : \"b\") }' >c.tsv; $TRAIN /dev/null --quiet "
        "data.task=classify data.file=c.tsv data.length=16 train.init_from=foreign train.steps=2 "
        "run.name=labels && $TRAIN --checkpoint runs/labels --export labels && grep -q %s "
        "labels/config.json && $TRAIN --checkpoint labels --predict MKTA",
        classes[_i]);
}
