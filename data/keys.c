#include "data/keys.h"

#include "data/data.h"

#include <math.h>

#define OPTIONS rt_data_options

RT_KEY_WORDS(level_word, RT_LEVELS)
RT_KEY_WORDS(begin_word, RT_BEGINS)
RT_KEY_WORDS(objective_word, RT_OBJECTIVES)

/* What the conditions of several keys have in common. */
#define OF_FILES "data.task = text, tokens, classify, tag"
#define OF_TEXT  "data.task = text, classify, tag"

_Static_assert((int)RT_FILE_LIST_SIZE <= (int)RT_VALUE_SIZE, "a value holds a list of files");

/* clang-format off */
static const rt_key keys[] = {
    {"data", "task", CHOICE(task, rt_data_task_name), "copy", "what is to be learned", RT_FIXED,
     ALWAYS},
    {"data", "length", WHOLE(length, 2, RT_MOST_SIZE), "32",
     "tokens of a sequence, all special ones included", RT_FIXED, ALWAYS},
    {"data", "vocab", WHOLE(vocab, 6, RT_MOST_SIZE), "32",
     "token ids, all special ones included; a text has its vocabulary", RT_FIXED,
     "data.task != text, classify, tag"},
    {"data", "distance", WHOLE(distance, 1, RT_MOST_SIZE), "3",
     "for shift: how far to look back", RT_FIXED, "data.task = shift"},
    {"data", "period", WHOLE(period, 2, RT_MOST_SIZE), "7",
     "for period: tokens after which a sequence repeats itself", RT_FIXED, "data.task = period"},
    {"data", "theta", NUMBER(theta, ABOVE(0)), "1.1",
     "for spin: radians a position by which a sequence rotates, at most pi", RT_FIXED,
     "data.task = spin"},
    {"data", "file", TEXT(file), "",
     "for text: files with commas between, for tokens: FILE.h5:/DATASET, for classify: FILE.tsv or "
     "FILE.csv, for tag: a file; relative to the configuration file or, on the command line, to the "
     "working directory",
     RT_FIXED, OF_FILES},
    {"data", "eval_file", TEXT(eval_file), "",
     "what to evaluate on, in the form of data.file, all of which is then trained on; without one, "
     "eval_fraction of data.file",
     RT_FIXED, OF_FILES},
    {"data", "vocab_file", TEXT(vocab_file), "",
     "for levels char and wordpiece: a vocab.txt, for level bpe: a tokenizer.json, relative as data.file "
     "is; without one, at level char, the characters of the text",
     RT_FIXED, OF_TEXT " & data.level != byte"},
    {"data", "level", CHOICE(level, level_word), "byte", "what a text is cut into", RT_FIXED,
     OF_TEXT},
    {"data", "lowercase", YES_NO(lowercase), "no",
     "for level wordpiece: a text is read in lower case and without accents", RT_FIXED,
     OF_TEXT " & data.level = wordpiece"},
    {"data", "begin", CHOICE(begin, begin_word), "auto",
     "for text and tokens: whether a sequence begins with the token that begins a text; auto: as the "
     "model of --checkpoint, --resume or train.init_from does, a new one with it",
     RT_FIXED, "data.task = text, tokens"},
    {"data", "objective", CHOICE(objective, objective_word), "mlm",
     "mlm: predict masked tokens; lm: predict the next token; for period, spin, text and "
     "tokens",
     RT_FIXED, "data.task = period, spin, text, tokens"},
    {"data", "mask_probability", NUMBER(mask_probability, ABOVE_UP_TO(0, 1)), "0.15",
     "for mlm: fraction of the tokens that are masked", RT_FIXED, "data.objective = mlm"},
    {"data", "eval_fraction", NUMBER(eval_fraction, FROM_BELOW(0, 1)), "0.1",
     "without data.eval_file: tail of the text kept for evaluation; of labelled data, share of the rows; "
     "0 = evaluate on what is trained on",
     RT_FIXED, OF_FILES " & data.eval_file ="},
    {"data", "eval_seed", SEED(eval_seed), "2021",
     "draws the evaluation set of a toy task and the share of labelled rows, the same for every "
     "run.seed",
     RT_FIXED, "data.task != text, tokens | data.objective = mlm"},
};
/* clang-format on */

const rt_key_table rt_data_keys = {keys, sizeof keys / sizeof *keys};
