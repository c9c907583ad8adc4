#include "train/run/options.h"

#include "data/tokenizers/bpe_train.h"
#include "train/run/arguments.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>

enum { MOST_TOKENS = 1000000, MOST_LINES = 1000000 };

#define AT(member)   .at = offsetof(rt_arguments, member)
#define FLAG(member) .sets = RT_SETS_FLAG, AT(member)
#define TEXT(member) .sets = RT_SETS_TEXT, AT(member)

#define TRAINING   RT_COMMAND_BIT(RT_COMMAND_TRAIN)
#define EVALUATION RT_COMMAND_BIT(RT_COMMAND_EVAL)
#define PREDICTION RT_COMMAND_BIT(RT_COMMAND_PREDICT)
#define EXPORT     RT_COMMAND_BIT(RT_COMMAND_EXPORT)
#define EMBEDDING  RT_COMMAND_BIT(RT_COMMAND_EMBED)
#define ENCODING   RT_COMMAND_BIT(RT_COMMAND_ENCODE)
#define REPORT     RT_COMMAND_BIT(RT_COMMAND_REPORT)
#define VOCAB      RT_COMMAND_BIT(RT_COMMAND_VOCAB)
#define USES_OF_MODELS                                                                             \
    (EVALUATION | RT_COMMAND_BIT(RT_COMMAND_USAGE) | RT_COMMAND_BIT(RT_COMMAND_DISTANCES) |        \
     PREDICTION | EMBEDDING | EXPORT | RT_COMMAND_BIT(RT_COMMAND_DECAY))

