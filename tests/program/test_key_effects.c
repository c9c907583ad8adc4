/* Every key, set alone, changes a run, or may differ when it is resumed, or is refused by name. */

#include "train_program.h"
#include "util/key_values.h"

/* A run of a few steps, and its output with every digit of its losses. */
#define RUN                                                                                        \
    "tiny.ini --quiet train.steps=4 train.eval_every=2 optimizer.schedule_steps=4 "                \
    "run.log_every=1 run.threads=1 train.eval_lengths=24 "

/* Small initial weights attend to all positions alike, which would hide effects of some keys. */
static const char *const bases[] = {
    "theta.learn=no model.init_std=0.3",
    "theta.learn=yes",
    "theta.learn=no data.task=classify data.file=rows.tsv data.vocab=32 model.init_std=0.3",
    "theta.learn=no model.kind=decoder data.task=text data.file=text.txt data.vocab=32",
};

/* The default is among the values that are tried one after another. */
static const key_values values = {
    [RT_KEY_INTEGER] = VALUES("2", "1", "8", "16", "6"),
    [RT_KEY_NUMBER] = VALUES("0.001", "0.5", "2"),
    [RT_KEY_INTERVAL] = VALUES("8", "4..8"),
    [RT_KEY_LENGTHS] = VALUES("8"),
    [RT_KEY_SEED] = VALUES("9"),
    [RT_KEY_YES_NO] = VALUES("yes", "no"),
    [RT_KEY_FACTORS] = VALUES("1,2"),
    [RT_KEY_LAYERS] = VALUES("head", "other.txt"),
    [RT_KEY_TEXT] = VALUES("head", "other.txt"),
};

/* Returns the results of a run: its exit code, its output and its losses. */
static char *outcome_of(const char *base, const char *setting)
{
    char printed[OUTPUT_SIZE];
    const int code = shell(w, "$TRAIN --overwrite " RUN "%s %s", base, setting);
    strcpy(printed, w->out);
    shell(w, "cut -d, -f1-5 runs/tiny/metrics.csv; cat runs/tiny/lengths.csv");
    char *outcome = rt_alloc(3 * OUTPUT_SIZE, 1);
    ck_assert_ptr_nonnull(outcome);
    snprintf(outcome, 3 * OUTPUT_SIZE, "%d\n%s%s", code, printed, w->out);
    return outcome;
}

static bool refused(const char *base, const char *setting, const char *name)
{
    if (shell(w, "$TRAIN --check " RUN "%s %s", base, setting) == 0)
        return false;
    if (strstr(w->err, "no effect"))
        expect_text(w->err, name);
    return *w->err;
}

/* Sums of other parts differ in their last digits, if at all; what is computed again is the same;
 * patience needs more evaluations, and
 * the check of a theta one that has moved farther, than these runs have. */
static bool is_beyond(const char *name)
{
    return !strcmp(name, "train.shards") || !strcmp(name, "train.recompute") ||
           !strcmp(name, "train.patience") || !strcmp(name, "theta.check");
}

static bool is_set(const char *base, const char *name)
{
    const char *setting = lasting("%s=", name);
    return strstr(base, setting) || strstr(RUN, setting);
}

/* One of the values may be the default, which changes nothing. */
static void judge(const char *base, const rt_key *key, const char *plain)
{
    char name[RT_KEY_NAME_SIZE];
    int taken = 0;
    bool changes = false;
    rt_key_full_name(key, name);
    for (int i = 0; value_for(values, key, i) && !changes; i++) {
        const char *setting = lasting("%s=%s", name, value_for(values, key, i));
        if (refused(base, setting, name))
            continue;
        char *came = outcome_of(base, setting);
        changes = strcmp(came, plain) != 0;
        taken++;
        rt_free(came);
    }
    ck_assert_msg(changes || taken < 2, "%s has no effect with %s, and nobody is told", name, base);
}

SUITE(PROGRAM_FIXTURE, .timeout = 900)

TEST_ROWS(a_key_has_an_effect_or_is_refused, 0, (int)(sizeof bases / sizeof *bases))
{
    char name[RT_KEY_NAME_SIZE];
    run("seq 400 >text.txt; seq 300 400 >other.txt; printf 'text\\tlabel\\n' >rows.tsv; for i in "
        "$(seq 200); do printf \"a long line $i of them\\tx\\nb$i\\ty\\n\"; done >>rows.tsv");
    char *plain = outcome_of(bases[_i], "");
    for (int i = 0; rt_key_at(i); i++) {
        const rt_key *key = rt_key_at(i);
        rt_key_full_name(key, name);
        if (key->change != RT_MAY_DIFFER && !is_beyond(name) && !is_set(bases[_i], name))
            judge(bases[_i], key, plain);
    }
    rt_free(plain);
}

static void check_conditions(const char *name, const rt_need *need)
{
    rt_config config;
    for (; need->relation != RT_NEED_END; need++) {
        if (need->relation == RT_NEED_OR)
            continue;
        const rt_key *key = rt_key_at(rt_key_find(need->key));
        ck_assert_msg(key != NULL, "%s needs %s, which is no key", name, need->key);
        const bool is_number = key->type == RT_KEY_INTEGER || key->type == RT_KEY_NUMBER;
        const bool has_words =
            key->type == RT_KEY_CHOICE || key->type == RT_KEY_YES_NO || key->type == RT_KEY_TEXT;
        ck_assert_msg(need->relation == RT_NEED_ABOVE   ? is_number
                      : need->relation == RT_NEED_UNSET ? key->type == RT_KEY_TEXT
                                                        : has_words && need->words[0],
                      "%s needs another relation to %s", name, need->key);
        for (int i = 0; need->words[i]; i++) {
            rt_writer problem = {0};
            ck_assert_msg(rt_key_read(key, need->words[i], &config, &problem), "%s needs %s: %s",
                          name, need->key, problem.bytes ? problem.bytes : "");
            rt_writer_free(&problem);
        }
    }
}

TEST(conditions_name_keys_and_their_values)
{
    char name[RT_KEY_NAME_SIZE];
    for (int i = 0; rt_key_at(i); i++)
        if (rt_key_at(i)->needs)
            check_conditions(rt_key_full_name(rt_key_at(i), name), rt_key_at(i)->needs);
}
