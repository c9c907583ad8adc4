/* `train --predict ... --jsonl`: parsed by Jansson and compared with the plain answers. */

#include "train_program.h"

#include "train/run/predict.h"

enum { MOST = 16 };

#define SHORT "tiny.ini --quiet theta.learn=no train.steps=20 optimizer.schedule_steps=20 "
#define TEXT  SHORT "data.task=text data.vocab=32 data.file=text.txt "
#define LM    TEXT "data.objective=lm model.causal=yes "
#define USE   "$TRAIN runs/tiny/config.ini --quiet --predict "

static json_t *answers[MOST];
static int count;

static void forget(void)
{
    while (count)
        json_decref(answers[--count]);
}

/* Every line of the output is an object of these members, in this order. */
static void parse(const char *members)
{
    char line[OUTPUT_SIZE];
    forget();
    for (const char *at = w->out; *at; at += strlen(line) + 1) {
        json_error_t error;
        const char *member, *got = "";
        json_t *value;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        ck_assert_int_lt(count, MOST);
        ck_assert_msg(at[strlen(line)] == '\n', "no whole line: %s", line);
        json_t *answer = json_loads(line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        ck_assert_msg(json_is_object(answer), "%s: %s", error.text, line);
        answers[count++] = answer;
        json_object_foreach(answer, member, value) got =
            lasting("%s%s%s", got, *got ? " " : "", member);
        ck_assert_str_eq(got, members);
    }
}

#define ask(members, ...)                                                                          \
    do {                                                                                           \
        run(USE __VA_ARGS__);                                                                      \
        parse(members);                                                                            \
    } while (0)

static const char *string(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    ck_assert_msg(json_is_string(value), "%s is no string", member);
    return json_string_value(value);
}

static double number(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    ck_assert_msg(json_is_real(value), "%s is no number", member);
    return json_real_value(value);
}

static void make_text(void)
{
    run("for i in $(seq 100); do printf 'a line\\nof \"text\\\"\\n'; done >text.txt");
}

#define OF_LM "text continuation tokens end"

SUITE(PROGRAM_OPTIONS, .clean = forget)

TEST(a_continuation_is_apart_from_its_text_and_each_line_has_one)
{
    make_text();
    run("$TRAIN " LM);
    ask(OF_LM, "'of \"' --tokens 30 --seed 4 --jsonl");
    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(string(answers[0], "text"), "of \"");
    ck_assert_int_eq(json_integer_value(json_object_get(answers[0], "tokens")), 30);
    ck_assert_str_eq(string(answers[0], "end"), "length");
    run(USE "'of \"' --tokens 30 --seed 4");
    ck_assert(!strncmp(w->out, "of \"", 4));
    w->out[strlen(w->out) - 1] = '\0';
    ck_assert_str_eq(string(answers[0], "continuation"), w->out + 4);
    /* One by one from a pipe, together from a file; newlines stand between answers alone. */
    run("printf 'a\\n\\nof\\n' >lines.txt");
    run("cat lines.txt | " USE "- --tokens 40 --jsonl >alone");
    ask(OF_LM, "- --tokens 40 --jsonl <lines.txt | tee together");
    expect_same_files("alone", "together");
    ck_assert_int_eq(count, 3);
    ck_assert_str_eq(string(answers[0], "text"), "a");
    ck_assert_str_eq(string(answers[1], "text"), "");
    ck_assert_str_eq(string(answers[2], "text"), "of");
}

TEST(the_end_says_why_a_continuation_is_over)
{
    make_text();
    run("$TRAIN " LM "data.length=12 position.kind=learned");
    ask(OF_LM, "a --tokens 3 --jsonl");
    ck_assert_str_eq(string(answers[0], "end"), "length");
    ask(OF_LM, "a --tokens 99 --jsonl");
    ck_assert_str_eq(string(answers[0], "end"), "length");
    ck_assert_int_eq(json_integer_value(json_object_get(answers[0], "tokens")), 11);
    run(USE "a --tokens 1 --temperature 0");
    ck_assert_uint_eq(strlen(w->out), 3);
    ask(OF_LM, "a --tokens 9 --temperature 0 --jsonl --stop \"$(printf '\\%03o')\"",
        (unsigned)(unsigned char)w->out[1]);
    ck_assert_str_eq(string(answers[0], "end"), "stop");
    ck_assert_int_eq(json_integer_value(json_object_get(answers[0], "tokens")), 1);
    ck_assert_uint_eq(strlen(string(answers[0], "continuation")), 1);
}

/* A zero is a character of JSON; what is no number is null. */
TEST(every_byte_and_number_has_a_form)
{
    static const char bytes[] = "a\0\n\x1f\"\xff\xe2\x82";
    json_t *text = rt_answer_string(bytes, sizeof bytes - 1);
    char line[128] = "";
    FILE *to = fmemopen(line, sizeof line, "w");
    ck_assert_ptr_nonnull(to);
    rt_status status =
        rt_answer_print(to,
                        json_pack("{s:o,s:o,s:o,s:o}", "text", text, "nan", rt_answer_number(NAN),
                                  "inf", rt_answer_number(INFINITY), "x", rt_answer_number(.1)));
    fclose(to);
    ck_assert_msg(!status.code, "%s", status.message);
    ck_assert_str_eq(line, "{\"text\": \"a\\u0000\\n\\u001F\\\"\xef\xbf\xbd\xef\xbf\xbd\", "
                           "\"nan\": null, \"inf\": null, \"x\": 0.1}\n");
    status = rt_answer_print(stdout, NULL);
    ck_assert_int_eq(status.code, RT_MEMORY);
}

TEST(every_mask_has_its_token_and_probability)
{
    make_text();
    run("$TRAIN " TEXT);
    ask("text filled masks", "'a [MASK]ine\"[MASK]' --jsonl");
    ck_assert_str_eq(string(answers[0], "text"), "a [MASK]ine\"[MASK]");
    const char *filled = string(answers[0], "filled");
    const json_t *masks = json_object_get(answers[0], "masks");
    ck_assert_uint_eq(json_array_size(masks), 2);
    run(USE "'a [MASK]ine\"[MASK]'");
    ck_assert(!strncmp(w->out, filled, strlen(filled)) && w->out[strlen(filled)] == '\n');
    for (size_t i = 0; i < 2; i++) {
        const json_t *mask = json_array_get(masks, i);
        expect_text(w->out, lasting("\nmask %zu: '%s' %.3f", i + 1, string(mask, "token"),
                                    number(mask, "probability")));
    }
    expect_exit(w, 2, USE "abc --jsonl");
    ck_assert_str_eq(w->out, "");
}

TEST(a_text_has_the_probability_of_every_label)
{
    static const char *const labels[] = {"a \"quoted\" one", "no", "yes"};
    run("printf 'text\\tlabel\\n' >rows.tsv; for i in $(seq 20); do printf 'good %%d\\tyes\\nbad "
        "%%d\\tno\\nodd %%d\\ta \"quoted\" one\\n' $i $i $i; done >>rows.tsv; $TRAIN " SHORT
        "data.task=classify data.vocab=32 data.file=rows.tsv data.length=16");
    run("printf 'good 3\\nb \"a\" d\\n' | " USE "- --jsonl");
    parse("text label probability probabilities");
    ck_assert_int_eq(count, 2);
    ck_assert_str_eq(string(answers[1], "text"), "b \"a\" d");
    for (int i = 0; i < 2; i++) {
        const json_t *all = json_object_get(answers[i], "probabilities");
        const double best = number(answers[i], "probability");
        double sum = 0;
        ck_assert_uint_eq(json_object_size(all), 3);
        for (int k = 0; k < 3; k++) {
            sum += number(all, labels[k]);
            ck_assert_double_le(number(all, labels[k]), best);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        ck_assert_double_eq(number(all, string(answers[i], "label")), best);
    }
    run(USE "'good 3'");
    ck_assert_str_eq(w->out, lasting("%s\t%.4f\n", string(answers[0], "label"),
                                     number(answers[0], "probability")));
}

TEST(every_word_has_its_label)
{
    char plain[256] = "";
    run("for i in $(seq 20); do printf 'good\\tyes\\nbad\\tno\\n\\n'; done >words.txt; "
        "$TRAIN " SHORT "data.task=tag data.vocab=32 data.file=words.txt data.length=16");
    ask("text words", "'good  \"bad\" x' --jsonl");
    ck_assert_str_eq(string(answers[0], "text"), "good  \"bad\" x");
    const json_t *words = json_object_get(answers[0], "words");
    ck_assert_uint_eq(json_array_size(words), 3);
    ck_assert_str_eq(string(json_array_get(words, 1), "word"), "\"bad\"");
    for (size_t i = 0; i < 3; i++) {
        const json_t *word = json_array_get(words, i);
        ck_assert_uint_eq(json_object_size(word), 3);
        snprintf(plain + strlen(plain), sizeof plain - strlen(plain), "%s\t%s\t%.4f\n",
                 string(word, "word"), string(word, "label"), number(word, "probability"));
    }
    expect_output(strcat(plain, "\n"), USE "'good  \"bad\" x'");
}
