/* Random configurations. Every key of the table takes part by its type and its range, so that a
 * new one is covered without a change here; only keys that name files, and those that say how
 * much work a run is, are known by their names. */

#include "torture/torture.h"

#include "train/config/keys.h"

#include <math.h>

/* Multiplications and additions of a whole run: a second or two under sanitizers. */
static const double most_work = 3e7, most_work_of_small = 5e6;

enum { LARGE = 16, TRIES = 400 };

typedef struct settings {
    char value[RT_MAX_KEYS][RT_FILE_LIST_SIZE]; /* "": not set */
} settings;

int draw_key(trial *t)
{
    int count = 0;
    while (rt_key_at(count))
        count++;
    return draw(t, count);
}

static bool is_key(const rt_key *key, const char *name)
{
    char full[RT_KEY_NAME_SIZE];
    return !strcmp(rt_key_full_name(key, full), name);
}

static bool allows(const rt_range *range, double value)
{
    return (range->above ? value > range->low : value >= range->low) &&
           (range->below ? value < range->high : value <= range->high);
}

static double draw_whole(trial *t, const rt_range *range)
{
    static const int small[] = {0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 8, 12, 16, 16, 24, 32};
    for (int i = 0; i < 20; i++) {
        const double value = draw_of(t, small);
        if (allows(range, value))
            return value;
    }
    return range->low + draw(t, 8);
}

static double draw_number(trial *t, const rt_range *range, bool tame)
{
    static const double common[] = {0, 0.25, 0.5, 0.75, 1, 0.1, 0.9, 0.01, 1e-3, 2, 4, 100};
    static const double extreme[] = {1e-300, 1e300, 1e-60, 1e-30, 1e30, 1e-12, 0.999999999, 1e6};
    for (int i = 0; i < 20; i++) {
        double value = draw_of(t, common);
        if (!tame && chance(t, 10))
            value = draw_of(t, extreme);
        else if (chance(t, 40))
            value = pow(10, 5 * draw_uniform(t) - 3);
        if (allows(range, value))
            return value;
    }
    return range->low + (range->above ? 1 : 0);
}

static void draw_text(trial *t, const rt_key *key, bool tame, char value[RT_FILE_LIST_SIZE])
{
    static const char *const samples[] = {"text.txt",   "utf8.txt",   "tokens.h5:/train",
                                          "tokens.bin", "tokens.npy", "header.bin",
                                          "table.tsv",  "tags.tsv"};
    static const char *const weights[] = {"*1", "*3", "*0.5", "*0", "*-1", "*1e99"};
    static const char *const documents[] = {"line", "blank", "fox", "none"};
    static const char *const names[] = {"a b",      "it's",         "a\"b",        "`>wren`",
                                        "$(>wren)", "<torture>",    "a&b",         "%s%n%d",
                                        "a,b",      "\xc3\xbc",     "'.`>wren`.'", "x'; >wren; '",
                                        "=",        "sweep_seed=1", "a\\b\\n"};
    *value = '\0';
    const bool mixture = is_key(key, "data.file") && chance(t, 25);
    const char *weight = mixture ? weights[draw(t, tame ? 3 : 6)] : "";
    if (mixture)
        snprintf(value, RT_FILE_LIST_SIZE, "%s/samples/%s%s, %s/samples/%s*2", t->base,
                 draw_of(t, samples), weight, t->base, draw_of(t, samples));
    else if (is_key(key, "data.file") || (is_key(key, "data.eval_file") && tame))
        snprintf(value, RT_FILE_LIST_SIZE, "%s/samples/%s", t->base, draw_of(t, samples));
    else if (is_key(key, "data.documents"))
        snprintf(value, RT_FILE_LIST_SIZE, "%s", draw_of(t, documents));
    else if (is_key(key, "train.init_from") && chance(t, 15))
        snprintf(value, RT_FILE_LIST_SIZE, "%s/%s", t->base,
                 chance(t, 80) ? "templates/runs/rope/checkpoints/step-00000006.h5" : "nothing.h5");
    else if (!is_key(key, "train.init_from") && !is_key(key, "run.dir"))
        snprintf(value, RT_FILE_LIST_SIZE, "%s", tame || chance(t, 50) ? "run" : draw_of(t, names));
}

static void draw_lengths(trial *t, const rt_range *range, char value[RT_FILE_LIST_SIZE])
{
    const int count = 1 + draw(t, 3);
    int length = 0;
    for (int i = 0; i < count; i++)
        length += snprintf(value + length, RT_FILE_LIST_SIZE - (size_t)length, "%s%.0f",
                           i ? "," : "", draw_whole(t, range));
}

