/* Properties of every source: its refusals, and the dependences of a sequence. */

#include "samples.h"

static const char pangram[] = "the quick brown fox jumps over the lazy dog, again and again; a "
                              "text of some bytes is enough to be cut into many short windows.";

/* Eighty different texts of 1 to 7 letters with labels; for tag, sentences of one token. */
static void write_labelled(bool tag)
{
    char text[4000] = "text\tlabel\n";
    size_t used = tag ? 0 : strlen(text);
    for (int i = 0; i < 80; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%c%c%.*s\t%s\n%s", 'a' + i % 20,
                             'a' + i / 20, i % 6, "aaaaa", i % 3 ? "no" : "yes", tag ? "\n" : "");
    write_bytes(in_folder("a.tsv"), text, used);
}

/* Writes eighty images of one byte, each with its own label. */
static const char *write_images(void)
{
    char images[16 + 80] = "\0\0\10\3\0\0\0\120\0\0\0\1\0\0\0\1";
    char labels[8 + 80] = "\0\0\10\1\0\0\0\120";
    for (int i = 0; i < 80; i++)
        images[16 + i] = labels[8 + i] = (char)i;
    write_bytes(in_folder("labels-idx1"), labels, sizeof labels);
    return write_bytes(in_folder("images-idx3"), images, sizeof images);
}

/* Options with the file that the task needs. */
static rt_data_options prepared(int task)
{
    rt_data_options o = options_with(rt_data_task_name(task), "eval_fraction=0.5");
    if (task == task_named("tokens")) {
        int64_t ids[200];
        for (int i = 0; i < 200; i++)
            ids[i] = RT_FIRST_SYMBOL + (i * i * 7919 >> 5) % 28;
        write_ids(&o, (storage){0}, ids, 200);
    } else if (rt_tasks[task].kind == RT_DATA_IMAGES) {
        o.file = write_images();
        o.length = 50;
    } else if (rt_task_has_rows(&rt_tasks[task])) {
        write_labelled(task == task_named("tag"));
        o.file = in_folder("a.tsv");
    } else {
        o.file = write_bytes(in_folder("a"), pangram, sizeof pangram - 1);
    }
    return o;
}

/* Opens a task on short sequences. The following tests hold for every task. */
static rt_data *open_task(int task)
{
    rt_data_options o = prepared(task);
    o.length = 10;
    return source(&o);
}

