#include "train/run/arguments.h"

#include "io/gguf/gguf.h"
#include "text/number.h"
#include "text/program_name.h"
#include "text/suggest.h"
#include "train/run/embed.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST_OPTIONS = 64,
    FIRST_OPTION = 256 /* of getopt_long's values, beyond every character */
};

/* The rows as getopt_long takes them; a zeroed one ends them. */
static void list_options(struct option *options)
{
    const rt_option *row;
    for (int i = 0; i < MOST_OPTIONS - 1 && (row = rt_option_at(i)); i++)
        options[i] = (struct option){.name = row->name,
                                     .has_arg = row->value ? required_argument : no_argument,
                                     .val = FIRST_OPTION + i};
}

static rt_status set_command(rt_arguments *a, const rt_option *row)
{
    /* --help and --version answer whatever else is there. */
    if (a->command == RT_COMMAND_HELP || a->command == RT_COMMAND_VERSION)
        return rt_ok();
    if (a->command != RT_COMMAND_TRAIN && a->command != row->command &&
        row->command < RT_COMMAND_HELP)
        return rt_error(RT_CONFIG, "--%s cannot be combined with another command", row->name);
    a->command = row->command;
    return rt_ok();
}

/* What is written is not an option, or `lacks_value`, or has a value and takes none. */
static rt_status refuse(const char *written, bool known, bool lacks_value)
{
    rt_nearest nearest = {.written = written + strspn(written, "-")};
    const rt_option *row;
    for (int i = 0; !known && (row = rt_option_at(i)); i++)
        rt_nearest_try(&nearest, row->name);
    if (nearest.name)
        return rt_error(RT_CONFIG, "unknown option '%s'; did you mean '--%s'?", written,
                        nearest.name);
    return rt_error(RT_CONFIG,
                    !known        ? "unknown option '%s'"
                    : lacks_value ? "option '%s' needs a value"
                                  : "option '%s' takes no value",
                    written);
}

static rt_status add_override(rt_arguments *a, const char *text)
{
    if (a->override_count == RT_MOST_OVERRIDES)
        return rt_error(RT_CONFIG, "more than %d arguments section.key=value", RT_MOST_OVERRIDES);
    a->overrides[a->override_count++] = text;
    return rt_ok();
}

/* A file, or a folder by a path, which no key is: the folders of a sweep's runs have '='. */
static bool is_path(const char *text)
{
    struct stat found;
    return !stat(text, &found) &&
           (S_ISREG(found.st_mode) ||
            (S_ISDIR(found.st_mode) && memchr(text, '/', strcspn(text, "="))));
}

/* What follows --report is another run, what follows --vocab or
 * --train-tokenizer a text. An operand with '=' sets a
 * key, unless it names a file or a folder. The other operand is the configuration. */
static rt_status take_operand(rt_arguments *a, const char *text)
{
    const rt_option *command = rt_option_of(a->command);
    const char *operands = command ? command->operands : NULL;
    if (!*text)
        return rt_error(RT_CONFIG, "an argument is empty; see %s --help", rt_program_name());
    if (operands && a->other_count == RT_MOST_OTHERS)
        return rt_error(RT_CONFIG, "more than %d %s", RT_MOST_OTHERS, operands);
    if (operands) {
        a->others[a->other_count++] = text;
        return rt_ok();
    }
    if (strchr(text, '=') && !is_path(text))
        return add_override(a, text);
    if (a->config && a->command == RT_COMMAND_ENCODE && !a->encode) {
        a->encode = text;
        return rt_ok();
    }
    if (a->config)
        return rt_error(RT_CONFIG, "one CONFIG.ini is expected; got '%s' and '%s'", a->config,
                        text);
    a->config = text;
    return rt_ok();
}

static rt_status set_key(rt_arguments *a, const rt_option *row, const char *text)
{
    const int length = snprintf(a->threads, sizeof a->threads, "%s=%s", row->key, text);
    return length < (int)sizeof a->threads
               ? add_override(a, a->threads)
               : rt_error(RT_CONFIG, "the value of --%s is too long", row->name);
}

