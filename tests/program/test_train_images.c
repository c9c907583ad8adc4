/* Trainings on images, and theta of positions with two coordinates, through the program. */

#include "train_program.h"

#include "io/rotor-io.h"

enum { SIDE = 8, CLASSES = 4 };

/* Returns whether a pixel is bright in an image of a class: in a half of each patch of 4 x 4, upper
 * or left, everywhere or nowhere. */
static bool is_bright(int class, int row, int column)
{
    return class == 0 ? row % 4 < 2 : class == 1 ? column % 4 < 2 : class == 2;
}

/* Writes images with noise, and their labels. */
static void write_images(const char *part, int count, unsigned seed)
{
    const unsigned char header[] = {0, 0, 8, 3,    0, 0, 0, (unsigned char)count,
                                    0, 0, 0, SIDE, 0, 0, 0, SIDE};
    FILE *images = fopen(lasting("%s-images-idx3-ubyte", part), "wb");
    FILE *labels = fopen(lasting("%s-labels-idx1-ubyte", part), "wb");
    ck_assert(images && labels);
    fwrite(header, 1, sizeof header, images);
    fwrite("\0\0\10\1", 1, 4, labels);
    fwrite(header + 4, 1, 4, labels);
    for (int i = 0; i < count; i++) {
        fputc(i * 7 % CLASSES, labels);
        for (int p = 0; p < SIDE * SIDE; p++) {
            seed = seed * 1664525 + 1013904223;
            fputc((int)(seed >> 25) + 120 * is_bright(i * 7 % CLASSES, p / SIDE, p % SIDE), images);
        }
    }
    ck_assert(!fclose(images) && !fclose(labels));
}

static void make_files(void)
{
    write_images("train", 120, 1);
    write_images("test", 40, 2);
    write_file("c.ini", "[data]\ntask = images\nfile = train-images-idx3-ubyte\n"
                        "eval_file = test-images-idx3-ubyte\npatch = 4\nsize = 8\n"
                        "[model]\nlayers = 2\ndim = 16\nheads = 2\n"
                        "[optimizer]\nlr = 0.01\nschedule_steps = 60\n"
                        "[train]\nsteps = 60\nbatch_size = 16\neval_every = 20\n"
                        "checkpoint_every = 20\n");
}

static bool with_reports = true;
SUITE(PROGRAM_OPTIONS, .prepare = make_files)

#define IMAGES  "$TRAIN c.ini --quiet "
#define MIXED   "position.mixing=mixed "
#define LEARNED "theta.learn=yes "
#define SIZES   "train.eval_sizes=12,16,12,8 "

static const char *const kinds[] = {LEARNED SIZES,
                                    MIXED "model.causal=yes model.pool=last ",
                                    "position.kind=none " SIZES,
                                    "position.kind=learned ",
                                    "position.kind=sinusoidal ",
                                    "position.axes=1 model.pool=mean theta.learn=yes " SIZES};

/* The loss starts at ln 4. */
TEST_ROWS(images_are_learned, 0, ROWS(kinds))
{
    run(IMAGES "train.steps=200 optimizer.schedule_steps=200 %s", kinds[_i]);
    const char *end = lasting("%s", w->out);
    expect_text(end, "(40 sequences, 40 labels)\n");
    expect_number(accuracy_of(end), 0.9, 1);
    expect_number(number_behind(end, "eval: loss "), 0, 0.7);
    ck_assert_int_eq(count_of(end, "eval at size 12: loss "), strstr(kinds[_i], SIZES) != NULL);
    ck_assert_int_eq(count_of(end, "eval at size 16: loss "), strstr(kinds[_i], SIZES) != NULL);
    if (strstr(kinds[_i], SIZES))
        run("grep 'eval at size 16' runs/c/report.html && grep ^eval_loss_at_16, "
            "runs/c/result.csv && grep '^size,' runs/c/lengths.csv && grep ^12, "
            "runs/c/lengths.csv");
    run("test -s runs/c/report.html && $TRAIN --report runs/c");
    run("$TRAIN64 c.ini --quiet --gradcheck %s", kinds[_i]);
}

