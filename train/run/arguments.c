#include "train/run/arguments.h"

#include "core/memory.h"
#include "data/tokenizers/train.h"
#include "io/gguf/gguf.h"
#include "train/folder/inputs.h"
#include "util/number.h"
#include "util/process.h"
#include "util/suggest.h"
#include "util/writer.h"

#include <float.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Type of the member of rt_arguments that an option sets. */
typedef enum option_sets {
    SETS_NOTHING,
    SETS_FLAG,   /* bool: set to true */
    SETS_TEXT,   /* const char *: the value, never empty */
    SETS_ANY,    /* const char *: the value, which may be empty */
    SETS_PATH,   /* const char *: a path, never empty, without ~ at its start */
    SETS_INT,    /* int: the value, from low to high */
    SETS_INT64,  /* int64_t: the value, from low to high */
    SETS_CHOICE, /* int or enumeration: index of the value in `words` */
    SETS_NUMBER, /* double: the value, from low to high */
    SETS_KEY     /* the key of the configuration that `key` names */
} option_sets;

/* A row of the table. A new option needs a row, and the member of rt_arguments that it sets. */
typedef struct option_row {
    const char *name;
    const char *value; /* placeholder in --help; NULL: the option takes no value */
    option_sets sets;
    size_t at; /* offset of the member */
    double low, high;
    const char *range;        /* possible values, for messages: "a number >= 0" */
    const char *const *words; /* words of a choice, up to a NULL */
    const char *key;          /* "run.threads" */
    rt_command command;       /* command of the option; RT_COMMAND_TRAIN: none */
    const char *operands; /* meaning of the command's operands: "texts"; NULL: a configuration */
    unsigned with;        /* COMMAND_BIT of the commands that accept the option; 0: all */
    const char *note;     /* end of the error that names these commands; or NULL */
    const char *against;  /* name of an option that excludes this one; or NULL */
    const char *group;    /* heading above the option in --help; NULL: that of the row before */
    const char *help;     /* lines of at most 59 characters */
} option_row;

enum { MOST_TOKENS = 1000000 };

#define COMMAND_BIT(command) (1u << (command))

#define AT(member)   .at = offsetof(rt_arguments, member)
#define FLAG(member) .sets = SETS_FLAG, AT(member)
#define TEXT(member) .sets = SETS_TEXT, AT(member)
#define PATH(member) .sets = SETS_PATH, AT(member)

#define WORDS(...)                                                                                 \
    .words = (const char *const[])                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

#define TEMPLATE_NAME(name, purpose) #name,

#define TRAINING   COMMAND_BIT(RT_COMMAND_TRAIN)
#define EVALUATION COMMAND_BIT(RT_COMMAND_EVAL)
#define PREDICTION COMMAND_BIT(RT_COMMAND_PREDICT)
#define EXPORT     COMMAND_BIT(RT_COMMAND_EXPORT)
#define EMBEDDING  COMMAND_BIT(RT_COMMAND_EMBED)
#define ENCODING   COMMAND_BIT(RT_COMMAND_ENCODE)
#define REPORT     COMMAND_BIT(RT_COMMAND_REPORT)
#define TOKENIZER  COMMAND_BIT(RT_COMMAND_TOKENIZER)
#define STARTING   COMMAND_BIT(RT_COMMAND_INIT)
#define MEASUREMENTS                                                                               \
    (EVALUATION | COMMAND_BIT(RT_COMMAND_USAGE) | COMMAND_BIT(RT_COMMAND_DISTANCES) |              \
     COMMAND_BIT(RT_COMMAND_GRADIENT))
#define USES_OF_MODELS                                                                             \
    (MEASUREMENTS | PREDICTION | EMBEDDING | EXPORT | COMMAND_BIT(RT_COMMAND_DECAY))

