#include "train/run/arguments.h"

#include "text/number.h"
#include "text/program_name.h"
#include "text/suggest.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_TOKENS = 1000000, MOST_LINES = 1000000 };
enum {
    OPTION_CHECKPOINT = 256,
    OPTION_PREDICT,
    OPTION_EXPORT,
    OPTION_THETA,
    OPTION_REPORT,
    OPTION_WATCH,
    OPTION_OUTPUT,
    OPTION_VOCAB,
    OPTION_TEMPERATURE,
    OPTION_SEED,
    OPTION_TOKENS,
    OPTION_TOP_K,
    OPTION_TOP_P,
    OPTION_STOP,
    OPTION_THREADS,
    OPTION_FLAG
};

static const char synopsis[] =
    "usage: %s [options] CONFIG.ini [section.key=value ...]\n"
    "       %s --eval|--usage|--predict TEXT|--export DIR|--decay|--print-config\n"
    "             --checkpoint FILE [section.key=value ...]\n"
    "       %s --report RUN ...|--watch RUN\n"
    "       %s --vocab N TEXT ...\n"
    "\n";

static const char usage[] =
    "Trains the model that CONFIG.ini describes; a section.key=value replaces what the file says,\n"
    "and sweep.section.key=a,b,c makes a run for each value. The config.ini in the folder of a "
    "run\n"
    "is that run, wherever the folder is.\n"
    "\n"
    "  --resume           resume from the latest valid checkpoint of the run\n"
    "  --overwrite        replace the run that is already there, or what --export finds\n"
    "  --eval             evaluate a run as it was configured and stop; a section.key=value\n"
    "                     changes what can be changed, such as data.file\n"
    "  --theta WHAT       for --eval: another theta in the place of the model's own, learned or\n"
    "                     fixed: start (where the run began), base (base^(-2i/R)), off:K (pairs\n"
    "                     from K on do not rotate), off:Xturns (pairs of fewer than X full turns\n"
    "                     over the distance that attention reaches), scale:X (X times theta), or\n"
    "                     a CSV with columns layer, head, i and theta, as theta.csv and\n"
    "                     theta_final.csv of a run. It is the theta behind position.scaling\n"
    "  --usage            print as CSV how much of queries and keys each pair has over the\n"
    "                     evaluation data (usage.csv of a run), and stop\n"
    "  --predict TEXT     fill every [MASK] of a text (mlm), continue it (lm), or print its label\n"
    "                     (classify; a pair is text<TAB>text_b) or those of its words (tag), with\n"
    "                     their probability, and stop; - is every line of standard input,\n"
    "                     which are continued several at a time if it is a file.\n"
    "                     A continuation is streamed. When its data.length tokens are full,\n"
    "                     the older half is dropped (position.scaling = dynamic: none is). It\n"
    "                     ends where the model chooses a token that ends a text, if it is from a\n"
    "                     folder of Hugging Face that names one, or has no more positions\n"
    "  --export DIR       write the model as a folder that transformers of Hugging Face\n"
    "                     loads, and stop\n"
    "  --report RUN ...   draw the report of a run or a sweep again, from its folder, and stop; "
    "of\n"
    "                     several a report that compares them\n"
    "  --watch RUN        the same again and again while the run trains; the page reloads itself\n"
    "  --output FILE      for --report: where the comparison goes (default: report.html)\n"
    "  --vocab N TEXT ... print a WordPiece vocabulary of N lines made of texts, a vocab.txt for\n"
    "                     data.level = wordpiece, and stop\n"
    "  --lowercase        for --vocab: of the texts in lower case and without accents, as\n"
    "                     data.lowercase = yes reads them\n"
    "  --temperature T    for --predict: the sampling temperature; 0 = always the most likely\n"
    "                     (default: 0 for mlm, 1 for lm)\n"
    "  --seed N           for --predict: seed of the choices (default: run.seed)\n"
    "  --top-k K          for --predict: choose among the K most likely tokens\n"
    "  --top-p P          for --predict: nucleus sampling: choose among the fewest tokens whose\n"
    "                     probabilities sum to P\n"
    "  --tokens N         for --predict: how many tokens continue a text (default: 200)\n"
    "  --stop TEXT        for --predict: stop sequence: a continuation ends at this text\n"
    "  --jsonl            for --predict: print each answer as a line of JSON, an object with text\n"
    "                     and, for mlm, filled and masks [{token, probability}]; for lm\n"
    "                     continuation, tokens (how many) and end (token, stop or length); for\n"
    "                     classify label, probability and probabilities {label: p}; for tag words\n"
    "                     [{word, label, probability}]. What is not UTF-8 is U+FFFD\n";