bool draw_value(trial *t, int key, bool tame, char value[RT_FILE_LIST_SIZE])
{
    const rt_key *k = rt_key_at(key);
    int words = 0;
    switch (k->type) {
    case RT_KEY_INTEGER:
    case RT_KEY_INTERVAL:
        if (k->type == RT_KEY_INTERVAL && chance(t, 20))
            words = snprintf(value, RT_FILE_LIST_SIZE, "%d..", 1 + draw(t, 9));
        snprintf(value + words, RT_FILE_LIST_SIZE - (size_t)words, "%.0f",
                 draw_whole(t, &k->range));
        break;
    case RT_KEY_SEED:
        snprintf(value, RT_FILE_LIST_SIZE, chance(t, 5) ? "9223372036854775807" : "%d",
                 draw(t, 100));
        break;
    case RT_KEY_NUMBER:
        snprintf(value, RT_FILE_LIST_SIZE, "%.6g", draw_number(t, &k->range, tame));
        break;
    case RT_KEY_YES_NO:
        snprintf(value, RT_FILE_LIST_SIZE, "%s", chance(t, 50) ? "yes" : "no");
        break;
    case RT_KEY_CHOICE:
        while (k->word(words))
            words++;
        snprintf(value, RT_FILE_LIST_SIZE, "%s", k->word(draw(t, words)));
        break;
    case RT_KEY_LENGTHS:
        draw_lengths(t, &k->range, value);
        break;
    default:
        draw_text(t, k, tame, value);
    }
    return *value != '\0';
}

static void write_ini(const settings *s, char *ini, size_t size)
{
    size_t length = 0;
    ini[0] = '\0';
    for (int i = 0; rt_key_at(i); i++) {
        if (rt_key_starts_section(i))
            length +=
                (size_t)snprintf(ini + length, size - length, "[%s]\n", rt_key_at(i)->section);
        if (*s->value[i])
            length += (size_t)snprintf(ini + length, size - length, "%s = %s\n", rt_key_at(i)->name,
                                       s->value[i]);
    }
}

static double work_of(const rt_config *c)
{
    const double dim = c->model.dim, length = rt_config_longest(c);
    const double ffn = c->model.ffn_dim ? c->model.ffn_dim : 4 * dim;
    const double vocab = c->data.vocab > 200 ? c->data.vocab : 200;
    const double token =
        c->model.layers *
            (dim * (4 * dim + (c->model.ffn == RT_FFN_PLAIN ? 2 : 3) * ffn) + 2 * length * dim) +
        vocab * dim;
    const double evaluations =
        ceil((double)c->train.steps / c->train.eval_every) + c->train.eval_lengths.count;
    return token * length * c->train.batch_size *
           (3.0 * c->train.steps + evaluations * c->train.eval_batches);
}

/* Returns whether the text is a valid configuration whose run takes no more than so much work. */
static bool is_good(drawn_config *d, const settings *s, const char *path, double most)
{
    char *errors = NULL;
    write_ini(s, d->ini, sizeof d->ini);
    const rt_config_source source = {.path = path, .text = d->ini};
    rt_status status = rt_config_load(&d->config, &source, &errors);
    rt_free(errors);
    return !status.code && work_of(&d->config) <= most;
}

/* Leaves out keys without an effect, which would be refused. */
static void drop_idle(settings *s, const char *path)
{
    static rt_config config;
    static char ini[sizeof(((drawn_config *)0)->ini)];
    char *errors = NULL;
    write_ini(s, ini, sizeof ini);
    rt_status status = rt_config_load_run(&config, path, ini, &errors);
    rt_free(errors);
    for (int i = 0; !status.code && rt_key_at(i); i++)
        if (config.idle[i])
            *s->value[i] = '\0';
}

static void write_config(drawn_config *d, const settings *s, const char *path)
{
    d->good = is_good(d, s, path, HUGE_VAL);
    d->text = d->good && (!strcmp(rt_data_task_name(d->config.data.task), "text") ||
                          rt_task_has_rows(&rt_tasks[d->config.data.task]));
    write_text(path, d->ini, strlen(d->ini));
}

/* Keys with too large a default for a try, keys that name files, and the task. */
static bool is_always_drawn(const rt_key *key)
{
    return (key->type == RT_KEY_INTEGER && atof(key->initial) > LARGE) ||
           is_key(key, "data.file") || is_key(key, "data.task") || is_key(key, "run.name");
}

/* Sets keys one by one, where that leaves the whole good. */
static void draw_others(trial *t, drawn_config *d, settings *s, const char *path, double most,
                        bool (*is_drawn)(const rt_key *key), int share)
{
    static settings before;
    char value[RT_FILE_LIST_SIZE];
    for (int i = 0; rt_key_at(i); i++) {
        if (!is_drawn(rt_key_at(i)) || !chance(t, share) || !draw_value(t, i, d->tame, value))
            continue;
        before = *s;
        snprintf(s->value[i], sizeof s->value[i], "%s", value);
        drop_idle(s, path);
        if (!is_good(d, s, path, most))
            *s = before;
    }
}