/* clang-format off */
static const option_row rows[] = {
    {"resume", FLAG(resume), .with = TRAINING, .against = "overwrite", .group = "training",
     .help = "resume from the latest valid checkpoint of the run; start\n"
             "the run if it has none"},
    {"overwrite", FLAG(overwrite), .with = TRAINING | EXPORT | EMBEDDING | ENCODING | STARTING,
     .help = "replace a run that exists; with --export, a model; with\n"
             "--embed --output, --encode or --init, a file"},
    {"check", .command = RT_COMMAND_CHECK,
     .help = "validate the configuration and the data, estimate the\n"
             "memory that they need, and stop"},
    {"print-config", .command = RT_COMMAND_PRINT_CONFIG,
     .help = "print the configuration, with the meaning of each key,\n"
             "as an INI file, and stop; unless --quiet, list on stderr\n"
             "each key that is not at its default, and who set it"},
    {"threads", "N", .sets = SETS_KEY, .key = "run.threads",
     .help = "use N threads, as run.threads=N does; results are bitwise\n"
             "identical for any number of threads"},
    {"trap", FLAG(trap), .with = TRAINING, .against = "profile",
     .help = "anomaly detection: stop at the first NaN or Inf, and name\n"
             "the op that made it"},
    {"profile", FLAG(profile), .with = TRAINING,
     .help = "measure every op, and print a table of times at the end"},
    {"gradcheck", .command = RT_COMMAND_GRADCHECK,
     .help = "check every gradient of the model by finite differences,\n"
             "and stop (double precision only)"},
    {"checkpoint", "FILE", PATH(checkpoint),
     .with = USES_OF_MODELS | COMMAND_BIT(RT_COMMAND_PRINT_CONFIG), .group = "using a trained model",
     .help = "use this checkpoint. FILE can also be the folder of a run,\n"
             "or of a model of Hugging Face, or a GGUF file. Without a\n"
             "CONFIG.ini, the configuration in FILE is used"},
    {"best", FLAG(best), .with = USES_OF_MODELS, .against = "last",
     .help = "use the run's checkpoint with the lowest evaluation loss,\n"
             "the default for a run with train.patience; otherwise the\n"
             "default is the newest"},
    {"last", FLAG(last), .with = USES_OF_MODELS,
     .help = "use the run's newest checkpoint, also of a run with\n"
             "train.patience"},
    {"eval", .command = RT_COMMAND_EVAL,
     .help = "evaluate the model, and stop; section.key=value can replace\n"
             "some keys, such as data.file"},
    {"per-line", FLAG(per_line), .with = EVALUATION,
     .help = "with --eval: print a CSV row for each line of the\n"
             "evaluation data. Labelled data: line,loss,label,predicted;\n"
             "text: line,loss,tokens"},
    {"theta", "WHAT", PATH(theta), WORDS("start", "base", "off:", "scale:", NULL), .with = EVALUATION,
     .help = "with --eval: evaluate with another theta, learned or fixed:\n"
             "  start      the initial theta of the run\n"
             "  base       base^(-2i/R)\n"
             "  off:K      pairs from K on do not rotate\n"
             "  off:Xturns pairs with fewer than X full turns over the\n"
             "             reach of attention do not rotate\n"
             "  scale:X    X times theta\n"
             "  FILE.csv   columns layer, head, i and theta, such as\n"
             "             theta_final.csv of a run\n"
             "It replaces theta after position.scaling"},
    {"special", FLAG(special), .with = EVALUATION | PREDICTION,
     .help = "with --predict or --eval: read special tokens in the text,\n"
             "such as <|im_start|>, as these tokens (default: as text)"},
    {"usage", .command = RT_COMMAND_USAGE,
     .help = "print as CSV the mean norm of queries and keys in each\n"
             "pair, relative to the mean over the pairs, over the\n"
             "evaluation data (usage.csv of a run), and stop"},
    {"distances", .command = RT_COMMAND_DISTANCES,
     .help = "print as CSV how much each head attends to each distance\n"
             "over the evaluation data, and stop"},
    {"gradient", "theta", .sets = SETS_CHOICE, AT(gradient), WORDS("theta", NULL), .range = "theta",
     .command = RT_COMMAND_GRADIENT,
     .help = "print as CSV the gradient of the loss by ln theta of each\n"
             "pair, its mean and deviation over the sequences of the\n"
             "evaluation data, and stop; where theta is fixed in a model\n"
             "of Hugging Face or llama.cpp, add theta.learn=yes"},
    {"embed", "FILE", PATH(embed), .command = RT_COMMAND_EMBED,
     .help = "print as CSV a vector for each line of FILE (- is standard\n"
             "input), of the hidden states of its tokens, and stop"},
    {"pool", "HOW", .sets = SETS_CHOICE, AT(pooling), WORDS(RT_POOLINGS(RT_CHOICE_WORD) NULL), .range = "first, mean or last", .with = EMBEDDING,
     .help = "with --embed: mean of all tokens (default), first or last\n"
             "token"},
    {"layer", "N", .sets = SETS_INT, AT(layer), .low = 0, .high = INT_MAX,
     .range = "a whole number >= 0", .with = EMBEDDING,
     .help = "with --embed: hidden states after N layers; 0 is the\n"
             "embeddings (default: all layers and the final norm)"},
    {"export", "DIR", PATH(export), .command = RT_COMMAND_EXPORT,
     .help = "write the model as a folder that the transformers library\n"
             "of Hugging Face loads, and stop. FILE.gguf instead of DIR\n"
             "is a file of llama.cpp: a Llama, Mistral, Qwen2 or Qwen3"},
    {"dtype", "f32|f16", .sets = SETS_CHOICE, AT(dtype), WORDS(RT_GGUF_DTYPES(RT_CHOICE_WORD) NULL), .range = "f32 or f16", .with = EXPORT,
     .help = "with --export FILE.gguf: the type of its matrices\n"
             "(default: f32)"},
    {"decay", .command = RT_COMMAND_DECAY,
     .help = "print C(r), how attention can decay with the distance r\n"
             "(figure 2 of the RoFormer paper), of the initial theta, as\n"
             "CSV, and stop; with --checkpoint, also of each learned\n"
             "theta. Not of selective, and of pope only with\n"
             "position.phase = no"},
    {"predict", "TEXT", .sets = SETS_ANY, AT(predict), .command = RT_COMMAND_PREDICT, .group = "predicting",
     .help = "print what the model predicts for TEXT, and stop. If TEXT\n"
             "is -, predict for each line of standard input; lines of a\n"
             "file are continued in batches. What is printed depends on\n"
             "the model:\n"
             "  mlm       the text with every [MASK] filled\n"
             "  lm        the text and its continuation, streamed; a\n"
             "            model without a vocabulary takes ids: '7 3 12'\n"
             "  classify  the label and its probability; a pair of texts\n"
             "            is TEXT<TAB>TEXT\n"
             "  tag       each word, its label and its probability\n"
             "A continuation ends after --tokens tokens, at --stop, at an\n"
             "end-of-text token of a Hugging Face model, or where the\n"
             "model has no more positions. When the context window of\n"
             "data.length tokens is full, its older half is dropped\n"
             "(never with position.scaling = dynamic)"},
    {"tokens", "N", .sets = SETS_INT, AT(tokens), .low = 1, .high = MOST_TOKENS,
     .range = "a whole number from 1 to 1000000", .with = PREDICTION,
     .help = "generate at most N tokens (default: 200)"},
    {"samples", "N", .sets = SETS_INT, AT(samples), .low = 1, .high = MOST_TOKENS,
     .range = "a whole number from 1 to 1000000", .with = PREDICTION,
     .help = "print N continuations of TEXT, or of each line of -, one\n"
             "after the other (sample with --jsonl); each draws its own\n"
             "random numbers, as a line that stands there N times does"},
    {"stop", "TEXT", TEXT(stop), .with = PREDICTION,
     .help = "stop sequence: end the continuation at TEXT"},
    {"temperature", "T", .sets = SETS_NUMBER, AT(temperature), .high = DBL_MAX,
     .range = "a number >= 0", .with = PREDICTION,
     .help = "sample at temperature T; 0 takes the most likely token\n"
             "(default: 0 for mlm, 1 for lm)"},
    {"top-k", "K", .sets = SETS_INT, AT(top_k), .low = 1, .high = INT_MAX,
     .range = "a whole number above 0", .with = PREDICTION,
     .help = "sample among the K most likely tokens only"},
    {"top-p", "P", .sets = SETS_NUMBER, AT(top_p), .low = DBL_TRUE_MIN, .high = 1,
     .range = "a number above 0, up to 1", .with = PREDICTION,
     .help = "nucleus sampling: sample among the fewest tokens whose\n"
             "probabilities sum to P, such as 0.9"},
    {"seed", "N", .sets = SETS_INT64, AT(seed), .high = (double)INT64_MAX,
     .range = "a whole number >= 0", .with = PREDICTION,
     .help = "seed the sampling with N (default: run.seed); each text and\n"
             "line has its own random numbers"},
    {"jsonl", FLAG(jsonl), .with = PREDICTION,
     .help = "print one JSON object per answer, on a line, with text and\n"
             "  mlm       filled, masks [{token, probability}]\n"
             "  lm        continuation, tokens (their number), end\n"
             "            (token, stop or length); sample with --samples\n"
             "  classify  label, probability, probabilities {label: p}\n"
             "  tag       words [{word, label, probability}]\n"
             "Bytes that are not UTF-8 become U+FFFD"},
    {"report", "RUN ...", PATH(report), .command = RT_COMMAND_REPORT, .operands = "folders to compare", .group = "reports and vocabularies",
     .help = "draw the report of a run or a sweep again from its folder,\n"
             "and stop; several runs give one report that compares them"},
    {"watch", "RUN", PATH(watch), .command = RT_COMMAND_REPORT, .against = "report",
     .help = "draw the report again and again while the run trains; the\n"
             "page reloads itself"},
    {"output", "FILE", PATH(output), .with = REPORT | EMBEDDING,
     .help = "with --report of several runs: write the comparison to FILE\n"
             "(default: report.html); with --embed: write the vectors as\n"
             "the dataset /embeddings of FILE.h5, or as FILE.npy"},
    {"encode", "CONFIG.ini OUT", PATH(config), .command = RT_COMMAND_ENCODE,
     .help = "write the tokens of data.file into OUT, a file of ids whose\n"
             "name ends in .h5, .npy or .bin, and stop"},
    {"train-tokenizer", "N TEXT ...", .sets = SETS_INT, AT(tokenizer), .low = 1,
     .high = MOST_TOKENS, .range = "a whole number from 257 to 500000 or, with --level wordpiece, from 1 to 1000000",
     .command = RT_COMMAND_TOKENIZER, .operands = "texts",
     .help = "print a tokenizer of N tokens (257 to 500000; of wordpiece\n"
             "1 to 1000000), trained on text files, and stop; save it as\n"
             "the file of data.vocab_file"},
    {"level", "bpe|wordpiece", .sets = SETS_CHOICE, AT(wordpiece), WORDS("bpe", "wordpiece", NULL), .range = "bpe or wordpiece", .with = TOKENIZER,
     .help = "with --train-tokenizer: bpe (default) is a tokenizer.json\n"
             "with byte-level BPE, trained by lines, with GPT-2's pattern\n"
             "and the token <|endoftext|>; wordpiece is a vocab.txt"},
    {"mask", FLAG(mask), .with = TOKENIZER,
     .help = "with --train-tokenizer: add [MASK] to a tokenizer.json, for\n"
             "data.objective = mlm; a vocab.txt always has it"},
    {"lowercase", FLAG(lowercase), .with = TOKENIZER, .note = "; in a configuration, set data.lowercase",
     .help = "with --train-tokenizer and --level wordpiece: read texts in\n"
             "lower case and without accents (data.lowercase = yes)"},
    {"field", "NAME", TEXT(field), .with = TOKENIZER, .note = "; in a configuration, set data.field",
     .help = "with --train-tokenizer: the field of the text in FILE.jsonl\n"
             "(default: text)"},
    {"init", "NAME FILE.ini", .sets = SETS_CHOICE, AT(init), WORDS(RT_TEMPLATES(TEMPLATE_NAME) NULL), .range = "one of gpt, classify, tag, mlm, theta", .command = RT_COMMAND_INIT, .group = "starting",
     .help = "write a short commented configuration to start from, and\n"
             "stop. NAME is gpt (a decoder that continues a text), mlm\n"
             "(an encoder that fills in masked tokens), classify or tag\n"
             "(labelled texts), or theta (fixed against learned theta)"},
    {"quiet", FLAG(quiet), .group = "messages",
     .help = "print no progress"},
    {"no-color", FLAG(no_color),
     .help = "print no colours, as with NO_COLOR set or off a terminal"},
    {"version", .command = RT_COMMAND_VERSION,
     .help = "print the version and the engines, and stop"},
    {"completion", .command = RT_COMMAND_COMPLETION,
     .help = "print all options and keys with their values, for the\n"
             "completion in bash and zsh (train/rotor.bash, rotor.zsh)"},
    {"help", .command = RT_COMMAND_HELP,
     .help = "print this help and all configuration keys, and stop;\n"
             "--help followed by a section, a key or an option prints\n"
             "that part"},
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof *rows };