static const char more_usage[] =
    "  --check            validate configuration and data, and stop\n"
    "  --print-config     print the configuration with every key as an INI file, and, unless\n"
    "                     --quiet, what is not a default and where it came from on stderr; and "
    "stop\n"
    "  --gradcheck        check every gradient by finite differences (double precision only)\n"
    "  --decay            print C(r), how attention can decay with the distance r, as CSV\n"
    "  --checkpoint FILE  the checkpoint for --eval, --usage, --predict and --export, or whose\n"
    "                     theta --decay adds; or the folder of a run, or of a RoFormer, Llama or "
    "Mistral of\n"
    "                     Hugging Face. Without CONFIG.ini, its own configuration is used\n"
    "  --best             of a run the checkpoint of the best evaluation, not the newest\n"
    "  --threads N        as run.threads=N: changes the time, never the result\n"
    "  --trap             anomaly detection: stop at the first NaN or Inf, and name its op\n"
    "  --profile          measure every op, and print a table at the end\n"
    "  --quiet            no progress\n"
    "  --no-color         no colours (nor with NO_COLOR set, nor off a terminal)\n"
    "  --version          print the version and stop\n"
    "  -h, --help         print this and all configuration keys, and stop\n";

static const char ends[] =
    "\n"
    "A run ends with report.html in its folder, if gnuplot is there; ROTOR_NO_REPORT=1 in the\n"
    "environment leaves it out.\n"
    "\n"
    "exit codes: 0 done; 1 run-time failure; 2 usage or configuration; 3 data; 4 checkpoint;\n"
    "  5 loss not finite; 6 the last save could not be written; 7 a check that was asked for\n"
    "  failed; 75 stopped by a signal with a checkpoint saved; 130 second Ctrl-C, or a step that\n"
    "  does not end after a signal\n";

void rt_arguments_print_usage(FILE *to)
{
    const char *name = rt_program_name();
    fprintf(to, synopsis, name, name, name, name);
    fputs(usage, to);
    fputs(more_usage, to);
    fputs(ends, to);
}

static const struct option options[] = {
    {"best", no_argument, NULL, OPTION_FLAG},
    {"resume", no_argument, NULL, OPTION_FLAG},
    {"overwrite", no_argument, NULL, OPTION_FLAG},
    {"eval", no_argument, NULL, OPTION_FLAG},
    {"usage", no_argument, NULL, OPTION_FLAG},
    {"check", no_argument, NULL, OPTION_FLAG},
    {"print-config", no_argument, NULL, OPTION_FLAG},
    {"gradcheck", no_argument, NULL, OPTION_FLAG},
    {"decay", no_argument, NULL, OPTION_FLAG},
    {"checkpoint", required_argument, NULL, OPTION_CHECKPOINT},
    {"predict", required_argument, NULL, OPTION_PREDICT},
    {"export", required_argument, NULL, OPTION_EXPORT},
    {"report", required_argument, NULL, OPTION_REPORT},
    {"watch", required_argument, NULL, OPTION_WATCH},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"vocab", required_argument, NULL, OPTION_VOCAB},
    {"lowercase", no_argument, NULL, OPTION_FLAG},
    {"theta", required_argument, NULL, OPTION_THETA},
    {"temperature", required_argument, NULL, OPTION_TEMPERATURE},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"top-k", required_argument, NULL, OPTION_TOP_K},
    {"top-p", required_argument, NULL, OPTION_TOP_P},
    {"tokens", required_argument, NULL, OPTION_TOKENS},
    {"stop", required_argument, NULL, OPTION_STOP},
    {"jsonl", no_argument, NULL, OPTION_FLAG},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"trap", no_argument, NULL, OPTION_FLAG},
    {"profile", no_argument, NULL, OPTION_FLAG},
    {"quiet", no_argument, NULL, OPTION_FLAG},
    {"no-color", no_argument, NULL, OPTION_FLAG},
    {"version", no_argument, NULL, OPTION_FLAG},
    {"help", no_argument, NULL, OPTION_FLAG},
    {0},
};