static rt_status set_number(const rt_option *row, void *member, const char *text)
{
    int64_t whole = 0;
    double number = 0;
    const bool read =
        row->sets == RT_SETS_NUMBER ? rt_number_read(text, &number) : rt_whole_read(text, &whole);
    if (row->sets != RT_SETS_NUMBER)
        number = (double)whole;
    if (!read || !(number >= row->low && number <= row->high))
        return rt_error(RT_CONFIG, "--%s must be %s; got '%s'%s", row->name, row->range, text,
                        row->sets == RT_SETS_NUMBER && !read && rt_number_is_decimal(text)
                            ? ", which is outside of the range of a double"
                            : "");
    if (row->sets == RT_SETS_INT)
        *(int *)member = (int)whole;
    else if (row->sets == RT_SETS_INT64)
        *(int64_t *)member = whole;
    else
        *(double *)member = number;
    return rt_ok();
}

static rt_status set_member(rt_arguments *a, const rt_option *row, const char *text)
{
    void *member = (char *)a + row->at;
    switch (row->sets) {
    case RT_SETS_NOTHING:
        return rt_ok();
    case RT_SETS_FLAG:
        *(bool *)member = true;
        return rt_ok();
    case RT_SETS_TEXT:
    case RT_SETS_ANY:
        *(const char **)member = text;
        return rt_ok();
    case RT_SETS_KEY:
        return set_key(a, row, text);
    default:
        return set_number(row, member, text);
    }
}

static rt_status take_option(rt_arguments *a, const rt_option *row, const char *text)
{
    if (row->value && !*text && row->sets != RT_SETS_ANY)
        return rt_error(RT_CONFIG, "option '--%s' needs a value", row->name);
    if (row->operands && row->sets == RT_SETS_TEXT && a->command == row->command)
        return rt_error(RT_CONFIG, "give --%s only once; list further %s after it", row->name,
                        row->operands);
    const rt_status status = set_member(a, row, text);
    return status.code || !row->command ? status : set_command(a, row);
}

bool rt_arguments_evaluate(const rt_arguments *a)
{
    return a->command == RT_COMMAND_EVAL || a->command == RT_COMMAND_USAGE ||
           a->command == RT_COMMAND_DISTANCES;
}

/* ---- what goes together ---- */

/* "--eval, --predict or --decay" */
static void name_commands(unsigned commands, char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    for (int i = 0; commands; i++) {
        const rt_option *row = rt_option_of((rt_command)i);
        if (!(commands & RT_COMMAND_BIT(i)))
            continue;
        commands &= ~RT_COMMAND_BIT(i);
        length += (size_t)snprintf(text + length, size - length, "%s%s%s",
                                   !length    ? ""
                                   : commands ? ", "
                                              : " or ",
                                   row ? "--" : "", row ? row->name : "training");
    }
}

/* Whether each option that is given goes with the command, and none with one that contradicts it.
 */
static rt_status check_pairs(const rt_arguments *a, const bool *given)
{
    char commands[RT_MESSAGE_SIZE];
    const rt_option *row, *other;
    for (int i = 0; (row = rt_option_at(i)); i++) {
        if (!given[i])
            continue;
        for (int j = 0; row->against && (other = rt_option_at(j)); j++)
            if (given[j] && !strcmp(other->name, row->against))
                return rt_error(RT_CONFIG, "give --%s or --%s, not both", row->name, other->name);
        if (!row->with || row->with & RT_COMMAND_BIT(a->command))
            continue;
        name_commands(row->with, commands, sizeof commands);
        return row->with == RT_COMMAND_BIT(RT_COMMAND_TRAIN)
                   ? rt_error(RT_CONFIG, "--%s goes with training only", row->name)
                   : rt_error(RT_CONFIG, "--%s needs %s%s", row->name, commands,
                              row->note ? row->note : "");
    }
    return rt_ok();
}

