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
    "       %s --eval|--predict TEXT|--export DIR|--decay|--print-config\n"
    "             --checkpoint FILE [section.key=value ...]\n"
    "       %s --report RUN ...|--watch RUN\n"
    "       %s --vocab N TEXT ...\n"
    "\n";

static const char usage[] =
    "Trains the model that CONFIG.ini describes, and writes a folder for the run.\n"
    "Give section.key=value to replace a value of the file, such as\n"
    "optimizer.lr=3e-4. Give sweep.section.key=a,b,c to train one run for each value.\n"
    "The config.ini in the folder of a run stands for that run, even if it was moved.\n"
    "\n"
    "training\n"
    "  --resume           resume from the latest valid checkpoint of the run; start\n"
    "                     the run if it has none\n"
    "  --overwrite        replace a run that exists; with --export, a model\n"
    "  --check            validate the configuration and the data, estimate the\n"
    "                     memory that they need, and stop\n"
    "  --print-config     print the configuration, with every key, as an INI file,\n"
    "                     and stop; unless --quiet, list on stderr each key that is\n"
    "                     not at its default, and who set it\n"
    "  --threads N        use N threads, as run.threads=N does; results are bitwise\n"
    "                     identical for any number of threads\n"
    "  --trap             anomaly detection: stop at the first NaN or Inf, and name\n"
    "                     the op that made it\n"
    "  --profile          measure every op, and print a table of times at the end\n"
    "  --gradcheck        check every gradient of the model by finite differences,\n"
    "                     and stop (double precision only)\n"
    "\n"
    "using a trained model\n"
    "  --checkpoint FILE  use this checkpoint. FILE can also be the folder of a run,\n"
    "                     or of a RoFormer, Llama or Mistral of Hugging Face. Without\n"
    "                     a CONFIG.ini, the configuration in FILE is used\n"
    "  --best             use the run's checkpoint with the lowest evaluation loss\n"
    "                     (default: the newest)\n"
    "  --eval             evaluate the model, and stop; section.key=value can replace\n"
    "                     keys of data and train, such as data.file\n"
    "  --theta WHAT       with --eval: evaluate with theta replaced by its initial\n"
    "                     value (start), by base^(-2i/R) (base), or by the theta of a\n"
    "                     CSV file with columns layer, head, i and theta, such as\n"
    "                     theta_final.csv of a run\n"
    "  --export DIR       write the model as a folder that the transformers library\n"
    "                     of Hugging Face loads, and stop\n"
    "  --decay            print C(r), how attention can decay with the distance r\n"
    "                     (figure 2 of the RoFormer paper), as CSV, and stop; with\n"
    "                     --checkpoint, also for each learned theta\n"
    "\n";

static const char more_usage[] =
    "predicting\n"
    "  --predict TEXT     print what the model predicts for TEXT, and stop. If TEXT\n"
    "                     is -, predict for each line of standard input; lines of a\n"
    "                     file are continued in batches. What is printed depends on\n"
    "                     the model:\n"
    "                       mlm       the text with every [MASK] filled\n"
    "                       lm        the text and its continuation, streamed\n"
    "                       classify  the label and its probability; a pair of texts\n"
    "                                 is TEXT<TAB>TEXT\n"
    "                       tag       each word, its label and its probability\n"
    "                     A continuation ends after --tokens tokens, at --stop, at an\n"
    "                     end-of-text token of a Hugging Face model, or where the\n"
    "                     model has no more positions. When the context window of\n"
    "                     data.length tokens is full, its older half is dropped\n"
    "                     (never with position.scaling = dynamic)\n"
    "  --tokens N         generate at most N tokens (default: 200)\n"
    "  --stop TEXT        stop sequence: end the continuation at TEXT\n"
    "  --temperature T    sample at temperature T; 0 takes the most likely token\n"
    "                     (default: 0 for mlm, 1 for lm)\n"
    "  --top-k K          sample among the K most likely tokens only\n"
    "  --top-p P          nucleus sampling: sample among the fewest tokens whose\n"
    "                     probabilities sum to P, such as 0.9\n"
    "  --seed N           seed the sampling with N (default: run.seed)\n"
    "  --jsonl            print one JSON object per answer, on a line, with text and\n"
    "                       mlm       filled, masks [{token, probability}]\n"
    "                       lm        continuation, tokens (their number), end\n"
    "                                 (token, stop or length)\n"
    "                       classify  label, probability, probabilities {label: p}\n"
    "                       tag       words [{word, label, probability}]\n"
    "                     Bytes that are not UTF-8 become U+FFFD\n"
    "\n"
    "reports and vocabularies\n"
    "  --report RUN ...   draw the report of a run or a sweep again from its folder,\n"
    "                     and stop; several runs give one report that compares them\n"
    "  --watch RUN        draw the report again and again while the run trains; the\n"
    "                     page reloads itself\n"
    "  --output FILE      with --report of several runs: write the comparison to FILE\n"
    "                     (default: report.html)\n"
    "  --vocab N TEXT ... print a WordPiece vocabulary of N lines, built from text\n"
    "                     files, and stop; save it as the vocab.txt of\n"
    "                     data.vocab_file\n"
    "  --lowercase        with --vocab: read the texts in lower case and without\n"
    "                     accents, as data.lowercase = yes does\n"
    "\n"
    "messages\n"
    "  --quiet            print no progress\n"
    "  --no-color         print no colours, as with NO_COLOR set or off a terminal\n"
    "  --version          print the version, and stop\n"
    "  -h, --help         print this help and all configuration keys, and stop\n";

