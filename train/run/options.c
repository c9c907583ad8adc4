#include "train/run/options.h"

#include "train/run/arguments.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>

enum { MOST_TOKENS = 1000000, MOST_LINES = 1000000 };

#define AT(member) .at = offsetof(rt_arguments, member)
#define FLAG(member) .sets = RT_SETS_FLAG, AT(member)
#define TEXT(member) .sets = RT_SETS_TEXT, AT(member)

#define TRAINING RT_COMMAND_BIT(RT_COMMAND_TRAIN)
#define EVALUATION RT_COMMAND_BIT(RT_COMMAND_EVAL)
#define PREDICTION RT_COMMAND_BIT(RT_COMMAND_PREDICT)
#define EXPORT RT_COMMAND_BIT(RT_COMMAND_EXPORT)
#define REPORT RT_COMMAND_BIT(RT_COMMAND_REPORT)
#define VOCAB RT_COMMAND_BIT(RT_COMMAND_VOCAB)
#define USES_OF_MODELS (EVALUATION | PREDICTION | EXPORT | RT_COMMAND_BIT(RT_COMMAND_DECAY))

/* clang-format off */
static const rt_option rows[] = {
    {"resume", FLAG(resume), .with = TRAINING, .against = "overwrite",
     .help = "resume from the latest valid checkpoint of the run"},
    {"overwrite", FLAG(overwrite), .with = TRAINING | EXPORT,
     .help = "replace the run that is already there, or what --export finds"},
    {"eval", .command = RT_COMMAND_EVAL,
     .help = "evaluate a run as it was configured and stop; a section.key=value changes what can "
             "be changed, such as data.file"},
    {"theta", "WHAT", TEXT(theta), .with = EVALUATION,
     .help = "for --eval: another theta in the place of the learned one: start (where the run "
             "began), base (base^(-2i/R)), or a CSV with columns layer, head, i and theta, as "
             "theta.csv and theta_final.csv of a run"},
    {"predict", "TEXT", .sets = RT_SETS_ANY, AT(predict), .command = RT_COMMAND_PREDICT,
     .help = "fill every [MASK] of a text (mlm), continue it (lm), or print its label (classify; "
             "a pair is text<TAB>text_b) or those of its words (tag), with their probability, and "
             "stop; - is every line of standard input, which are continued several at a time if "
             "it is a file. A continuation is streamed. When its data.length tokens are full, the "
             "older half is dropped (position.scaling = dynamic: none is). It ends where the "
             "model chooses a token that ends a text, if it is from a folder of Hugging Face that "
             "names one, or has no more positions"},
    {"export", "DIR", TEXT(export), .command = RT_COMMAND_EXPORT,
     .help = "write the model as a folder that transformers of Hugging Face loads, and stop"},
    {"report", "RUN ...", TEXT(report), .command = RT_COMMAND_REPORT, .operands = "folders to compare",
     .help = "draw the report of a run or a sweep again, from its folder, and stop; of several a "
             "report that compares them"},
    {"watch", "RUN", TEXT(watch), .command = RT_COMMAND_REPORT, .against = "report",
     .help = "the same again and again while the run trains; the page reloads itself"},
    {"output", "FILE", TEXT(output), .with = REPORT, .note = " and several runs",
     .help = "for --report: where the comparison goes (default: report.html)"},
    {"vocab", "N TEXT ...", .sets = RT_SETS_INT, AT(vocab), .low = 1, .high = MOST_LINES,
     .range = "a whole number from 1 to 1000000", .command = RT_COMMAND_VOCAB, .operands = "texts",
     .help = "print a WordPiece vocabulary of N lines made of texts, a vocab.txt for data.level = "
             "wordpiece, and stop"},
    {"lowercase", FLAG(lowercase), .with = VOCAB, .note = "; a configuration has data.lowercase",
     .help = "for --vocab: of the texts in lower case and without accents, as data.lowercase = "
             "yes reads them"},
    {"temperature", "T", .sets = RT_SETS_NUMBER, AT(temperature), .high = DBL_MAX,
     .range = "a number >= 0", .with = PREDICTION,
     .help = "for --predict: the sampling temperature; 0 = always the most likely (default: 0 for "
             "mlm, 1 for lm)"},
    {"seed", "N", .sets = RT_SETS_INT64, AT(seed), .high = (double)INT64_MAX,
     .range = "a whole number >= 0", .with = PREDICTION,
     .help = "for --predict: seed of the choices (default: run.seed)"},
    {"top-k", "K", .sets = RT_SETS_INT, AT(top_k), .low = 1, .high = INT_MAX,
     .range = "a whole number above 0", .with = PREDICTION,
     .help = "for --predict: choose among the K most likely tokens"},
    {"top-p", "P", .sets = RT_SETS_NUMBER, AT(top_p), .low = DBL_TRUE_MIN, .high = 1,
     .range = "a number above 0, up to 1", .with = PREDICTION,
     .help = "for --predict: nucleus sampling: choose among the fewest tokens whose probabilities "
             "sum to P"},
    {"tokens", "N", .sets = RT_SETS_INT, AT(tokens), .low = 1, .high = MOST_TOKENS,
     .range = "a whole number from 1 to 1000000", .with = PREDICTION,
     .help = "for --predict: how many tokens continue a text (default: 200)"},
    {"stop", "TEXT", TEXT(stop), .with = PREDICTION,
     .help = "for --predict: stop sequence: a continuation ends at this text"},
    {"jsonl", FLAG(jsonl), .with = PREDICTION,
     .help = "for --predict: print each answer as a line of JSON, an object with text and, for "
             "mlm, filled and masks [{token, probability}]; for lm continuation, tokens (how "
             "many) and end (token, stop or length); for classify label, probability and "
             "probabilities {label: p}; for tag words [{word, label, probability}]. What is not "
             "UTF-8 is U+FFFD"},
    {"check", .command = RT_COMMAND_CHECK, .help = "validate configuration and data, and stop"},
    {"print-config", .command = RT_COMMAND_PRINT_CONFIG,
     .help = "print the configuration with every key as an INI file, and, unless --quiet, what is "
             "not a default and where it came from on stderr; and stop"},
    {"gradcheck", .command = RT_COMMAND_GRADCHECK,
     .help = "check every gradient by finite differences (double precision only)"},
    {"decay", .command = RT_COMMAND_DECAY,
     .help = "print C(r), how attention can decay with the distance r, as CSV"},
    {"checkpoint", "FILE", TEXT(checkpoint),
     .with = USES_OF_MODELS | RT_COMMAND_BIT(RT_COMMAND_PRINT_CONFIG),
     .help = "the checkpoint for --eval, --predict and --export, or whose theta --decay adds; or "
             "the folder of a run, or of a RoFormer, Llama or Mistral of Hugging Face. Without "
             "CONFIG.ini, its own configuration is used"},
    {"best", FLAG(best), .with = USES_OF_MODELS,
     .help = "of a run the checkpoint of the best evaluation, not the newest"},
    {"threads", "N", .sets = RT_SETS_KEY, .key = "run.threads",
     .help = "as run.threads=N: changes the time, never the result"},
    {"trap", FLAG(trap), .with = TRAINING, .against = "profile",
     .help = "anomaly detection: stop at the first NaN or Inf, and name its op"},
    {"profile", FLAG(profile), .with = TRAINING,
     .help = "measure every op, and print a table at the end"},
    {"quiet", FLAG(quiet), .help = "no progress"},
    {"no-color", FLAG(no_color),
     .help = "no colours (nor with NO_COLOR set, nor off a terminal)"},
    {"version", .command = RT_COMMAND_VERSION, .help = "print the version and stop"},
    {"help", .command = RT_COMMAND_HELP, .help = "print this and all configuration keys, and stop"},
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof *rows };

const rt_option *rt_option_at(int i)
{
    return i < ROWS ? &rows[i] : NULL;
}

const rt_option *rt_option_of(rt_command command)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].command == command && command != RT_COMMAND_TRAIN)
            return &rows[i];
    return NULL;
}