static rt_status check_embedding(const rt_arguments *a)
{
    rt_pooling pool;
    const size_t length = a->output ? strlen(a->output) : 0;
    if (a->pool && !rt_pooling_find(a->pool, &pool))
        return rt_error(RT_CONFIG, "--pool must be first, mean or last; got '%s'", a->pool);
    if (a->output && (length < 4 || strcmp(a->output + length - 3, ".h5") != 0))
        return rt_error(RT_CONFIG, "--output of --embed must be FILE.h5; got '%s'", a->output);
    return rt_ok();
}

static rt_status check_together(const rt_arguments *a)
{
    const bool configured = a->config || a->override_count;
    if (a->report && configured)
        return rt_error(RT_CONFIG, "--report takes folders of runs, and no configuration");
    if ((a->vocab || a->tokenizer) && (configured || !a->other_count))
        return rt_error(RT_CONFIG, "--%s N takes text files, and no configuration",
                        rt_option_of(a->command)->name);
    if (!a->config && !a->report && !a->checkpoint && !a->vocab && !a->tokenizer)
        return rt_error(RT_CONFIG, "a CONFIG.ini is required; see %s --help", rt_program_name());
    if (a->checkpoint && a->config && a->command == RT_COMMAND_PRINT_CONFIG)
        return rt_error(
            RT_CONFIG,
            "--checkpoint needs --eval, --usage, --distances, --predict, --embed, --export or "
            "--decay, or --print-config without a CONFIG.ini");
    if (a->command == RT_COMMAND_ENCODE && !a->encode)
        return rt_error(RT_CONFIG, "--encode takes a CONFIG.ini and the file to write");
    if (a->dtype && !rt_is_gguf(a->export))
        return rt_error(RT_CONFIG, "--dtype needs --export FILE.gguf");
    if (a->dtype && strcmp(a->dtype, "f32") && strcmp(a->dtype, "f16"))
        return rt_error(RT_CONFIG, "--dtype must be f32 or f16; got '%s'", a->dtype);
    if (a->watch && a->other_count)
        return rt_error(RT_CONFIG, "--watch takes only one run");
    if (a->output && a->report && !a->other_count)
        return rt_error(RT_CONFIG, "--output needs --report with several runs");
    return a->embed ? check_embedding(a) : rt_ok();
}

rt_status rt_arguments_parse(rt_arguments *a, int argc, char **argv)
{
    struct option options[MOST_OPTIONS] = {{0}};
    bool given[MOST_OPTIONS] = {false};
    rt_status status = rt_ok();
    int found;
    *a = (rt_arguments){
        .argc = argc, .argv = argv, .revision = "", .temperature = -1, .seed = -1, .layer = -1};
    list_options(options);
    optind = 0; /* starts over, also for a second command line in one process */
    opterr = 0;
    /* '-': operands are returned in their place, as option 1 */
    while (!status.code && (found = getopt_long(argc, argv, "-:h", options, NULL)) != -1) {
        if (found == 1) {
            status = take_operand(a, optarg);
        } else if (found == 'h') {
            status = set_command(a, rt_option_of(RT_COMMAND_HELP));
        } else if (found >= FIRST_OPTION) {
            given[found - FIRST_OPTION] = true;
            status = take_option(a, rt_option_at(found - FIRST_OPTION), optarg);
        } else {
            const char letter[] = {'-', (char)optopt, '\0'};
            const bool is_letter = optopt > 0 && optopt < FIRST_OPTION;
            status = refuse(is_letter ? letter : argv[optind > 1 ? optind - 1 : 1],
                            optopt >= FIRST_OPTION || found == ':', found == ':');
        }
    }
    for (; !status.code && optind < argc; optind++)
        status = take_operand(a, argv[optind]);
    a->report = a->watch ? a->watch : a->report;
    if (status.code || a->command == RT_COMMAND_HELP || a->command == RT_COMMAND_VERSION)
        return status;
    status = check_pairs(a, given);
    return status.code ? status : check_together(a);
}
