#include "core/key.h"
#include "data/data.h"

#include <math.h>

#define OPTIONS rt_data_options

RT_KEY_WORDS(level_word, RT_LEVELS)
RT_KEY_WORDS(begin_word, RT_BEGINS)
RT_KEY_WORDS(objective_word, RT_OBJECTIVES)
RT_KEY_WORDS(special_word, RT_SPECIAL_TOKENS)

/* Conditions that several keys share. */
#define OF_FILES  IS("data.task", "text", "tokens", "classify", "tag", "images")
#define OF_TOKENS IS("data.task", "text", "tokens", "classify", "tag")
#define OF_TEXT   IS("data.task", "text", "classify", "tag")
#define IN_JSON_LINES                                                                              \
    OF_TEXT, HOLDS("data.file", ".jsonl"), OR, OF_TEXT, HOLDS("data.eval_file", ".jsonl")

_Static_assert((int)RT_FILE_LIST_SIZE <= (int)RT_VALUE_SIZE, "a value holds a list of files");

/* data.level, lowercase and vocab_file ask nothing else: reports compare the vocabularies of runs,
 * and bits per byte. For labelled data they, data.begin, data.end and data.patch are forms of the
 * input, not of the question. */
/* clang-format off */
static const rt_key keys[] = {
    {"data", "task", CHOICE(task, rt_data_task_name), "copy",
     "what to train on; text, tokens: files; classify, tag: labelled files; images: images with "
     "labels; the others: toy tasks, whose sequences are generated; induction needs model.causal = yes",
     RT_FIXED_IN_RUN, ALWAYS, ASKS("tasks"), OF_MODEL},
    {"data", "length", INTERVAL(lengths, 2, RT_MOST_SIZE), "32",
     "tokens of a sequence (the context window), special ones included; an image has 1 and its "
     "patches; A..B, for copy, reverse, sort and addition with model.causal = yes: the longest "
     "questions that A, A+1, ... or B tokens hold, whose answers are predicted token by token",
     RT_FIXED_IN_RUN, WHEN(IS_NOT("data.task", "images")), ASKS("lengths"), OF_MODEL},
    {"data", "vocab", WHOLE(vocab, 6, RT_MOST_SIZE), "32",
     "number of token ids, special ones included; a text has the size of its vocabulary",
     RT_FIXED, WHEN(IS_NOT("data.task", "text", "classify", "tag", "images")), ASKS("vocabularies"),
     HANDED(WITH_IDS), FITS(TOKENS), OF_MODEL},
    {"data", "distance", WHOLE(distance, 1, RT_MOST_SIZE), "3",
     "for shift: how many tokens back the answer stands; for majority: tokens of its window, at most "
     "64; below 3 the answer is the token itself", RT_FIXED_IN_RUN, WHEN(IS("data.task", "shift", "majority")), ASKS("distances")},
    {"data", "pairs", WHOLE(pairs, 1, RT_MOST_SIZE), "4",
     "for mqar: pairs of a key and a value in a sequence", RT_FIXED_IN_RUN,
     WHEN(IS("data.task", "mqar")), ASKS("numbers of pairs"), LATER},
    {"data", "period", WHOLE(period, 2, RT_MOST_SIZE), "7",
     "for period: tokens after which a sequence repeats itself", RT_FIXED_IN_RUN,
     WHEN(IS("data.task", "period")), ASKS("periods")},
    {"data", "theta", NUMBER(theta, ABOVE(0)), "1.1",
     "for spin: radians per position by which a sequence rotates, at most pi; for spin2: radians per "
     "column of its grid", RT_FIXED_IN_RUN, WHEN(IS("data.task", "spin", "spin2")), ASKS("rotations")},
    {"data", "theta2", NUMBER(theta2, ABOVE(0)), "0.6",
     "for spin2: radians per row of its grid, at most pi", RT_FIXED_IN_RUN, WHEN(IS("data.task", "spin2")), ASKS("rotations"), LATER},
    {"data", "patch", WHOLE(patch, 1, 1024), "4",
     "for images: side of a patch, in pixels", RT_FIXED, WHEN(IS("data.task", "images")), OWN, OF_MODEL, LATER},
    {"data", "size", WHOLE(size, 1, 4096), "28",
     "for images: side to which the images are resized, in pixels, a multiple of data.patch",
     RT_FIXED_IN_RUN, WHEN(IS("data.task", "images")), ASKS("sizes of images"), OF_MODEL, LATER},
    {"data", "file", PATH_TEXT(file, RT_FILE_LIST_SIZE, RT_INPUT_FILES), "",
     "data to train on. text, tokens: files, comma-separated, where FILE.h5:/DATASET, FILE.bin and "
     "FILE.npy hold token ids; a.txt*3, b.bin*1: a mixture with weights; classify: FILE.tsv or "
     "FILE.csv; tag: a file; all three also FILE.jsonl, and FILE.txt.gz; images: a file of MNIST's "
     "format, such as train-images-idx3-ubyte.gz. "
     "Relative to the configuration file or, on the command line, to the working directory",
     RT_FIXED_IN_RUN, WHEN(OF_FILES), ASKS_WHEN("data", HAS_NO("data.eval_file"))},
    {"data", "eval_file", PATH_TEXT(eval_file, RT_FILE_LIST_SIZE, RT_INPUT_FILES), "",
     "data to evaluate on, in the form of data.file; without it, eval_fraction of data.file is "
     "held out", RT_FIXED_IN_RUN, WHEN(OF_FILES), ASKS("data")},
    {"data", "field", TEXT(field, RT_FIELD_SIZE), "text",
     "for FILE.jsonl: the field of the text; of the two of a pair, as in question, answer; of the tokens",
     RT_FIXED_IN_RUN, WHEN(IN_JSON_LINES), ASKS("data"), LATER},
    {"data", "label_field", TEXT(label_field, RT_FIELD_SIZE), "label",
     "for FILE.jsonl: the field of the label, or of the labels of the tokens",
     RT_FIXED_IN_RUN, WHEN(IS("data.task", "classify", "tag"), HOLDS("data.file", ".jsonl"), OR,
                    IS("data.task", "classify", "tag"), HOLDS("data.eval_file", ".jsonl")), ASKS("data"), LATER},
    {"data", "vocab_file", PATH_TEXT(vocab_file, RT_PATH_SIZE, RT_INPUT), "",
     "vocabulary: a vocab.txt for levels char, wordpiece and residue, a tokenizer.json for level bpe; "
     "relative as data.file is; level char without one takes the characters of the text",
     RT_FIXED_IN_RUN, WHEN(OF_TEXT, IS_NOT("data.level", "byte"))},
    {"data", "level", CHOICE(level, level_word), "byte",
     "tokens of a text: bytes, characters, pieces of WordPiece or byte-level BPE, or residues as ESM "
     "has them",
     RT_FIXED, WHEN(OF_TEXT), HANDED(WITH_TEXTS), FITS(TOKENS), OF_MODEL},
    {"data", "lowercase", YES_NO(lowercase), "no",
     "for level wordpiece: read texts in lower case and without accents",
     RT_FIXED, WHEN(OF_TEXT, IS("data.level", "wordpiece")), HANDED(WITH_TEXTS), FITS(LOWERCASE), OF_MODEL},
    {"data", "begin", CHOICE(begin, begin_word), "auto",
     "add the token that begins a text to each sequence; auto: as in the training of the loaded model "
     "(a folder of Hugging Face: as its tokenizer does), yes for a new model; none: never", RT_FIXED,
     WHEN(OF_TOKENS), ASKS_WHEN("windows", IS("data.task", "text", "tokens")), HANDED(WITH_FRAMES), OF_MODEL},
    {"data", "end", CHOICE(end, begin_word), "auto",
     "whether each text with a label ends with the token that ends a text; auto and none as for "
     "data.begin", RT_FIXED, WHEN(IS("data.task", "classify", "tag")), HANDED(WITH_LABELS), OF_MODEL, LATER},
    {"data", "objective", CHOICE(objective, objective_word), "mlm",
     "training objective: mlm: predict masked tokens; lm: predict the next token; for period, "
     "spin, spin2, text and tokens",
     RT_FIXED_IN_RUN, WHEN(IS("data.task", "period", "spin", "spin2", "text", "tokens")), ASKS("objectives"),
     HANDED(WITH_OBJECTIVE), IN_DECODERS("lm"), OF_MODEL},
    {"data", "mask_probability", NUMBER(mask_probability, ABOVE_UP_TO(0, 1)), "0.15",
     "for mlm: fraction of the tokens that are predicted, at least one in a sequence; special tokens such "
     "as [SEP] and [UNK] never are", RT_FIXED_IN_RUN, WHEN(IS("data.objective", "mlm")), ASKS("shares of masked tokens")},
    {"data", "mask_id", WHOLE(mask_id, 1, RT_MOST_SIZE), "2",
     "for token ids: the id that stands for a masked token; a text has that of its vocabulary",
     RT_FIXED, WHEN(IS("data.task", "tokens"), IS("data.objective", "mlm")), ASKS("mask tokens"),
     HANDED(WITH_IDS), OF_MODEL, LATER},
    {"data", "special_tokens", CHOICE(special_tokens, special_word), "yes",
     "for token ids: whether the ids 0 to 3 are [PAD], [CLS], [MASK] and [SEP], as at data.level = "
     "byte; no: they are tokens like all others, as in files of nanoGPT, and nothing is put before "
     "a sequence", RT_FIXED, WHEN(IS("data.task", "tokens")), ASKS("special tokens"),
     HANDED(WITH_IDS), OF_MODEL, LATER},
    {"data", "documents", TEXT(documents, RT_DOCUMENTS_SIZE), "none",
     "separator of the documents of a text: none, line, blank (lines), or a text such as "
     "<|endoftext|>; each document gets the token that ends a text. A line of FILE.jsonl is one", RT_FIXED,
     WHEN(IS("data.task", "text")), ASKS("documents"), OWN},
    {"data", "cross", YES_NO(cross), "yes",
     "whether a sequence may go over the end of a document; no: shorter sequences are padded",
     RT_FIXED, WHEN(IS_NOT("data.documents", "none"), OR,
                    IS("data.task", "text"), HOLDS("data.file", ".jsonl"), OR,
                    IS("data.task", "text"), HOLDS("data.eval_file", ".jsonl")), ASKS("documents"), OWN},
    {"data", "cache", PATH_TEXT(cache, RT_PATH_SIZE, RT_FOLDER), "",
     "folder for the tokens of texts of 64 MB and more, which are tokenized once; without it, "
     "rotor in $XDG_CACHE_HOME or in ~/.cache. Relative as data.file is", RT_MAY_DIFFER,
     WHEN(IS("data.task", "text"))},
    {"data", "eval_fraction", NUMBER(eval_fraction, FROM_BELOW(0, 1)), "0.1",
     "without data.eval_file: fraction held out for evaluation: the end of a text, or rows of "
     "labelled data drawn at random; 0 = evaluate on the training data",
     RT_FIXED_IN_RUN, WHEN(OF_FILES, HAS_NO("data.eval_file")), ASKS("data")},
    {"data", "eval_last", WHOLE(eval_last, 0, RT_MOST_SIZE), "0",
     "for text and tokens, lm: evaluate only the last so many tokens of each sequence, as after a "
     "longer context with train.eval_lengths; 0: all",
     RT_FIXED_IN_RUN, WHEN(IS("data.task", "text", "tokens"), IS("data.objective", "lm")), ASKS("evaluated tokens"), LATER},
    {"data", "eval_seed", SEED(eval_seed), "2021",
     "seed of evaluation data: toy sequences, masks, held-out rows, random positions; independent "
     "of run.seed",
     RT_FIXED_IN_RUN, WHEN(IS_NOT("data.task", "text", "tokens"), OR, IS("data.objective", "mlm"), OR,
                    EXCEEDS("position.randomized", 0)), ASKS("data")},
};
/* clang-format on */

const rt_key_table rt_data_keys = {keys, sizeof keys / sizeof *keys};