static bool is_drawn_then(const rt_key *key)
{
    return !is_always_drawn(key);
}

static settings drawn; /* last */

void draw_config(trial *t, drawn_config *d, const char *path, bool small)
{
    static const char *const wrong[] = {"wombat", "-1",  "nan", "1e999", "99999999", "1000000",
                                        "0x10",   "1,2", "2,",  "1e300", "0",        "yes "};
    static settings s;
    char value[RT_FILE_LIST_SIZE];
    const double most = small ? most_work_of_small : most_work;
    d->tame = chance(t, 50);
    for (int tries = 0; tries < TRIES; tries++) {
        s = (settings){0};
        for (int i = 0; rt_key_at(i); i++)
            if (is_always_drawn(rt_key_at(i)) && draw_value(t, i, d->tame, value))
                snprintf(s.value[i], sizeof s.value[i], "%s", value);
        drop_idle(&s, path);
        if (is_good(d, &s, path, most))
            break;
    }
    const int share = 10 + draw(t, 60);
    for (int round = 0; round < 2; round++)
        draw_others(t, d, &s, path, most, is_drawn_then, share);
    drawn = s;
    if (!small && chance(t, 12)) /* a value that is refused, or too large for any machine */
        snprintf(s.value[draw_key(t)], RT_FILE_LIST_SIZE, "%s", draw_of(t, wrong));
    write_config(d, &s, path);
}

/* Returns whether a run that starts from one with the same shapes may change the key. */
static bool is_drawn_again(const rt_key *key)
{
    static const char names[] =
        " theta.learn theta.form theta.lr_scale theta.tolerances model.dropout model.activation "
        "model.causal position.frequencies position.scaling position.scale train.steps "
        "train.eval_every train.checkpoint_every train.keep run.seed run.log_every data.objective ";
    char name[RT_KEY_NAME_SIZE];
    return !strcmp(key->section, "optimizer") ||
           strstr(names, text_of(" %s ", rt_key_full_name(key, name)));
}

static void set(settings *s, const char *section, const char *name, const char *value)
{
    char full[RT_KEY_NAME_SIZE];
    snprintf(full, sizeof full, "%s.%s", section, name);
    snprintf(s->value[rt_key_find(full)], RT_FILE_LIST_SIZE, "%s", value);
}

void draw_another(trial *t, drawn_config *d, const char *path, const char *start, const char *theta)
{
    set(&drawn, "train", "init_from", start);
    set(&drawn, "theta", "init_from", "");
    draw_others(t, d, &drawn, path, most_work, is_drawn_again, 30);
    static settings before;
    before = drawn;
    if (chance(t, 50)) { /* theta crosses 0 */
        set(&drawn, "theta", "learn", "yes");
        set(&drawn, "theta", "form", "raw");
        set(&drawn, "optimizer", "lr", "0.5");
    }
    if (chance(t, 40)) {
        set(&drawn, "theta", "init_from", theta);
        set(&drawn, "theta", "learn", "yes");
        set(&drawn, "theta", "init", "frequencies");
    }
    drop_idle(&drawn, path);
    if (!is_good(d, &drawn, path, most_work))
        drawn = before;
    write_config(d, &drawn, path);
}

/* 300 ids also behind the header of other programs (20240520, 1, 300 and zeros up to 1 kB); a table
 * for classify, and tokens for tag. */
static const char samples[] =
    "for i in $(seq 20); do echo \"line $i: the quick brown fox jumps over $((i % 7)) lazy "
    "dogs.\"; "
    "done >text.txt; sed 's/o/\xc3\xb6/g' text.txt >utf8.txt; for i in $(seq 150); do printf "
    "'\\4\\0\\5\\0'; done >tokens.bin; { printf '\\210\\330\\64\\1\\1\\0\\0\\0\\54\\1\\0\\0'; head "
    "-c 1012 /dev/zero; cat tokens.bin; } >header.bin; awk 'BEGIN { print \"text\\tlabel\"; for (; "
    "i < "
    "40; i++) print substr(\"a \\\"fox\\\",\", 1, 1 + i % 9) \"\\t\" (i % 3 ? \"yes\" : \"no\") }' "
    ">table.tsv; awk 'BEGIN { for (; i < 40; i++) print \"fox\" i \"\\t\" (i % 3 ? \"O\" : \"B\") "
    "(i % "
    "5 ? \"\" : \"\\n\") }' >tags.tsv; printf '[data]\\ntask = tokens\\nfile = tokens.bin\\nlength "
    "= "
    "8\\n' >ids.ini";

void make_samples(trial *t)
{
    make_folder(t, "samples");
    if (system(text_of("cd '%s/samples' && %s", t->folder, samples)))
        exit(TORTURE_STUCK);
    TRAIN(t, "0", "samples", "--encode", "ids.ini", "tokens.h5");
    TRAIN(t, "0", "samples", "--encode", "ids.ini", "tokens.npy");
}