/* Returns the row of a command; NULL for training. */
static const option_row *row_of(rt_command command)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].command == command && command != RT_COMMAND_TRAIN)
            return &rows[i];
    return NULL;
}

const char *rt_command_name(rt_command command)
{
    const option_row *row = row_of(command);
    return row ? row->name : "";
}

bool rt_arguments_evaluate(const rt_arguments *a)
{
    return COMMAND_BIT(a->command) & (MEASUREMENTS);
}

rt_status rt_arguments_spare_inputs(const rt_arguments *a, const rt_config *config,
                                    const char *model, const char *output)
{
    RT_CLOSED_BY(rt_inputs_free) rt_inputs inputs = {0};
    rt_inputs_add_config(&inputs, config);
    rt_inputs_add(&inputs, "CONFIG.ini", a->config);
    rt_inputs_add(&inputs, "--checkpoint", model);
    rt_inputs_add(&inputs, "--embed", a->embed && !strcmp(a->embed, "-") ? "/dev/stdin" : a->embed);
    return rt_inputs_spare(&inputs, output, a->overwrite);
}

bool rt_arguments_use_model(const rt_arguments *a)
{
    return COMMAND_BIT(a->command) & (USES_OF_MODELS);
}

enum { FIRST_OPTION = 256 }; /* first value for getopt_long, above every character */