static const char ends[] =
    "\n"
    "At the end of a run, report.html in its folder shows the results. It needs\n"
    "gnuplot; set ROTOR_NO_REPORT=1 in the environment to leave it out.\n"
    "\n"
    "exit codes: 0 done; 1 run-time failure; 2 usage or configuration; 3 data;\n"
    "  4 checkpoint; 5 loss not finite; 6 the last save could not be written;\n"
    "  7 a check that was asked for failed; 75 stopped by a signal with a checkpoint\n"
    "  saved; 130 second Ctrl-C, or a step that does not end after a signal\n";

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
        return rt_error(RT_CONFIG, "--%s cannot be combined with another command", name);
    a->command = command;
    return rt_ok();
}

static rt_status set_flag(rt_arguments *a, const char *name)
{
    static const struct {
        const char *name;
        rt_command command;
    } commands[] = {{"eval", RT_COMMAND_EVAL},
                    {"check", RT_COMMAND_CHECK},
                    {"print-config", RT_COMMAND_PRINT_CONFIG},
                    {"gradcheck", RT_COMMAND_GRADCHECK},
                    {"decay", RT_COMMAND_DECAY},
                    {"help", RT_COMMAND_HELP},
                    {"version", RT_COMMAND_VERSION}};
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

/* What follows --report is another run, what follows --vocab a text. An operand with '=' sets a
 * key, unless it names a file or a folder. The other operand is the configuration. */
static rt_status take_operand(rt_arguments *a, const char *text)
{
    const bool takes_all = a->report || a->vocab;
    if (!*text)
        return rt_error(RT_CONFIG, "an argument is empty; see %s --help", rt_program_name());
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
            return rt_error(RT_CONFIG, "give --report or --watch only once; list further runs "
                                       "after --report to compare them");
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
        return rt_error(RT_CONFIG, "--report takes folders of runs, and no configuration");
    if (a->vocab && (a->config || a->override_count || !a->other_count))
        return rt_error(RT_CONFIG, "--vocab N takes text files, and no configuration");
    if (a->lowercase && !a->vocab)
        return rt_error(RT_CONFIG,
                        "--lowercase needs --vocab; in a configuration, set data.lowercase");
    const bool uses_checkpoint = a->command == RT_COMMAND_EVAL ||
                                 a->command == RT_COMMAND_PREDICT ||
                                 a->command == RT_COMMAND_EXPORT || a->command == RT_COMMAND_DECAY;
    if (!a->config && !a->report && !a->checkpoint && !a->vocab)
        return rt_error(RT_CONFIG, "a CONFIG.ini is required; see %s --help", rt_program_name());
    if (a->resume && a->overwrite)
        return rt_error(RT_CONFIG, "give --resume or --overwrite, not both");
    if (a->checkpoint && !uses_checkpoint && (a->config || a->command != RT_COMMAND_PRINT_CONFIG))
        return rt_error(RT_CONFIG, "--checkpoint needs --eval, --predict, --export or --decay, or "
                                   "--print-config without a CONFIG.ini");
    if (a->watch && a->other_count)
        return rt_error(RT_CONFIG, "--watch takes only one run");
    if (a->output && (!a->report || !a->other_count))
        return rt_error(RT_CONFIG, "--output needs --report with several runs");
    if (a->best && !uses_checkpoint)
        return rt_error(RT_CONFIG, "--best needs --eval, --predict, --export or --decay");
    if ((a->temperature >= 0 || a->seed >= 0 || a->tokens || a->top_k || a->top_p > 0 || a->stop ||
         a->jsonl) &&
        !a->predict)
        return rt_error(
            RT_CONFIG,
            "--temperature, --top-k, --top-p, --seed, --tokens, --stop and --jsonl need --predict");
    if (a->theta && a->command != RT_COMMAND_EVAL)
        return rt_error(RT_CONFIG, "--theta needs --eval");
    if (a->trap && a->profile)
        return rt_error(RT_CONFIG, "give --trap or --profile, not both");
    if ((a->trap || a->profile) && a->command != RT_COMMAND_TRAIN)
        return rt_error(RT_CONFIG, "--%s goes with training only", a->trap ? "trap" : "profile");
    const bool exports = a->overwrite && a->command == RT_COMMAND_EXPORT;
    if ((a->resume || a->overwrite) && a->command != RT_COMMAND_TRAIN && !exports)
        return rt_error(RT_CONFIG, "--%s goes with training only",
                        a->resume ? "resume" : "overwrite");
    return rt_ok();
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