/* The configuration of a run can be read back, and another size of images be given. */
TEST(a_trained_model_is_evaluated_at_another_size)
{
    run(IMAGES LEARNED SIZES);
    const char *at_end = strchr(line_of(w->out, "eval at size 12: "), ':');
    const char *there = strchr(evaluate("--checkpoint runs/c data.size=12"), ':');
    ck_assert_str_eq(at_end, there);
    run("$TRAIN --checkpoint runs/c --eval train.eval_sizes=20 | grep '^eval at size 20: '");
    run("$TRAIN --checkpoint runs/c --eval train.eval_sizes= >one; ! grep 'eval at' one");
    run("$TRAIN runs/c/config.ini --eval --per-line >rows");
    expect_output("line,loss,label,predicted\n41\n", "head -n 1 rows; wc -l <rows");
    expect_stderr(2, "data.size must be a multiple of data.patch = 4; got 10",
                  "$TRAIN --checkpoint runs/c --eval data.size=10");
    expect_stderr(2, "data.patch = 2 cannot be changed here: the trained model has 4",
                  "$TRAIN --checkpoint runs/c --eval data.patch=2");
    expect_stderr(2, "data.patch = 2 gives patches of 4 numbers; those of the model have 16",
                  IMAGES "run.name=next train.init_from=runs/c data.patch=2");
    run(IMAGES "run.name=table position.kind=learned");
    expect_stderr(2, "a table for a grid of 5 tokens (position.max_len), not for one of 2 (size 4)",
                  "$TRAIN --checkpoint runs/table --eval data.size=4");
}

TEST_ROWS(a_resumed_run_on_images_ends_in_the_same_bits, 0, 2)
{
    const char *keys = _i ? MIXED SIZES : LEARNED "model.dropout=0.1 " SIZES;
    run(IMAGES "%s run.name=straight", keys);
    run(IMAGES "%s run.name=parts train.steps=27 --threads 1", keys);
    run(IMAGES "%s run.name=parts --resume --threads 2", keys);
    expect_same_model("straight", "parts", 60);
    expect_same_in("straight", "parts",
                   "metrics.csv theta.csv lengths.csv result.csv theta_final.csv");
    run("for f in lengths result; do cut -d, -f1 runs/parts/$f.csv | sort | uniq -d; done >twice; "
        "test ! -s twice");
}

TEST(labels_that_have_changed_are_warned_of)
{
    run(IMAGES "train.steps=40");
    expect_no_stderr("warning", IMAGES "--resume train.steps=50");
    expect_stderr(
        0, "warning: the data has changed since the run was stopped: ",
        "printf '\\1' | dd of=train-labels-idx1-ubyte bs=1 seek=8 conv=notrunc 2>/dev/null; " IMAGES
        "--resume");
}

TEST(a_contradiction_is_refused_with_its_key_and_a_remedy)
{
    expect_each_refused(
        "$TRAIN --check",
        {2, "tiny.ini position.axes=2",
         "position.axes = 2 needs data.task = images or spin2, whose tokens form a grid; got copy"},
        {2, "tiny.ini position.axes=2 data.task=text data.file=c.ini", "form a grid; got text"},
        {2, "tiny.ini train.eval_sizes=12", "it needs data.task = images"},
        {2, "c.ini model.dim=12",
         "a multiple of 4 rotated features per head; got 6: change model.heads or "
         "position.fraction"},
        {2, "c.ini position.fraction=0.25", "a multiple of 4 rotated features per head; got 2"},
        {2, "c.ini position.kind=alibi", "needs position.kind = rope, sinusoidal, learned or none"},
        {2, "c.ini data.patch=3", "data.size must be a multiple of data.patch = 3; got 8"},
        {2, "tiny.ini data.task=spin2 data.length=17 position.kind=learned train.eval_lengths=26",
         "a table for the length 17 of training, not for 26; leave out train.eval_lengths or set"},
        {2, "c.ini train.eval_sizes=12,14",
         "train.eval_sizes must be multiples of data.patch = 4; got 14"},
        {2, "c.ini position.kind=learned " SIZES,
         "a table for the size 8 of training, not for 12; leave out train.eval_sizes or set "
         "another position.kind\n"},
        {2, "c.ini position.kind=learned position.max_len=10",
         "a table for a grid of 10 tokens (position.max_len), not for one of 5"},
        {2, "c.ini " MIXED "theta.form=log", "position.mixing = mixed needs theta.form = raw"},
        {2, "c.ini " MIXED "theta.learn=no", "position.mixing = mixed needs theta.learn = yes"},
        {2, "c.ini " MIXED "position.kind=none",
         "position.mixing = mixed has no effect: it needs position.kind = rope"},
        {2, "c.ini data.length=9",
         "data.length = 9 has no effect: it needs data.task other than images"},
        {2, "c.ini train.eval_lengths=10", "it needs data.task other than images"},
        {2, "c.ini data.size=4096 data.patch=2", "make more than 1000000 tokens of an image"},
        {2, "c.ini data.patch=8 train.eval_sizes=4", "must be multiples of data.patch = 8; got 4"});
    /* a grid longer than the sample of labels is counted on a smaller one */
    run("$TRAIN tiny.ini data.task=spin2 data.length=16385 data.vocab=16 train.batch_size=1 "
        "data.theta=1 data.theta2=1 --check");
}