static void draw(const rt_data *data, bool evaluation, uint32_t first_row, rt_batch *batch)
{
    if (evaluation)
        rt_data_evaluation(data, first_row, batch);
    else
        rt_data_training(data, 5, 8, first_row, batch);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(a_sequence_does_not_depend_on_its_batch)
{
    enum { ROWS = 24 };
    for (int task = 0; rt_data_task_name(task); task++)
        for (int evaluation = 0; evaluation < 2; evaluation++) {
            rt_data *data = open_task(task);
            rt_batch whole = batch_of(ROWS, 10);
            draw(data, evaluation, 100, &whole);
            for (int rows = 1; rows <= ROWS; rows++) {
                rt_batch part = batch_of(rows, 10);
                for (int first = 0; first + rows <= ROWS; first += rows) {
                    draw(data, evaluation, 100 + (uint32_t)first, &part);
                    ck_assert_msg(same_rows(&whole, first, &part, 0, rows),
                                  "%s: rows from %d differ in a batch of %d",
                                  rt_data_task_name(task), first, rows);
                }
            }
        }
}

TEST(seed_step_and_number_each_change_the_sequences)
{
    enum { COUNT = 8 };
    static const struct {
        uint64_t seed;
        uint32_t step, first;
    } draws[] = {{1, 0, 0}, {UINT64_C(1) << 32 | 1, 0, 0}, {1, 1, 0}, {1, 0, COUNT}};
    for (int task = 0; rt_data_task_name(task); task++) {
        rt_data *data = open_task(task);
        rt_batch batch = training_of(data, COUNT, 10), other = batch_of(COUNT, 10);
        for (int i = 0; i < ROWS(draws); i++) {
            rt_data_training(data, draws[i].seed, draws[i].step, draws[i].first, &other);
            ck_assert_msg(same_rows(&batch, 0, &other, 0, COUNT) == !i, "%s: draw %d",
                          rt_data_task_name(task), i);
        }
    }
}

/* 23 symbols or more in each of three to nine places: two equal sequences would be no accident. */
TEST(training_never_repeats_evaluation_even_with_its_seed)
{
    enum { ROWS = 64, STEPS = 8 };
    for (int task = 0; rt_data_task_name(task); task++) {
        rt_data *data = open_task(task);
        rt_batch training = batch_of(ROWS, 10), evaluation = batch_of(ROWS, 10);
        rt_data_evaluation(data, 0, &evaluation);
        for (uint32_t step = 0; step < STEPS; step++) {
            rt_data_training(data, 2021, step, 0, &training);
            for (int i = 0; i < ROWS; i++)
                ck_assert(!same_rows(&training, i, &evaluation, i, 1));
        }
    }
}

TEST(a_source_has_the_sizes_of_its_options)
{
    rt_data_options o = options_with("copy", "vocab=77");
    rt_data *data = source(&o);
    ck_assert_int_eq(data->vocab, 77);
    ck_assert_int_eq(data->options.length, 32);
    ck_assert_int_eq(rt_data_evaluation_rows(data, 32), LONG_MAX);
    ck_assert_int_eq(rt_data_status(data).code, RT_OK);
    rt_data_close(NULL);
    /* evaluation depends on its own seed */
    const rt_batch batch = evaluation_of(source(&o), 4, 32);
    o.eval_seed++;
    const rt_batch other = evaluation_of(source(&o), 4, 32);
    ck_assert(!same_rows(&batch, 0, &other, 0, 4));
}

/* A label is one class at [CLS], a class for a token, or the id of a token. */
TEST(labels_are_classes_where_the_task_has_them)
{
    enum { ROWS = 8, LENGTH = 10 };
    ck_assert_int_eq(rt_tasks[task_named("order")].target, RT_TARGET_SEQUENCE);
    ck_assert_int_eq(rt_tasks[task_named("classify")].target, RT_TARGET_SEQUENCE);
    ck_assert_int_eq(rt_tasks[task_named("tag")].target, RT_TARGET_TOKENS);
    ck_assert_int_eq(rt_tasks[task_named("copy")].target, RT_TARGET_IDS);
    for (int task = 0; rt_data_task_name(task); task++) {
        rt_data *data = open_task(task);
        const rt_target target = rt_tasks[task].target;
        const int classes = data->classes;
        const int labels = classes ? classes : data->vocab;
        rt_batch batch = batch_of(ROWS, LENGTH);
        ck_assert_int_eq(data->task->target, target);
        ck_assert_int_eq(classes, target == RT_TARGET_IDS                 ? 0
                                  : rt_tasks[task].kind == RT_DATA_IMAGES ? 80
                                                                          : 2);
        rt_data_evaluation(data, 0, &batch);
        for (int at = 0; at < ROWS * LENGTH; at++) {
            const int32_t label = batch.labels[at];
            const bool asked =
                target == RT_TARGET_SEQUENCE ? at % LENGTH == 0 : label != RT_NO_LABEL;
            ck_assert_msg(asked ? label >= 0 && label < labels : label == RT_NO_LABEL,
                          "%s: label %d at token %d", rt_data_task_name(task), (int)label,
                          at % LENGTH);
        }
    }
}

TEST(without_a_text_there_is_no_vocabulary)
{
    for (int task = 0; rt_data_task_name(task); task++) {
        if (task == task_named("text") || rt_task_has_rows(&rt_tasks[task]))
            continue;
        rt_data *data = open_task(task);
        int count = 7;
        rt_unknown unknown = {.count = 7};
        int32_t *ids = (int32_t *)&count;
        const char *message =
            lasting("data.task = %s has no text to tokenize", rt_data_task_name(task));
        ck_assert_ptr_null(data->vocabulary);
        is_status(rt_data_encode(data, "a", &ids, &count, &unknown), RT_ARGUMENT, message);
        ck_assert(ids == NULL && count == 0 && unknown.count == 0);
    }
}

/* Of every task with a file: text, ids, images, tables and tokens. */
TEST(a_file_that_cannot_be_read_is_named)
{
    for (int task = 0; rt_data_task_name(task); task++) {
        if (rt_tasks[task].kind == RT_DATA_TOY)
            continue;
        const rt_data_options o = prepared(task);
        const char *path = lasting("%.*s", (int)strcspn(o.file, ":"), o.file);
        is_error(status_without_permission(&o, path), RT_DATA,
                 lasting("%s: Permission denied", path));
        ck_assert_int_eq(remove(path), 0);
        is_data_error(status_of(&o), path, ": No such file or directory (data.file)");
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        is_data_error(status_of(&o), path, ": data.file must be a regular file");
        ck_assert_int_eq(remove(path), 0);
        ck_assert_int_eq(mkdir(path, 0755), 0);
        is_data_error(status_of(&o), path, ": Is a directory (data.file)");
        ck_assert_int_eq(rmdir(path), 0);
    }
}

static rt_batch evaluation_with_patches(const rt_data *data, int rows, int length)
{
    rt_batch b = batch_of(rows, length);
    b.patches = batch_array((size_t)(rows * length * (data->patch + 1)) * sizeof *b.patches);
    rt_data_evaluation(data, 0, &b);
    return b;
}

/* The file of the training may be gone, or not be named. */
TEST(a_source_for_evaluation_draws_the_evaluation_of_training)
{
    enum { ROWS = 4 };
    for (int task = 0; rt_data_task_name(task); task++) {
        if (rt_tasks[task].kind == RT_DATA_TOY)
            continue;
        rt_data_options o = prepared(task);
        ck_assert(!system(lasting("cd %s && mkdir -p e && cp [ail]* e", scratch)));
        o.eval_file = lasting("%s/e%s", scratch, o.file + strlen(scratch));
        const rt_data *data = source(&o);
        const rt_batch expected = evaluation_with_patches(data, ROWS, o.length);
        const rt_data_of_model meaning = meaning_of(data);
        ck_assert_int_eq(remove(lasting("%.*s", (int)strcspn(o.file, ":"), o.file)), 0);
        for (int i = 0; i < 2; i++, o.file = NULL) {
            rt_data *alone;
            expect_ok(rt_data_open_evaluation(&alone, &o, meaning));
            owned(alone, close_source);
            const rt_batch batch = evaluation_with_patches(alone, ROWS, o.length);
            ck_assert_int_eq(rt_data_evaluation_rows(alone, o.length),
                             rt_data_evaluation_rows(data, o.length));
            ck_assert_msg(same_rows(&batch, 0, &expected, 0, ROWS), "%s", rt_data_task_name(task));
            ck_assert_mem_eq(batch.patches, expected.patches,
                             (size_t)(ROWS * o.length * data->patch) * sizeof *batch.patches);
            ck_assert_ptr_eq(alone->labels, meaning.labels);
        }
    }
}

static void refused(const rt_data_options *o, const char *message)
{
    is_status(rt_data_check(o), RT_CONFIG, message);
    is_status(status_of(o), RT_CONFIG, message);
}

TEST(a_task_that_does_not_exist_is_refused)
{
    int count = 0;
    rt_data_options o = options_for("copy");
    while (rt_data_task_name(count))
        count++;
    const int missing[] = {-1, count, INT_MIN, INT_MAX};
    for (int i = 0; i < ROWS(missing); i++) {
        o.task = missing[i];
        refused(&o, lasting("data.task must be from 0 to %d; got %d", count - 1, missing[i]));
    }
}

#define VOCABULARY_OF_BYTES                                                                        \
    "data.vocab_file is for data.level = char, wordpiece, bpe or residue: level byte has all "     \
    "bytes as its vocabulary"

static const struct {
    const char *task, *settings;
    const char *message; /* NULL: they are accepted */
} checked[] = {
    {"copy", "length=3", "data.length must be at least 4 for copy; got 3"},
    {"copy", "length=-2147483648", "data.length must be at least 4 for copy; got -2147483648"},
    {"copy", "length=4", NULL},
    {"copy", "length=2147483647", NULL},
    {"shift", "length=1", "data.length must be at least 3 for shift; got 1"},
    {"shift", "length=3 distance=1", NULL},
    {"text", "length=1", "data.length must be at least 2 for text; got 1"},
    {"tokens", "length=1", "data.length must be at least 2 for tokens; got 1"},
    {"recall", "length=5", "data.length must be at least 6 for recall; got 5"},
    {"order", "length=2", "data.length must be at least 3 for order; got 2"},
    {"order", "length=3", NULL},
    {"sort", "vocab=5", "data.vocab must be at least 6 for sort; got 5"},
    {"sort", "vocab=6", NULL},
    {"sort", "vocab=2147483647", NULL},
    {"tokens", "vocab=5", "data.vocab must be at least 6 for tokens; got 5"},
    {"order", "vocab=6", "data.vocab must be at least 7 for order; got 6"},
    {"order", "vocab=7", NULL},
    {"recall", "length=61", NULL},
    {"recall", "length=62",
     "data.vocab must be at least 33 for recall with data.length 62, whose 29 keys are all "
     "different; got 32, which fits up to data.length 61"},
    {"recall", "length=62 vocab=33", NULL},
    {"recall", "length=2147483647 vocab=33",
     "data.vocab must be at least 1073741825 for recall with data.length 2147483647, whose "
     "1073741821 keys are all different; got 33, which fits up to data.length 63"},
    {"recall", "length=2147483647 vocab=2147483647", NULL},
    {"shift", "distance=0",
     "data.distance must be from 1 to 30 for shift with data.length 32; got 0"},
    {"shift", "distance=31",
     "data.distance must be from 1 to 30 for shift with data.length 32; got 31"},
    {"shift", "distance=30", NULL},
    {"majority", "distance=32",
     "data.distance must be from 1 to 31 for majority with data.length 32; got 32"},
    {"majority", "length=128 distance=65",
     "data.distance must be from 1 to 64 for majority with data.length 128; got 65"},
    {"majority", "length=128 distance=64", NULL},
    {"copy", "distance=31", NULL},
    {"period", "period=1",
     "data.period must be from 2 to 30 for period with data.length 32; got 1"},
    {"period", "period=31",
     "data.period must be from 2 to 30 for period with data.length 32; got 31"},
    {"period", "period=30", NULL},
    {"period", "mask_probability=0", "data.mask_probability must be above 0 and at most 1; got 0"},
    {"spin", "theta=0", "data.theta must be above 0 and at most pi for spin; got 0"},
    {"spin", "theta=3.15", "data.theta must be above 0 and at most pi for spin; got 3.15"},
    {"spin", "theta=nan", "data.theta must be above 0 and at most pi for spin; got nan"},
    {"spin", "theta=0.026",
     "data.theta must be at least 0.02618 for spin with data.length 32: below, the circle rotates "
     "by less than one of its 8 cells; got 0.026"},
    {"spin", "theta=0.0262", NULL},
    {"spin", "theta=3.14159265358979", NULL},
    {"text", "file=a.txt mask_probability=0",
     "data.mask_probability must be above 0 and at most 1; got 0"},
    {"text", "file=a.txt mask_probability=1.5",
     "data.mask_probability must be above 0 and at most 1; got 1.5"},
    {"text", "file=a.txt mask_probability=nan",
     "data.mask_probability must be above 0 and at most 1; got nan"},
    {"text", "file=a.txt mask_probability=1", NULL},
    {"text", "file=a.txt mask_probability=0 objective=lm", NULL}, /* lm: nothing is hidden */
    {"text", "file=a.txt eval_fraction=1",
     "data.eval_fraction must be at least 0 and below 1; got 1"},
    {"text", "file=a.txt eval_fraction=-0.5",
     "data.eval_fraction must be at least 0 and below 1; got -0.5"},
    {"text", "file=a.txt eval_fraction=nan",
     "data.eval_fraction must be at least 0 and below 1; got nan"},
    {"text", "file=a.txt eval_fraction=0", NULL},
    {"text", "file=a.txt vocab_file=vocab.txt", VOCABULARY_OF_BYTES},
    {"text", "file=a.txt vocab_file=vocab.txt level=char", NULL},
    {"tokens", "file=ids.h5:/ids eval_fraction=1",
     "data.eval_fraction must be at least 0 and below 1; got 1"},
    {"tokens", "file=a.bin documents=line",
     "data.documents needs data.task = text: it says what separates the documents of a text"},
    {"text", "file=a.jsonl documents=line",
     "data.documents is for plain texts: each line of FILE.jsonl is a document"},
    {"text", "file=a.jsonl,b.txt documents=line", NULL},
    {"text", "file=a.jsonl eval_file=b.txt documents=line", NULL},
    {"text", "file=a.ndjson.gz",
     "data.file: JSON lines are read from FILE.jsonl; a.ndjson.gz would be a plain text: give it "
     "another name"},
    {"text", "file=a.txt eval_file=b.JSONL",
     "data.eval_file: JSON lines are read from FILE.jsonl; b.JSONL would be a plain text: give it "
     "another name"},
    {"text", "file=ndjson", NULL},
    {"spin2", "length=32",
     "data.length must be 1 and a square, such as 50, for spin2, whose symbols form a grid; got "
     "32"},
    {"spin2", "length=50", NULL},
    {"spin2", "length=50 theta=4", "data.theta must be above 0 and at most pi for spin2; got 4"},
    {"spin2", "length=50 theta2=0.1",
     "data.theta2 must be at least 0.1309 for spin2 with data.length 50: below, the circle rotates "
     "by less than one of its 8 cells; got 0.1"},
    {"copy", "length=4..20", NULL},
    {"addition", "length=4..20 vocab=15", NULL},
    {"addition", "vocab=14", "data.vocab must be at least 15 for addition; got 14"},
    {"shift", "length=4..20",
     "data.length must be one number for shift; copy, reverse, sort and addition can have 4..20"},
    {"classify", "file=a.txt",
     "data.file must name a table for classify, FILE.tsv, FILE.csv or FILE.jsonl; got 'a.txt'"},
    {"classify", "file=a.tsv eval_file=b",
     "data.eval_file must name a table for classify, FILE.tsv, FILE.csv or FILE.jsonl; got 'b'"},
    {"classify", "file=.tsv eval_file=.csv", NULL},
    {"tag", "", "data.file must name a file; got an empty name"},
    {"tag", "file=a eval_fraction=1", "data.eval_fraction must be at least 0 and below 1; got 1"},
    {"tag", "file=a length=2", "data.length must be at least 3 for tag; got 2"},
    {"tag", "file=a vocab_file=vocab.txt", VOCABULARY_OF_BYTES},
};

TEST_ROWS(options_that_no_sequence_can_have_are_refused, 0, ROWS(checked))
{
    const rt_data_options o = options_with(checked[_i].task, checked[_i].settings);
    if (checked[_i].message)
        refused(&o, checked[_i].message);
    else
        expect_ok(rt_data_check(&o));
}

TEST(a_token_file_is_named_with_its_data_set)
{
    static const char *const wrong[] = {"", "ids.h5", "ids.h5:ids", ":/ids", "/folder/ids.h5:"};
    rt_data_options o = options_for("tokens");
    for (int i = 0; i < ROWS(wrong); i++) {
        o.file = lasting("%s", wrong[i]);
        refused(&o, lasting("data.file must name a file and a data set for tokens, as in "
                            "ids.h5:/train, or a file that ends in .bin or .npy; got '%s'",
                            wrong[i]));
    }
    o.file = "ids.h5:/ids";
    expect_ok(rt_data_check(&o));
    o.file = lasting("%0*d:/ids", RT_PATH_SIZE, 0);
    refused(&o, "data.file must name files with less than 4096 bytes; got 4096");
}

/* The options of every reported rule, a line each. */
typedef struct told {
    size_t used;
    char lines[500];
} told;

static void add_line(void *context, const char *const *options, const char *message)
{
    told *t = context;
    ck_assert_msg(strstr(message, "data.") == message, "no key in front: %s", message);
    for (; *options; options++)
        t->used += (size_t)snprintf(t->lines + t->used, sizeof t->lines - t->used, "%s%s", *options,
                                    options[1] ? " " : "\n");
    ck_assert_uint_lt(t->used, sizeof t->lines);
}

static const struct {
    const char *task, *settings, *options;
} rules[] = {
    {NULL, "", "data.task\n"},
    {"order", "", ""},
    {"order", "length=2 vocab=6", "data.task data.length\ndata.task data.vocab\n"},
    {"shift", "distance=31", "data.task data.distance data.length\n"},
    {"shift", "distance=31 length=2", "data.task data.length\n"},
    {"recall", "length=62", "data.task data.vocab data.length\n"},
    {"period", "mask_probability=0 period=31",
     "data.task data.objective data.mask_probability\ndata.task data.period data.length\n"},
    {"spin", "theta=0.001", "data.task data.theta data.length\n"},
    {"spin2", "length=50 theta=0.01 theta2=4",
     "data.task data.theta data.length\ndata.task data.theta2\n"},
    {"spin2", "length=51 theta=0.01", "data.task data.length\n"},
    {"images", "file=a length=3", "data.task data.file\ndata.task data.length\n"},
    {"text", "mask_probability=0 eval_fraction=1 vocab_file=vocab.txt file=a.txt,,",
     "data.task data.objective data.mask_probability\ndata.task data.eval_fraction\n"
     "data.task data.vocab_file data.level\ndata.task data.file\n"},
    {"tokens", "eval_fraction=1", "data.task data.eval_fraction\ndata.task data.file\n"},
    {"tokens", "eval_fraction=1 file=ids.h5:/ids", "data.task data.eval_fraction\n"},
};

TEST_ROWS(a_rule_names_the_options_that_contradict_each_other, 0, ROWS(rules))
{
    told t = {0};
    rt_data_options o = options_with(rules[_i].task ? rules[_i].task : "order", rules[_i].settings);
    if (!rules[_i].task)
        o.task = -1;
    rt_data_rules(&o, add_line, &t);
    ck_assert_str_eq(t.lines, rules[_i].options);
}

TEST(every_allocation_may_fail)
{
    for (int task = 0; rt_data_task_name(task); task++) {
        rt_data_options o = prepared(task);
        o.length = task == task_named("spin2") ? 50 : o.length;
        open_with_refusals(&o, 1);
        o.level = RT_LEVEL_CHAR;
        o.eval_file = o.file;
        open_with_refusals(&o,
                           rt_task_has_rows(&rt_tasks[task]) || task == task_named("text") ? 4 : 1);
    }
}

TEST(encoding_may_run_out_of_memory)
{
    rt_data *data = open_task(task_named("text"));
    int32_t *ids;
    int count;
    rt_unknown unknown;
    rt_memory_fail_at(1);
    rt_status status = rt_data_encode(data, "fox", &ids, &count, &unknown);
    ck_assert_int_eq(status.code, RT_MEMORY);
    ck_assert(ids == NULL && count == 0);
}