static rt_status set_command(rt_arguments *a, rt_command command, const char *name)
{
    /* --help and --version answer whatever else is there. */
    if (a->command == RT_COMMAND_HELP || a->command == RT_COMMAND_VERSION)
        return rt_ok();
    if (a->command != RT_COMMAND_TRAIN && a->command != command && command < RT_COMMAND_HELP)
        return rt_error(RT_CONFIG, "--%s does not go with another command", name);
    a->command = command;
    return rt_ok();
}

static rt_status set_flag(rt_arguments *a, const char *name)
{
    static const struct {
        const char *name;
        rt_command command;
    } commands[] = {{"eval", RT_COMMAND_EVAL},           {"usage", RT_COMMAND_USAGE},
                    {"check", RT_COMMAND_CHECK},         {"print-config", RT_COMMAND_PRINT_CONFIG},
                    {"gradcheck", RT_COMMAND_GRADCHECK}, {"decay", RT_COMMAND_DECAY},
                    {"help", RT_COMMAND_HELP},           {"version", RT_COMMAND_VERSION}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(name, commands[i].name))
            return set_command(a, commands[i].command, name);
    a->best |= !strcmp(name, "best");
    a->jsonl |= !strcmp(name, "jsonl");
    a->lowercase |= !strcmp(name, "lowercase");
    a->resume |= !strcmp(name, "resume");
    a->overwrite |= !strcmp(name, "overwrite");
    a->trap |= !strcmp(name, "trap");
    a->profile |= !strcmp(name, "profile");
    a->quiet |= !strcmp(name, "quiet");
    a->no_color |= !strcmp(name, "no-color");
    return rt_ok();
}

