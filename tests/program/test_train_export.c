/* The folder that a model is exported to: whose it may not be, what stays of it, and that it says
 * how long the sequences of the training were. */

#include "train_program.h"

#define RUN "$TRAIN tiny.ini --quiet train.steps=2 "

static ino_t inode_of(const char *path)
{
    struct stat facts;
    ck_assert_msg(!lstat(path, &facts), "%s is not there", path);
    return facts.st_ino;
}

static void expect_model(const char *folder)
{
    expect_printed("\ndim = 16\n", "$TRAIN --checkpoint %s --print-config", folder);
}

/* ---- whose folder ---- */

SUITE(PROGRAM_OPTIONS)

TEST(a_folder_of_a_run_is_refused_and_stays_one)
{
    static const char *const folders[] = {"runs/tiny", "runs/tiny/checkpoints", "runs/sweep"};
    run(RUN);
    run(RUN "run.name=sweep sweep.run.seed=1,2");
    for (int i = 0; i < 3; i++) {
        expect_told(2, "the folder holds a run", "$TRAIN tiny.ini --export %s --overwrite",
                    folders[i]);
        expect_text(w->err, folders[i]);
    }
    run("! find runs -name model.safetensors -o -name .rotor-export | grep .");
    run("$TRAIN --checkpoint runs/tiny --eval && $TRAIN runs/tiny/config.ini --eval");
}

TEST(a_run_is_refused_in_the_folder_of_an_export)
{
    run(RUN);
    run("$TRAIN tiny.ini --export runs/model");
    for (int i = 0; i < 2; i++)
        expect_told(2, "runs/model holds an exported model: choose another run.name",
                    "$TRAIN tiny.ini run.name=model %s", i ? "--overwrite" : "");
    expect_model("runs/model");
    /* a run that holds one since an earlier version is resumed all the same */
    run("cp runs/model/* runs/tiny && $TRAIN tiny.ini train.steps=2 --resume");
}

/* ---- what stays ---- */

TEST(the_rights_of_a_folder_and_a_link_to_it_stay)
{
    run(RUN "&& mkdir -m 750 real && ln -s real link");
    run("$TRAIN tiny.ini --export link");
    run("$TRAIN tiny.ini --export link/ --overwrite");
    expect_output("README.md\nconfig.json\nmodel.safetensors\n",
                  "test -L link && test $(stat -c %%a real) = 750 && ls -A real");
    expect_model("link");
}

/* Whoever stands in it would be left in the older one. */
TEST(the_working_directory_stays_the_same)
{
    run(RUN "&& mkdir here");
    const ino_t before = inode_of("here");
    expect_output("export: .\nexport: .\n"
                  "README.md\nconfig.json\nmodel.safetensors\n",
                  "cd here && $TRAIN ../tiny.ini --checkpoint ../runs/tiny --export . && $TRAIN "
                  "--checkpoint . --export . --overwrite && ls -A");
    ck_assert(inode_of("here") == before);
    expect_model("here");
}

TEST_ROWS(what_an_older_model_had_more_goes_and_what_is_not_of_a_model_stays, 0, 2)
{
    static const char *const others[] = {"", "notes"};
    run(RUN "&& $TRAIN tiny.ini --export out");
    run("echo x | tee out/tokenizer.json >out/generation_config.json; test -z '%s' || mkdir -p "
        "out/%s",
        others[_i], others[_i]);
    expect_unprinted("tokenizer.json", "$TRAIN tiny.ini --export out --overwrite; ls -A out .");
    expect_no_text(w->out, "generation_config.json");
    expect_no_text(w->out, "rotor-export");
    ck_assert(!*others[_i] || exists("out/notes"));
    expect_model("out");
}

TEST(a_folder_is_named_in_any_way)
{
    static const char *const paths[][2] = {{"out/", "out"},
                                           {"./out//", "out"},
                                           {".", "model"},
                                           {"..", "model"},
                                           {"../out/.", "model"}};
    run(RUN "&& $TRAIN tiny.ini --export out && mkdir out/below");
    for (int i = 0; i < 5; i++) {
        expect_printed(lasting("\nname = %s\n", paths[i][1]),
                       "cd %s && $TRAIN --checkpoint %s --print-config",
                       i < 2    ? "."
                       : i == 3 ? "out/below"
                                : "out",
                       paths[i][0]);
    }
}

/* Of a program that was killed before it had anything to show. */
TEST(a_staging_folder_alone_is_no_reason_to_refuse)
{
    run(RUN "&& mkdir -p out/.rotor-export .out.rotor-export && touch "
            "out/.rotor-export/model.safetensors.tmp .out.rotor-export/config.json");
    run("$TRAIN tiny.ini --export out && ! ls -A . out | grep rotor-export");
    run("mkdir -p out/.rotor-export && touch out/.rotor-export/mine");
    expect_told(1, "out/.rotor-export: Directory not empty",
                "$TRAIN tiny.ini --export out --overwrite");
    ck_assert(exists("out/.rotor-export/mine"));
    expect_model("out");
}

TEST(an_export_that_fails_leaves_no_folder)
{
    run(RUN);
    expect_exit(w, 1, "(trap '' XFSZ; ulimit -f 1; exec $TRAIN tiny.ini --export out)");
    ck_assert(!exists("out") && !exists(".out.rotor-export"));
}

/* ---- the length ---- */

static const struct {
    const char *task;
    int length;
} lengths[] = {{"copy", 4},
               {"copy", 7},
               {"shift data.distance=1", 3},
               {"recall", 6},
               {"order", 3},
               {"order", 8},
               {"text data.vocab=32 data.file=a.txt", 2},
               {"text data.vocab=32 data.file=a.txt", 5}};

TEST_ROWS(a_length_of_any_training_comes_back, 0, sizeof lengths / sizeof *lengths)
{
    const char *wanted = lasting("\nlength = %d\n", lengths[_i].length);
    run("yes 'a line' | head -c 500 >a.txt; " RUN "data.length=%d data.task=%s", lengths[_i].length,
        lengths[_i].task);
    run("$TRAIN --checkpoint runs/tiny --export out");
    run("$TRAIN --checkpoint out --print-config");
    /* what a folder sets is named after it, without a line, and defaults are left out */
    expect_text(w->err, "out                       model.heads ");
    expect_no_text(w->err, "out:");
    expect_no_text(w->err, "model.layers ");
    expect_text(w->out, wanted);
}
