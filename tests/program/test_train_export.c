/* The folder of an export: refused folders, and files that are kept. */

#include "train_program.h"

#define RUN TINY "train.steps=2 "

static ino_t inode_of(const char *path)
{
    struct stat facts;
    ck_assert_msg(!lstat(path, &facts), "%s is not there", path);
    return facts.st_ino;
}

static void expect_model(const char *folder)
{
    expect_stdout("\ndim = 16\n", "$TRAIN --checkpoint %s --print-config", folder);
    expect_text(w->out, "\nlength = 12\n");
    /* keys of a folder are listed with its name, without a line; defaults are left out */
    expect_text(w->err, lasting("%-25s model.heads ", folder));
    expect_no_text(w->err, lasting("%s:", folder), "model.layers ");
}

SUITE(PROGRAM_OPTIONS)

TEST(an_export_into_the_folder_of_a_run_is_refused_and_changes_nothing)
{
    static const char *const folders[] = {"runs/tiny", "runs/tiny/checkpoints", "runs/sweep"};
    run(RUN "&& " RUN "run.name=sweep sweep.run.seed=1,2");
    for (int i = 0; i < 3; i++) {
        expect_stderr(2, "the folder holds a run", "$TRAIN tiny.ini --export %s --overwrite",
                      folders[i]);
        expect_text(w->err, folders[i]);
    }
    run("! find runs -name model.safetensors -o -name .rotor-export | grep .");
    run("$TRAIN --checkpoint runs/tiny --eval && $TRAIN runs/tiny/config.ini --eval");
}

/* transformers takes Qwen2Tokenizer for a Qwen2, and finds no token in any text. */
TEST_ROWS(pieces_of_words_are_exported_where_transformers_can_read_them, 0, 4)
{
    static const char *const options[] = {
        "model.kind=decoder data.objective=lm model.bias=qkv", "data.objective=mlm",
        "model.kind=decoder data.objective=lm model.window=4",
        ("model.norm=pre model.norm_bias=no model.first_norm=no model.ffn=geglu model.bias=output "
         "position.pairing=half")};
    run("for i in $(seq 300); do echo 'a word and another'; done >text.txt; $TRAIN "
        "--train-tokenizer 40 --level wordpiece text.txt >v.txt");
    run(RUN "data.task=text data.file=text.txt data.vocab=32 data.level=wordpiece "
            "data.vocab_file=v.txt theta.learn=no %s",
        options[_i]);
    if (_i == 0) {
        expect_stderr(
            2,
            "data.level = wordpiece cannot be exported: a Qwen2 of Hugging Face has "
            "byte-level BPE, since transformers ignores another class of tokenizer; train "
            "with data.level = bpe, or with model.bias = none or all\n",
            "$TRAIN --checkpoint runs/tiny --export out");
        ck_assert(!exists("out"));
        return;
    }
    run("$TRAIN --checkpoint runs/tiny --export out");
    const char *line = evaluate("--checkpoint out data.file=text.txt");
    run("rm out/vocab.txt"); /* as those read the folder that know tokenizer.json alone */
    ck_assert_str_eq(evaluate("--checkpoint out data.file=text.txt"), line);
}

TEST(a_run_is_refused_in_the_folder_of_an_export)
{
    run(RUN);
    run("$TRAIN tiny.ini --export runs/model");
    static const char *const options[] = {"", "--overwrite", "--resume"};
    for (int i = 0; i < ROWS(options); i++)
        expect_stderr(2, "runs/model holds an exported model: choose another run.name",
                      "$TRAIN tiny.ini run.name=model %s", options[i]);
    expect_model("runs/model");
    /* a run that holds one since an earlier version is resumed all the same */
    run("cp runs/model/* runs/tiny && $TRAIN tiny.ini train.steps=2 --resume");
}

/* A process in the folder must not be left in a removed one. */
TEST(an_export_keeps_the_permissions_of_a_folder_and_a_link_to_it)
{
    run(RUN "&& mkdir -m 750 real && ln -s real link && $TRAIN tiny.ini --export link && $TRAIN "
            "tiny.ini --export link/ --overwrite");
    expect_output("README.md\nconfig.json\nmodel.safetensors\n",
                  "test -L link && test $(stat -c %%a real) = 750 && ls -A real");
    expect_model("link");
    run("mkdir here");
    const ino_t before = inode_of("here");
    expect_output("export: .\nexport: .\n"
                  "README.md\nconfig.json\nmodel.safetensors\n",
                  "cd here && $TRAIN ../tiny.ini --checkpoint ../runs/tiny --export . && $TRAIN "
                  "--checkpoint . --export . --overwrite && ls -A");
    ck_assert(inode_of("here") == before);
    expect_model("here");
    /* a folder is named in any way */
    static const char *const paths[][3] = {{".", "out/", "out"},
                                           {".", "./out//", "out"},
                                           {"out", ".", "model"},
                                           {"out/below", "..", "model"},
                                           {"out", "../out/.", "model"}};
    run(RUN "--overwrite && $TRAIN tiny.ini --export out && mkdir out/below");
    for (int i = 0; i < ROWS(paths); i++)
        expect_stdout(lasting("\nname = %s\n", paths[i][2]),
                      "cd %s && $TRAIN --checkpoint %s --print-config", paths[i][0], paths[i][1]);
}

/* A killed program leaves such a folder; a failing one removes it. */
TEST(an_export_replaces_a_staging_folder_that_was_left_behind)
{
    run(RUN);
    expect_exit(w, 1, "(trap '' XFSZ; ulimit -f 1; exec $TRAIN tiny.ini --export out)");
    ck_assert(!exists("out") && !exists(".out.rotor-export"));
    run("mkdir -p out/.rotor-export .out.rotor-export && touch "
        "out/.rotor-export/model.safetensors.tmp .out.rotor-export/config.json; $TRAIN tiny.ini "
        "--export out && ! ls -A . out | grep rotor-export");
    run("mkdir -p out/.rotor-export && touch out/.rotor-export/mine");
    expect_stderr(1, "out/.rotor-export: Directory not empty",
                  "$TRAIN tiny.ini --export out --overwrite");
    ck_assert(exists("out/.rotor-export/mine"));
    expect_model("out");
}