TEST(commands_for_texts_refuse_an_image_model_with_exit_code_2)
{
    static const char of_texts[] = " needs a model of texts or of token ids; data.task = images "
                                   "has --eval, and --eval --per-line for each image\n";
    rt_model *model;
    run(IMAGES "train.steps=1");
    expect_each_refused("$TRAIN --checkpoint runs/c", {2, "--predict a", of_texts},
                        {2, "--embed c.ini", of_texts}, {2, "--export hf", of_texts},
                        {2, "--decay", "--decay needs position.axes = 1"});
    const rt_status status = rt_model_open(&model, "runs/c/checkpoints/step-00000001.h5");
    ck_assert_ptr_null(model);
    is_status(
        status, RT_CHECKPOINT,
        "step-00000001.h5: the model is of images (data.task), which only the program evaluates");
    expect_stderr(2, "data.task = text", "$TRAIN --encode c.ini a.npy");
    expect_stderr(3, "/gone-images-idx3: No such file",
                  "$TRAIN c.ini run.name=gone data.file=gone-images-idx3");
}

#define SPIN2                                                                                      \
    TINY "data.task=spin2 data.length=17 data.vocab=16 theta.form=raw " MIXED "theta.scope=head "

TEST(the_theta_of_a_mixed_run_is_written_and_read_back)
{
    run(SPIN2 "theta.lr_scale=20 run.name=spin");
    const char *own = line_of(w->out, "eval: loss ");
    /* each head has R rows; a change is relative to the length of the initial theta of the pair */
    run("awk -F, 'NR == 1 { next } { n = NR - 2; if ($3 != n %% 8) exit 1; of[n] = $5; moved[n] = "
        "sqrt(($4 - $5)^2); change[n] = $7 } END { if (NR != 1 + 2 * 2 * 8) exit 2; for (n = 0; n "
        "< 32; n++) { other = n %% 8 < 4 ? n + 4 : n - 4; wish = moved[n] / sqrt(of[n]^2 + "
        "of[other]^2); if ((wish - change[n])^2 > 1e-10) exit 3; most = change[n] > most ? "
        "change[n] "
        ": most } exit !(most > 0.01) }' runs/spin/theta_final.csv");
    ck_assert_str_eq(evaluate("--checkpoint runs/spin --theta runs/spin/theta_final.csv"), own);
    ck_assert_str_eq(evaluate("--checkpoint runs/spin --theta scale:1"), own);
    ck_assert_str_ne(evaluate("--checkpoint runs/spin --theta off:0"), own);
    expect_stderr(2, "--theta base: with position.mixing = mixed the directions of theta are drawn",
                  "$TRAIN --checkpoint runs/spin --eval --theta base");
    run(SPIN2 "train.steps=1 run.name=next theta.init_from=runs/spin/theta_final.csv");
    run("for i in spin,4 next,5; do cut -d, -f1-3,${i#*,} runs/${i%%,*}/theta_final.csv | sed 1d "
        ">${i%%,*}; done; cmp spin next");
}

TEST(a_model_on_a_grid_of_ids_cannot_be_exported)
{
    run(SPIN2 "train.steps=1 run.name=spin");
    expect_stderr(2, "position.axes = 2 cannot be exported: ",
                  "$TRAIN --checkpoint runs/spin --export hf");
    expect_stderr(2, " cannot be exported", "$TRAIN --checkpoint runs/spin --export a.gguf");
    ck_assert(!exists("hf") && !exists("a.gguf"));
}