/* `known` options lack their value, or were given one that they do not take. */
static rt_status refuse(const char *written, bool known, bool lacks_value)
{
    rt_nearest nearest = {.written = written + strspn(written, "-")};
    for (int i = 0; !known && options[i].name; i++)
        rt_nearest_try(&nearest, options[i].name);
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
        return rt_error(RT_CONFIG, "more than %d section.key=value", RT_MOST_OVERRIDES);
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

/* What follows --report is another run, what follows --vocab a text. An operand with '=' sets a
 * key, unless it names a file or a folder. The other operand is the configuration. */
static rt_status take_operand(rt_arguments *a, const char *text)
{
    const bool takes_all = a->report || a->vocab;
    if (!*text)
        return rt_error(RT_CONFIG, "an argument is empty; %s --help tells more", rt_program_name());
    if (takes_all && a->other_count == RT_MOST_OTHERS)
        return a->report
                   ? rt_error(RT_CONFIG, "more than %d folders to compare", RT_MOST_OTHERS + 1)
                   : rt_error(RT_CONFIG, "more than %d texts", RT_MOST_OTHERS);
    if (takes_all) {
        a->others[a->other_count++] = text;
        return rt_ok();
    }
    if (strchr(text, '=') && !is_path(text))
        return add_override(a, text);
    if (a->config)
        return rt_error(RT_CONFIG, "one CONFIG.ini is expected; got '%s' and '%s'", a->config,
                        text);
    a->config = text;
    return rt_ok();
}

/* The value of an option of --predict. */
static rt_status take_number(rt_arguments *a, int found, const char *text)
{
    int64_t whole = -1;
    if (found == OPTION_TEMPERATURE) {
        if (!rt_number_read(text, &a->temperature) || a->temperature < 0)
            return rt_error(RT_CONFIG, "--temperature must be a number >= 0; got '%s'", text);
        return rt_ok();
    }
    if (found == OPTION_TOP_P) {
        if (!rt_number_read(text, &a->top_p) || !(a->top_p > 0 && a->top_p <= 1))
            return rt_error(RT_CONFIG, "--top-p must be a number above 0, up to 1; got '%s'", text);
        return rt_ok();
    }
    if (found == OPTION_TOP_K) {
        if (!rt_whole_read(text, &whole) || whole < 1 || whole > INT_MAX)
            return rt_error(RT_CONFIG, "--top-k must be a whole number above 0; got '%s'", text);
        a->top_k = (int)whole;
        return rt_ok();
    }
    const bool valid = rt_whole_read(text, &whole) && whole >= (found == OPTION_TOKENS);
    if (found == OPTION_SEED && valid) {
        a->seed = whole;
        return rt_ok();
    }
    if (found == OPTION_SEED)
        return rt_error(RT_CONFIG, "--seed must be a whole number >= 0; got '%s'", text);
    if (!valid || whole > MOST_TOKENS)
        return rt_error(RT_CONFIG, "--tokens must be a whole number from 1 to %d; got '%s'",
                        MOST_TOKENS, text);
    a->tokens = (int)whole;
    return rt_ok();
}

static rt_status take_vocab(rt_arguments *a, const char *text)
{
    int64_t lines;
    if (!rt_whole_read(text, &lines) || lines < 1 || lines > MOST_LINES)
        return rt_error(RT_CONFIG, "--vocab must be a whole number from 1 to %d; got '%s'",
                        MOST_LINES, text);
    a->vocab = (int)lines;
    return set_command(a, RT_COMMAND_VOCAB, "vocab");
}

static rt_status take_option(rt_arguments *a, int found, int index, const char *written)
{
    const bool takes_value = found >= OPTION_CHECKPOINT && found != OPTION_FLAG;
    if (found == 'h')
        return set_command(a, RT_COMMAND_HELP, "help");
    if (takes_value && !*optarg && found != OPTION_PREDICT) /* an empty text can be continued */
        return rt_error(RT_CONFIG, "option '--%s' needs a value", options[index].name);
    if (found == OPTION_CHECKPOINT) {
        a->checkpoint = optarg;
        return rt_ok();
    }
    if (found == OPTION_THETA) {
        a->theta = optarg;
        return rt_ok();
    }
    if (found == OPTION_PREDICT) {
        a->predict = optarg;
        return set_command(a, RT_COMMAND_PREDICT, "predict");
    }
    if (found == OPTION_EXPORT) {
        a->export = optarg;
        return set_command(a, RT_COMMAND_EXPORT, "export");
    }
    if (found == OPTION_STOP) {
        a->stop = optarg;
        return rt_ok();
    }
    if (found == OPTION_OUTPUT) {
        a->output = optarg;
        return rt_ok();
    }
    if (found == OPTION_REPORT || found == OPTION_WATCH) {
        if (a->report)
            return rt_error(RT_CONFIG, "--report and --watch are given once; what follows --report "
                                       "is compared with it");
        a->report = optarg;
        a->watch = found == OPTION_WATCH;
        return set_command(a, RT_COMMAND_REPORT, "report");
    }
    if (found == OPTION_VOCAB)
        return take_vocab(a, optarg);
    if (found == OPTION_TEMPERATURE || found == OPTION_SEED || found == OPTION_TOKENS ||
        found == OPTION_TOP_K || found == OPTION_TOP_P)
        return take_number(a, found, optarg);
    if (found == OPTION_THREADS) {
        int length = snprintf(a->threads, sizeof a->threads, "run.threads=%s", optarg);
        return length < (int)sizeof a->threads ? add_override(a, a->threads)
                                               : rt_error(RT_CONFIG, "--threads is too long");
    }
    if (found == OPTION_FLAG)
        return set_flag(a, options[index].name);
    return refuse(written, optopt >= OPTION_CHECKPOINT || found == ':', found == ':');
}

/* What contradicts each other, or belongs to another command. */
static rt_status check_together(const rt_arguments *a)
{
    if (a->report && (a->config || a->override_count))
        return rt_error(RT_CONFIG, "--report takes a run's folder and no configuration");
    if (a->vocab && (a->config || a->override_count || !a->other_count))
        return rt_error(RT_CONFIG,
                        "--vocab N is followed by the texts, and takes no configuration");
    if (a->lowercase && !a->vocab)
        return rt_error(RT_CONFIG, "--lowercase goes with --vocab; a configuration has "
                                   "data.lowercase");
    const bool uses_checkpoint = a->command == RT_COMMAND_EVAL || a->command == RT_COMMAND_USAGE ||
                                 a->command == RT_COMMAND_PREDICT ||
                                 a->command == RT_COMMAND_EXPORT || a->command == RT_COMMAND_DECAY;
    if (!a->config && !a->report && !a->checkpoint && !a->vocab)
        return rt_error(RT_CONFIG, "a CONFIG.ini is expected; %s --help tells more",
                        rt_program_name());
    if (a->resume && a->overwrite)
        return rt_error(RT_CONFIG, "--resume and --overwrite contradict each other");
    if (a->checkpoint && !uses_checkpoint && (a->config || a->command != RT_COMMAND_PRINT_CONFIG))
        return rt_error(RT_CONFIG,
                        "--checkpoint goes with --eval, --usage, --predict, --export and --decay, "
                        "and without a CONFIG.ini with --print-config");
    if (a->watch && a->other_count)
        return rt_error(RT_CONFIG, "--watch takes one run");
    if (a->output && (!a->report || !a->other_count))
        return rt_error(RT_CONFIG, "--output goes with --report and several runs");
    if (a->best && !uses_checkpoint)
        return rt_error(RT_CONFIG,
                        "--best goes with --eval, --usage, --predict, --export and --decay");
    if ((a->temperature >= 0 || a->seed >= 0 || a->tokens || a->top_k || a->top_p > 0 || a->stop ||
         a->jsonl) &&
        !a->predict)
        return rt_error(RT_CONFIG,
                        "--temperature, --top-k, --top-p, --seed, --tokens, --stop and --jsonl go "
                        "with --predict");
    if (a->theta && a->command != RT_COMMAND_EVAL)
        return rt_error(RT_CONFIG, "--theta goes with --eval");
    if (a->trap && a->profile)
        return rt_error(RT_CONFIG, "--trap and --profile contradict each other");
    if ((a->trap || a->profile) && a->command != RT_COMMAND_TRAIN)
        return rt_error(RT_CONFIG, "--%s goes with training only", a->trap ? "trap" : "profile");
    const bool exports = a->overwrite && a->command == RT_COMMAND_EXPORT;
    if ((a->resume || a->overwrite) && a->command != RT_COMMAND_TRAIN && !exports)
        return rt_error(RT_CONFIG, "--%s goes with training only",
                        a->resume ? "resume" : "overwrite");
    return rt_ok();
}

bool rt_arguments_evaluate(const rt_arguments *a)
{
    return a->command == RT_COMMAND_EVAL || a->command == RT_COMMAND_USAGE;
}

rt_status rt_arguments_parse(rt_arguments *a, int argc, char **argv)
{
    rt_status status = rt_ok();
    int found, index = 0;
    *a = (rt_arguments){.argc = argc, .argv = argv, .revision = "", .temperature = -1, .seed = -1};
    optind = 0; /* starts over, also for a second command line in one process */
    opterr = 0;
    /* '-': operands are returned in their place, as option 1 */
    while (!status.code && (found = getopt_long(argc, argv, "-:h", options, &index)) != -1)
        status = found == 1 ? take_operand(a, optarg)
                            : take_option(a, found, index, argv[optind > 1 ? optind - 1 : 1]);
    for (; !status.code && optind < argc; optind++)
        status = take_operand(a, argv[optind]);
    if (status.code || a->command == RT_COMMAND_HELP || a->command == RT_COMMAND_VERSION)
        return status;
    return check_together(a);
}