/* clang-format off */
static const rt_option rows[] = {
    {"resume", FLAG(resume), .with = TRAINING, .against = "overwrite", .group = "training",
     .help = "resume from the latest valid checkpoint of the run; start\n"
             "the run if it has none"},
    {"overwrite", FLAG(overwrite), .with = TRAINING | EXPORT | EMBEDDING | ENCODING,
     .help = "replace a run that exists; with --export, a model; with\n"
             "--embed --output or --encode, a file"},
    {"check", .command = RT_COMMAND_CHECK,
     .help = "validate the configuration and the data, estimate the\n"
             "memory that they need, and stop"},
    {"print-config", .command = RT_COMMAND_PRINT_CONFIG,
     .help = "print the configuration, with every key, as an INI file,\n"
             "and stop; unless --quiet, list on stderr each key that is\n"
             "not at its default, and who set it"},
    {"threads", "N", .sets = RT_SETS_KEY, .key = "run.threads",
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
    {"checkpoint", "FILE", TEXT(checkpoint),
     .with = USES_OF_MODELS | RT_COMMAND_BIT(RT_COMMAND_PRINT_CONFIG), .group = "using a trained model",
     .help = "use this checkpoint. FILE can also be the folder of a run,\n"
             "or of a model of Hugging Face. Without a CONFIG.ini, the\n"
             "configuration in FILE is used"},
    {"best", FLAG(best), .with = USES_OF_MODELS,
     .help = "use the run's checkpoint with the lowest evaluation loss\n"
             "(default: the newest)"},
    {"eval", .command = RT_COMMAND_EVAL,
     .help = "evaluate the model, and stop; section.key=value can replace\n"
             "keys of data and train, such as data.file"},
    {"per-line", FLAG(per_line), .with = EVALUATION,
     .help = "with --eval: print as CSV what the model makes of each\n"
             "line; labelled lines: line,loss,label,predicted; lines of\n"
             "data.eval_file: line,loss,tokens"},
    {"theta", "WHAT", TEXT(theta), .with = EVALUATION,
     .help = "with --eval: evaluate with another theta, learned or fixed:\n"
             "  start      the initial theta of the run\n"
             "  base       base^(-2i/R)\n"
             "  off:K      pairs from K on do not rotate\n"
             "  off:Xturns pairs of fewer than X full turns over the\n"
             "             distance that attention reaches do not rotate\n"
             "  scale:X    X times theta\n"
             "  FILE.csv   columns layer, head, i and theta, such as\n"
             "             theta_final.csv of a run\n"
             "It replaces the theta that position.scaling has changed"},
    {"special", FLAG(special), .with = EVALUATION | PREDICTION,
     .help = "with --predict or --eval: read special tokens in the text,\n"
             "such as <|im_start|>, as these tokens (default: as text)"},
    {"usage", .command = RT_COMMAND_USAGE,
     .help = "print as CSV how much of the queries and keys each pair\n"
             "has over the evaluation data (usage.csv of a run), and stop"},
    {"distances", .command = RT_COMMAND_DISTANCES,
     .help = "print as CSV how much each head attends to each distance\n"
             "over the evaluation data, and stop"},
    {"embed", "FILE", TEXT(embed), .command = RT_COMMAND_EMBED,
     .help = "print as CSV a vector for each line of FILE (- is standard\n"
             "input), of the hidden states of its tokens, and stop"},
    {"pool", "HOW", TEXT(pool), .with = EMBEDDING,
     .help = "with --embed: mean of all tokens (default), first or last\n"
             "token"},
    {"layer", "N", .sets = RT_SETS_INT, AT(layer), .low = 0, .high = INT_MAX,
     .range = "a whole number >= 0", .with = EMBEDDING,
     .help = "with --embed: hidden states behind layer N; 0 is the\n"
             "embeddings (default: the last, after the final norm)"},
    {"export", "DIR", TEXT(export), .command = RT_COMMAND_EXPORT,
     .help = "write the model as a folder that the transformers library\n"
             "of Hugging Face loads, and stop. FILE.gguf instead of DIR\n"
             "is a file of llama.cpp, for a Llama or Mistral"},
    {"dtype", "f32|f16", TEXT(dtype), .with = EXPORT,
     .help = "with --export FILE.gguf: the type of its matrices\n"
             "(default: f32)"},
    {"decay", .command = RT_COMMAND_DECAY,
     .help = "print C(r), how attention can decay with the distance r\n"
             "(figure 2 of the RoFormer paper), as CSV, and stop; with\n"
             "--checkpoint, also for each learned theta"},
    {"predict", "TEXT", .sets = RT_SETS_ANY, AT(predict), .command = RT_COMMAND_PREDICT, .group = "predicting",
     .help = "print what the model predicts for TEXT, and stop. If TEXT\n"
             "is -, predict for each line of standard input; lines of a\n"
             "file are continued in batches. What is printed depends on\n"
             "the model:\n"
             "  mlm       the text with every [MASK] filled\n"
             "  lm        the text and its continuation, streamed\n"
             "  classify  the label and its probability; a pair of texts\n"
             "            is TEXT<TAB>TEXT\n"
             "  tag       each word, its label and its probability\n"
             "A continuation ends after --tokens tokens, at --stop, at an\n"
             "end-of-text token of a Hugging Face model, or where the\n"
             "model has no more positions. When the context window of\n"
             "data.length tokens is full, its older half is dropped\n"
             "(never with position.scaling = dynamic)"},
    {"tokens", "N", .sets = RT_SETS_INT, AT(tokens), .low = 1, .high = MOST_TOKENS,
     .range = "a whole number from 1 to 1000000", .with = PREDICTION,
     .help = "generate at most N tokens (default: 200)"},
    {"stop", "TEXT", TEXT(stop), .with = PREDICTION,
     .help = "stop sequence: end the continuation at TEXT"},
    {"temperature", "T", .sets = RT_SETS_NUMBER, AT(temperature), .high = DBL_MAX,
     .range = "a number >= 0", .with = PREDICTION,
     .help = "sample at temperature T; 0 takes the most likely token\n"
             "(default: 0 for mlm, 1 for lm)"},
    {"top-k", "K", .sets = RT_SETS_INT, AT(top_k), .low = 1, .high = INT_MAX,
     .range = "a whole number above 0", .with = PREDICTION,
     .help = "sample among the K most likely tokens only"},
    {"top-p", "P", .sets = RT_SETS_NUMBER, AT(top_p), .low = DBL_TRUE_MIN, .high = 1,
     .range = "a number above 0, up to 1", .with = PREDICTION,
     .help = "nucleus sampling: sample among the fewest tokens whose\n"
             "probabilities sum to P, such as 0.9"},
    {"seed", "N", .sets = RT_SETS_INT64, AT(seed), .high = (double)INT64_MAX,
     .range = "a whole number >= 0", .with = PREDICTION,
     .help = "seed the sampling with N (default: run.seed)"},
    {"jsonl", FLAG(jsonl), .with = PREDICTION,
     .help = "print one JSON object per answer, on a line, with text and\n"
             "  mlm       filled, masks [{token, probability}]\n"
             "  lm        continuation, tokens (their number), end\n"
             "            (token, stop or length)\n"
             "  classify  label, probability, probabilities {label: p}\n"
             "  tag       words [{word, label, probability}]\n"
             "Bytes that are not UTF-8 become U+FFFD"},
    {"report", "RUN ...", TEXT(report), .command = RT_COMMAND_REPORT, .operands = "folders to compare", .group = "reports and vocabularies",
     .help = "draw the report of a run or a sweep again from its folder,\n"
             "and stop; several runs give one report that compares them"},
    {"watch", "RUN", TEXT(watch), .command = RT_COMMAND_REPORT, .against = "report",
     .help = "draw the report again and again while the run trains; the\n"
             "page reloads itself"},
    {"output", "FILE", TEXT(output), .with = REPORT | EMBEDDING,
     .help = "with --report of several runs: write the comparison to FILE\n"
             "(default: report.html); with --embed: write the vectors as\n"
             "the dataset /embeddings of FILE.h5"},
    {"vocab", "N TEXT ...", .sets = RT_SETS_INT, AT(vocab), .low = 1, .high = MOST_LINES,
     .range = "a whole number from 1 to 1000000", .command = RT_COMMAND_VOCAB, .operands = "texts",
     .help = "print a WordPiece vocabulary of N lines, built from text\n"
             "files, and stop; save it as the vocab.txt of\n"
             "data.vocab_file"},
    {"encode", "CONFIG.ini OUT", TEXT(config), .command = RT_COMMAND_ENCODE,
     .help = "write the tokens of data.file into OUT, a file of ids whose\n"
             "name ends in .h5, .npy or .bin, and stop"},
    {"lowercase", FLAG(lowercase), .with = VOCAB, .note = "; in a configuration, set data.lowercase",
     .help = "with --vocab: read the texts in lower case and without\n"
             "accents, as data.lowercase = yes does"},
    {"train-tokenizer", "N TEXT ...", .sets = RT_SETS_INT, AT(tokenizer), .low = RT_BPE_LEAST_IDS,
     .high = RT_BPE_MOST_IDS, .range = "a whole number from 257 to 500000",
     .command = RT_COMMAND_TOKENIZER, .operands = "texts",
     .help = "print a tokenizer.json: byte-level BPE of N tokens, trained\n"
             "on text files by lines, with GPT-2's pattern and the token\n"
             "<|endoftext|>; and stop. For data.level = bpe"},
    {"quiet", FLAG(quiet), .group = "messages",
     .help = "print no progress"},
    {"no-color", FLAG(no_color),
     .help = "print no colours, as with NO_COLOR set or off a terminal"},
    {"version", .command = RT_COMMAND_VERSION,
     .help = "print the version, and stop"},
    {"help", .command = RT_COMMAND_HELP,
     .help = "print this help and all configuration keys, and stop"},
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
