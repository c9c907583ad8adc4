/* `train --predict ... --jsonl`: parsed by Jansson and compared with the plain answers. */

#include "train_program.h"

#include "train/use/predict.h"

#define SHORT "tiny.ini --quiet theta.learn=no train.steps=20 optimizer.schedule_steps=20 "
#define TEXT  SHORT "data.task=text data.vocab=32 data.file=text.txt "
#define LM    TEXT "data.objective=lm model.causal=yes "
#define USE   "$TRAIN runs/tiny/config.ini --quiet --predict "

RELEASER(free_json, json_decref)

/* Returns the object of a line of the output. */
static json_t *answer_of(int line)
{
    json_error_t error;
    const char *at = w->out;
    for (; line > 0 && (at = strchr(at, '\n')); line--)
        at++;
    json_t *answer =
        json_loads(lasting("%.*s", (int)strcspn(at, "\n"), at), JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(json_is_object(answer), "%s: %s", error.text, at);
    return owned(answer, free_json);
}

/* Returns the line of an object, which it frees. */
static const char *line_with(json_t *object)
{
    char *text = json_dumps(object, 0);
    const char *line = lasting("%s\n", text);
    free(text);
    json_decref(object);
    return line;
}

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

SUITE(PROGRAM_OPTIONS)

TEST(a_continuation_is_a_field_of_its_own_for_each_line)
{
    make_text();
    run("$TRAIN " LM);
    run(USE "'of \"' --tokens 30 --seed 4");
    ck_assert(!strncmp(w->out, "of \"", 4));
    const char *line =
        line_with(json_pack("{s:s,s:s#,s:i,s:s}", "text", "of \"", "continuation", w->out + 4,
                            (int)strlen(w->out + 4) - 1, "tokens", 30, "end", "length"));
    expect_output(line, USE "'of \"' --tokens 30 --seed 4 --jsonl");
    /* newlines only separate answers */
    run("printf 'a\\n\\nof\\n' | " USE "- --tokens 40 --jsonl");
    static const char *const texts[] = {"a", "", "of"};
    for (int i = 0; i < ROWS(texts); i++)
        ck_assert_str_eq(string(answer_of(i), "text"), texts[i]);
    ck_assert_int_eq(count_of(w->out, "\n"), 3);
}

TEST(the_field_end_gives_the_reason_for_the_end_of_a_continuation)
{
    make_text();
    run("$TRAIN " LM "data.length=12 position.kind=learned");
    expect_stdout("\", \"tokens\": 3, \"end\": \"length\"}\n", USE "a --tokens 3 --jsonl");
    expect_stdout("\", \"tokens\": 11, \"end\": \"length\"}\n", USE "a --tokens 99 --jsonl");
    run(USE "a --tokens 1 --temperature 0");
    ck_assert_uint_eq(strlen(w->out), 3);
    const int stop = (unsigned char)w->out[1];
    const char *line = line_with(json_pack("{s:s,s:s#,s:i,s:s}", "text", "a", "continuation",
                                           w->out + 1, 1, "tokens", 1, "end", "stop"));
    expect_output(line, USE "a --tokens 9 --temperature 0 --jsonl --stop \"$(printf '\\%03o')\"",
                  stop);
}

/* A zero byte is escaped in JSON, and a number that is not finite becomes null. */
TEST(invalid_utf8_and_non_finite_numbers_become_valid_json)
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
    expect_stdout("{\"text\": \"a [MASK]ine\\\"[MASK]\", \"filled\": \"",
                  USE "'a [MASK]ine\"[MASK]' --jsonl");
    const json_t *answer = answer_of(0), *masks = json_object_get(answer, "masks");
    const char *filled = string(answer, "filled");
    ck_assert_uint_eq(json_object_size(answer), 3);
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
    ck_assert_int_eq(count_of(w->out, "\n"), 2);
    expect_text(w->out, "\n{\"text\": \"b \\\"a\\\" d\", \"label\": \"");
    const json_t *answers[] = {answer_of(0), answer_of(1)};
    for (int i = 0; i < 2; i++) {
        const json_t *all = json_object_get(answers[i], "probabilities");
        const double best = number(answers[i], "probability");
        double sum = 0;
        ck_assert_uint_eq(json_object_size(answers[i]), 4);
        ck_assert_uint_eq(json_object_size(all), 3);
        for (int k = 0; k < 3; k++) {
            sum += number(all, labels[k]);
            ck_assert_double_le(number(all, labels[k]), best);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        ck_assert_double_eq(number(all, string(answers[i], "label")), best);
    }
    const char *line =
        lasting("%s\t%.4f\n", string(answers[0], "label"), number(answers[0], "probability"));
    expect_output(line, USE "'good 3'");
}

TEST(every_word_has_its_label)
{
    char plain[256] = "";
    run("for i in $(seq 20); do printf 'good\\tyes\\nbad\\tno\\n\\n'; done >words.txt; "
        "$TRAIN " SHORT "data.task=tag data.vocab=32 data.file=words.txt data.length=16");
    expect_stdout("{\"text\": \"good  \\\"bad\\\" x\", \"words\": [",
                  USE "'good  \"bad\" x' --jsonl");
    const json_t *words = json_object_get(answer_of(0), "words");
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
