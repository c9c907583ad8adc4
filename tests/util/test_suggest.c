/* The name nearest to a mistyped one. */

#include "suite.h"
#include "util/suggest.h"

static const char *const known[] = {"layers",       "heads",
                                    "dropout",      "attention_dropout",
                                    "weight_decay", "warmup_steps",
                                    "batch_size",   "steps",
                                    "learning_rate"};

static const char *nearest_to(const char *written)
{
    rt_nearest nearest = {.written = written};
    for (int i = 0; i < ROWS(known); i++)
        rt_nearest_try(&nearest, known[i], known[i]);
    return nearest.name ? nearest.name : "nothing";
}

TEST(the_nearest_name_is_what_was_meant)
{
    static const char *const rows[][2] = {
        {"layers", "layers"},
        {"layer", "layers"}, /* as it is; a letter missing */
        {"lyaers", "layers"},
        {"laxers", "layers"}, /* swapped; another one */
        {"LAYERS", "layers"},
        {"drop-out", "dropout"}, /* case; a hyphen */
        {"weight decay", "weight_decay"},
        {"wd", "weight_decay"}, /* a blank; initials */
        {"num_layers", "layers"},
        {"warmup", "warmup_steps"}, /* whole words */
        {"attention_drop", "attention_dropout"},
        {"stesp", "steps"},
        {"rate", "nothing"},
        {"w", "nothing"}, /* less than half; one initial */
        {"wombat", "nothing"},
        {"", "nothing"},
        {"up_steps_and_so_on_and_so_forth_up_to_the_end", "nothing"}, /* more than 40 letters */
    };
    for (int i = 0; i < ROWS(rows); i++)
        ck_assert_msg(!strcmp(nearest_to(rows[i][0]), rows[i][1]), "%s: %s instead of %s",
                      rows[i][0], nearest_to(rows[i][0]), rows[i][1]);
}

TEST(the_first_of_equally_near_names_wins)
{
    rt_nearest nearest = {.written = "abcx"};
    rt_nearest_try(&nearest, "abcy", "first");
    rt_nearest_try(&nearest, "abcz", "second");
    ck_assert_str_eq(nearest.name, "first");
    rt_nearest_try(&nearest, "abcx", "nearer");
    ck_assert_str_eq(nearest.name, "nearer");
}

TEST(a_name_may_be_found_by_another_spelling)
{
    rt_nearest nearest = {.written = "learning_rat"};
    rt_nearest_try(&nearest, "learning_rate", "lr");
    ck_assert_str_eq(nearest.name, "lr");
}