static rt_status set_command(rt_arguments *a, const option_row *row)
{
    if (a->command >= RT_COMMAND_HELP)
        return rt_ok();
    if (a->command != RT_COMMAND_TRAIN && a->command != row->command &&
        row->command < RT_COMMAND_HELP)
        return rt_error(RT_CONFIG, "--%s cannot be combined with another command", row->name);
    a->command = row->command;
    return rt_ok();
}

/* Returns the error for an option that is unknown, lacks its value or accepts no value. */
static rt_status refuse(const char *written, bool known, bool lacks_value)
{
    rt_nearest nearest = {.written = written + strspn(written, "-")};
    char word[64]; /* longer than every name */
    bool elsewhere = false;
    const size_t length = strcspn(nearest.written, "=");
    snprintf(word, sizeof word, "%.*s", (int)length, nearest.written);
    if (!known && !strcmp(word, "vocab"))
        return rt_error(RT_CONFIG, "--vocab N is now called --train-tokenizer N --level wordpiece");
    const char *key = known ? NULL : rt_config_key_meant(word, &elsewhere);
    if (key)
        return rt_error(RT_CONFIG, "unknown option '%s'; write %s%s", written, key,
                        nearest.written[length] && !elsewhere ? nearest.written + length
                                                              : "=VALUE");
    if (!known)
        rt_arguments_try_options(&nearest);
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

/* Sets a path, in which ~ at the start stands for the folder HOME of the environment. */
static rt_status set_path(const char **path, const char *text)
{
    const char *home = rt_path_home(text);
    if (!home)
        return rt_error(RT_CONFIG, "%s: HOME is not set; write the whole path", RT_QUOTED(text));
    *path = *home ? rt_intern_text(RT_PRINTED(2 * RT_PATH_SIZE, "%s%s", home, text + 1)) : text;
    return rt_allocated(*path, "a path");
}

/* Returns RT_CONFIG if blanks take section.key=value apart at argument i, an operand. */
static rt_status check_blanks(const rt_arguments *a, int i)
{
    char whole[2 * RT_QUOTE_SIZE];
    bool elsewhere;
    const char *before = a->override_count ? a->overrides[a->override_count - 1] : "";
    const bool follows = before == a->argv[i - 1] && *before != '=' &&
                         (a->config || !rt_path_ends_in(a->argv[i], ".ini"));
    int at = i - follows;
    size_t length = (size_t)snprintf(whole, sizeof whole, "%s", a->argv[at]);
    while (++at < a->argc && length < sizeof whole &&
           (strchr("=,", *a->argv[at]) || strchr("=,", whole[length - 1])))
        length += (size_t)snprintf(whole + length, sizeof whole - length, "%s", a->argv[at]);
    const char *key = at <= i + 1 && a->config ? rt_config_key_meant(a->argv[i], &elsewhere) : NULL;
    if (key) /* key value */
        snprintf(whole, sizeof whole, "%s=%s", key, at < a->argc ? a->argv[at] : "VALUE");
    else if (at <= i + !follows || !strchr(whole, '='))
        return rt_ok();
    return rt_error(RT_CONFIG, "an override is section.key=value without blanks: write %s",
                    RT_QUOTED(whole));
}

/* Stores an operand: a further run of --report, a text of --train-tokenizer, an override if it
 * contains '=' and names no file or folder, the configuration, or the file of --encode. */
static rt_status take_operand(rt_arguments *a, int i)
{
    const char *text = a->argv[i];
    const option_row *command = row_of(a->command);
    const char *operands = command ? command->operands : NULL;
    struct stat found;
    if (!*text)
        return rt_error(RT_CONFIG, "an argument is empty; see %s --help", rt_program_name());
    if (operands && a->other_count == RT_MOST_OTHERS)
        return rt_error(RT_CONFIG, "more than %d %s", RT_MOST_OTHERS, operands);
    if (operands)
        return set_path(&a->others[a->other_count++], text);
    /* A folder is named with a '/' before any '=', since run folders of a sweep have '='. */
    const bool is_path =
        !stat(text, &found) && (S_ISREG(found.st_mode) ||
                                (S_ISDIR(found.st_mode) && memchr(text, '/', strcspn(text, "="))));
    if (strchr(text, '=') && !is_path)
        return add_override(a, text);
    RT_TRY(check_blanks(a, i));
    if (a->config && a->command == RT_COMMAND_ENCODE && !a->encode)
        return set_path(&a->encode, text);
    if (a->config && a->command != RT_COMMAND_HELP)
        return rt_error(RT_CONFIG, "one CONFIG.ini is expected; got '%s' and '%s'", a->config,
                        text);
    return set_path(&a->config, text);
}

static rt_status set_number(const option_row *row, void *member, const char *text)
{
    int64_t whole = 0;
    double number = 0;
    const bool is_whole = row->sets != SETS_NUMBER;
    const bool read = is_whole ? rt_integer_parse(text, &whole) : rt_number_parse(text, &number);
    if (is_whole)
        number = (double)whole;
    if (!read || !(number >= row->low && number <= row->high))
        return rt_error(RT_CONFIG, "--%s must be %s; got '%s'%s", row->name, row->range, text,
                        !is_whole && !read && rt_number_is_decimal(text)
                            ? ", which is outside of the range of a double"
                            : "");
    if (row->sets == SETS_INT)
        *(int *)member = (int)whole;
    else if (row->sets == SETS_INT64)
        *(int64_t *)member = whole;
    else
        *(double *)member = number;
    return rt_ok();
}

static rt_status take_option(rt_arguments *a, const option_row *row, const char *text)
{
    void *member = (char *)a + row->at;
    int i = 0;
    if (a->command == RT_COMMAND_HELP) { /* on this option */
        a->config = a->config ? a->config : row->name;
        return rt_ok();
    }
    if (row->value && !*text && row->sets != SETS_ANY)
        return rt_error(RT_CONFIG, "option '--%s' needs a value", row->name);
    if (row->operands && row->sets == SETS_PATH && a->command == row->command)
        return rt_error(RT_CONFIG, "give --%s only once; list further %s after it", row->name,
                        row->operands);
    switch (row->sets) {
    case SETS_NOTHING:
        break;
    case SETS_FLAG:
        *(bool *)member = true;
        break;
    case SETS_TEXT:
    case SETS_ANY:
        *(const char **)member = text;
        break;
    case SETS_PATH:
        RT_TRY(set_path(member, text));
        break;
    case SETS_KEY:
        if (snprintf(a->threads, sizeof a->threads, "%s=%s", row->key, text) >=
            (int)sizeof a->threads)
            return rt_error(RT_CONFIG, "the value of --%s is too long", row->name);
        RT_TRY(add_override(a, a->threads));
        break;
    case SETS_CHOICE:
        while (row->words[i] && strcmp(row->words[i], text) != 0)
            i++;
        if (!row->words[i])
            return rt_error(RT_CONFIG, "--%s must be %s; got '%s'", row->name, row->range, text);
        *(int *)member = i;
        break;
    case SETS_INT:
    case SETS_INT64:
    case SETS_NUMBER:
        RT_TRY(set_number(row, member, text));
    }
    return row->command ? set_command(a, row) : rt_ok();
}

/* Writes a list of commands: "--eval, --predict or --decay". */
static void name_commands(unsigned commands, char *text, size_t size)
{
    size_t length = 0;
    *text = '\0';
    for (int i = 0; commands; i++) {
        const option_row *row = row_of((rt_command)i);
        if (!(commands & COMMAND_BIT(i)))
            continue;
        commands &= ~COMMAND_BIT(i);
        length += (size_t)snprintf(text + length, size - length, "%s%s%s",
                                   !length    ? ""
                                   : commands ? ", "
                                              : " or ",
                                   row ? "--" : "", row ? row->name : "training");
    }
}

/* Returns RT_CONFIG if an option does not apply to the command or excludes another option. */
static rt_status check_pairs(const rt_arguments *a, const bool *given)
{
    char commands[RT_MESSAGE_SIZE];
    for (int i = 0; i < ROWS; i++) {
        const option_row *row = &rows[i];
        if (!given[i])
            continue;
        for (int j = 0; row->against && j < ROWS; j++)
            if (given[j] && !strcmp(rows[j].name, row->against))
                return rt_error(RT_CONFIG, "give --%s or --%s, not both", row->name, rows[j].name);
        if (!row->with || row->with & COMMAND_BIT(a->command))
            continue;
        name_commands(row->with, commands, sizeof commands);
        return row->with == COMMAND_BIT(RT_COMMAND_TRAIN)
                   ? rt_error(RT_CONFIG, "--%s goes with training only", row->name)
                   : rt_error(RT_CONFIG, "--%s needs %s%s", row->name, commands,
                              row->note ? row->note : "");
    }
    return rt_ok();
}

static rt_status check_together(const rt_arguments *a)
{
    const bool configured = a->config || a->override_count;
    const int least = RT_BPE_LEAST_IDS + a->mask;
    if (a->report && configured)
        return rt_error(RT_CONFIG, "--report takes folders of runs, and no configuration");
    if (a->tokenizer && (configured || !a->other_count))
        return rt_error(RT_CONFIG, "--train-tokenizer N takes text files, and no configuration");
    if (a->wordpiece && a->mask)
        return rt_error(RT_CONFIG, "--mask needs --level bpe: a vocab.txt always has [MASK]");
    if (!a->wordpiece && a->lowercase)
        return rt_error(RT_CONFIG, "--lowercase needs --level wordpiece");
    if (a->tokenizer && !a->wordpiece && (a->tokenizer < least || a->tokenizer > RT_BPE_MOST_IDS))
        return rt_error(RT_CONFIG,
                        "--train-tokenizer must be a whole number from %d to %d%s; got "
                        "'%d'",
                        least, RT_BPE_MOST_IDS, a->mask ? " with --mask" : "", a->tokenizer);
    if (a->tokenizer)
        return rt_ok();
    if (!a->config && !a->report && !a->checkpoint && a->init < 0)
        return rt_error(RT_CONFIG, "a CONFIG.ini is required; see %s --help", rt_program_name());
    if (a->checkpoint && a->config && a->command == RT_COMMAND_PRINT_CONFIG)
        return rt_error(RT_CONFIG, "--checkpoint needs --eval, --usage, --distances, --gradient, "
                                   "--predict, --embed, --export or "
                                   "--decay, or --print-config without a CONFIG.ini");
    if (a->init >= 0 && (!a->config || a->override_count))
        return rt_error(RT_CONFIG, "--init NAME takes the FILE.ini to write, and no keys");
    if (a->command == RT_COMMAND_ENCODE && !a->encode)
        return rt_error(RT_CONFIG, "--encode takes a CONFIG.ini and the file to write");
    if (a->dtype >= 0 && !rt_path_ends_in(a->export, ".gguf"))
        return rt_error(RT_CONFIG, "--dtype needs --export FILE.gguf");
    if (a->watch && a->other_count)
        return rt_error(RT_CONFIG, "--watch takes only one run");
    if (a->output && a->report && !a->other_count)
        return rt_error(RT_CONFIG, "--output needs --report with several runs");
    if (a->embed && a->output && !rt_path_ends_in(a->output, ".h5") &&
        !rt_path_ends_in(a->output, ".npy"))
        return rt_error(RT_CONFIG, "--output of --embed must be FILE.h5 or FILE.npy; got '%s'",
                        a->output);
    return rt_ok();
}

rt_status rt_arguments_parse(rt_arguments *a, int argc, char **argv)
{
    struct option options[ROWS + 1] = {{0}}; /* the last one is zero */
    bool given[ROWS] = {false};
    int found;
    *a = (rt_arguments){.argc = argc,
                        .argv = argv,
                        .revision = "",
                        .temperature = -1,
                        .seed = -1,
                        .dtype = -1,
                        .init = -1,
                        .pooling = RT_POOL_MEAN,
                        .layer = -1};
    for (int i = 0; i < ROWS; i++)
        options[i] = (struct option){.name = rows[i].name,
                                     .has_arg = rows[i].value ? required_argument : no_argument,
                                     .val = FIRST_OPTION + i};
    optind = 0; /* resets getopt_long for a further command line in one process */
    opterr = 0;
    /* '-': operands are returned in their order, as option 1 */
    while ((found = getopt_long(argc, argv, "-:h", options, NULL)) != -1) {
        if (found == 1) {
            RT_TRY(take_operand(a, optind - 1));
        } else if (found == 'h') {
            RT_TRY(set_command(a, row_of(RT_COMMAND_HELP)));
        } else if (found >= FIRST_OPTION) {
            given[found - FIRST_OPTION] = true;
            RT_TRY(take_option(a, &rows[found - FIRST_OPTION], optarg));
        } else if (a->command == RT_COMMAND_HELP && optopt >= FIRST_OPTION) {
            RT_TRY(take_option(a, &rows[optopt - FIRST_OPTION], NULL));
        } else {
            const char letter[] = {'-', (char)optopt, '\0'};
            const bool is_letter = optopt > 0 && optopt < FIRST_OPTION;
            return refuse(is_letter ? letter : argv[optind > 1 ? optind - 1 : 1],
                          optopt >= FIRST_OPTION || found == ':', found == ':');
        }
    }
    for (; optind < argc; optind++)
        RT_TRY(take_operand(a, optind));
    a->report = a->watch ? a->watch : a->report;
    if (a->command >= RT_COMMAND_HELP)
        return rt_ok();
    RT_TRY(check_pairs(a, given));
    return check_together(a);
}

enum { HELP_COLUMN = 21 };

static const char synopsis[] =
    "usage: %s [options] CONFIG.ini [section.key=value ...]\n"
    "       %s --eval|--usage|--distances|--predict TEXT|--embed FILE|\n"
    "             --export DIR|--decay|--print-config --checkpoint FILE\n"
    "             [section.key=value ...]\n"
    "       %s --report RUN ...|--watch RUN\n"
    "       %s --train-tokenizer N [--level bpe|wordpiece] TEXT ...\n"
    "       %s --init NAME FILE.ini\n"
    "\n";

static const char purpose[] =
    "Trains the model that CONFIG.ini describes, and writes a folder for the run.\n"
    "Give section.key=value to replace a value of the file, such as\n"
    "optimizer.lr=3e-4. Give sweep.section.key=a,b,c to train one run for each value.\n"
    "The config.ini in the folder of a run stands for that run, even if it was moved.\n"
    "\n";

static const char ends[] =
    "\n"
    "At the end of a run, report.html in its folder shows the results. Its figures\n"
    "need gnuplot; set ROTOR_NO_REPORT=1 in the environment to leave it out.\n"
    "\n"
    "exit codes: 0 done; 1 run-time failure; 2 usage or configuration; 3 data;\n"
    "  4 checkpoint; 5 loss, gradient, logit or vector not finite; 6 the last save\n"
    "  could not be written; 7 a check that was asked for failed; 75 stopped by a\n"
    "  signal with a checkpoint saved; 130 second Ctrl-C, or a step that does not end\n"
    "  after a signal\n";

static void print_option(FILE *to, const option_row *row)
{
    const int column = fprintf(to, "  %s--%s%s%s", row->command == RT_COMMAND_HELP ? "-h, " : "",
                               row->name, row->value ? " " : "", row->value ? row->value : "");
    int indent = HELP_COLUMN - column;
    if (column >= HELP_COLUMN) {
        fputc('\n', to);
        indent = HELP_COLUMN;
    }
    for (const char *line = row->help; *line; indent = HELP_COLUMN) {
        const int length = (int)strcspn(line, "\n");
        fprintf(to, "%*s%.*s\n", indent, "", length, line);
        line += length + (line[length] == '\n');
    }
}

bool rt_arguments_print_option(FILE *to, const char *name)
{
    enum { FORM_SIZE = 64 }; /* "\n  off:" in the help of the option that has this value */
    const char *form = RT_PRINTED(FORM_SIZE, "\n  %.*s:", (int)strcspn(name, ":"), name);
    bool known = false;
    for (const option_row *row = rows; row < rows + ROWS; row++)
        if (!strcmp(row->name, name) || strstr(row->help, form)) {
            print_option(to, row);
            known = true;
        }
    return known;
}

void rt_arguments_print_words(FILE *to)
{
    for (const option_row *row = rows; row < rows + ROWS; row++) {
        fprintf(to, "--%s%s", row->name, row->value ? "\t" : "");
        for (int i = 0; row->words && row->words[i]; i++)
            fprintf(to, "%s ", row->words[i]);
        if (row->sets == SETS_PATH)
            fputs(!strncmp(row->value, "RUN", 3) || !strcmp(row->value, "DIR") ? "@folder "
                                                                               : "@file ",
                  to);
        fputs(row->value && strchr(row->value, ' ') ? "...\n" : "\n", to);
    }
}

void rt_arguments_try_options(rt_nearest *nearest)
{
    for (int i = 0; i < ROWS; i++)
        rt_nearest_try(nearest, rows[i].name, rows[i].name);
}

void rt_arguments_print_usage(FILE *to)
{
    const char *name = rt_program_name();
    fprintf(to, synopsis, name, name, name, name, name);
    fputs(purpose, to);
    for (const option_row *row = rows; row < rows + ROWS; row++) {
        if (row->group)
            fprintf(to, "%s%s\n", row > rows ? "\n" : "", row->group);
        print_option(to, row);
    }
    fputs(ends, to);
}
