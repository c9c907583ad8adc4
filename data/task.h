#ifndef ROTOR_DATA_TASK_H
#define ROTOR_DATA_TASK_H

/* Private declarations of data/: tasks (rows of rt_tasks), and the sequences of their kinds:
 * windows of tokens, labelled rows, and images. Texts of any size are read, encoded, and cached in
 * parts. */

#include "core/random.h"
#include "data/data.h"
#include "data/labels.h"
#include "data/token_format.h"
#include "data/tokenizers/vocabulary.h"
#include "util/files.h"

#include <stdbool.h>

/* Key of a sequence. All of its random numbers come from rt_random {seed, step, stream} at
 * rt_draw_index. */
typedef struct rt_draw {
    uint64_t seed;
    uint32_t step; /* 0: evaluation; 1 + the training step: so the two never share random numbers */
    uint32_t sequence;
} rt_draw;

static inline uint64_t rt_draw_index(rt_draw draw, int position)
{
    return (uint64_t)draw.sequence << 32 | (uint32_t)position;
}

/* Maps a random word to 0 ... n-1. */
static inline int rt_word_below(uint32_t word, int n)
{
    return (int)((uint64_t)word * (uint32_t)n >> 32);
}

/* A row of a batch. Before it is drawn it is padding without labels. */
typedef struct rt_sequence {
    int length; /* T, at least `shortest` of the task */
    int32_t *ids;
    int32_t *labels;
    uint8_t *mask;
    int32_t *types;     /* NULL: not needed */
    int32_t *distances; /* NULL: not needed */
    real *patches;      /* (T, patch), zero; NULL: no patches */
} rt_sequence;

/* Returns a row of a batch after filling it with padding and RT_NO_LABEL. */
rt_sequence rt_sequence_clear(const rt_data *data, rt_batch *batch, int row);

/* Sets the labels of a row of tokens; for mlm also replaces chosen tokens by [MASK] or other
 * tokens. */
void rt_objective_apply(const rt_data *data, rt_draw draw, rt_sequence row);

/* The files in data.file or data.eval_file: "a.txt, b.bin" or, as a mixture with weights, "a.txt*3,
 * b.bin*1" with optional spaces around '*'. A name that ends in .bin or .npy, or has a data set
 * (ids.h5:/train), is a file of token ids; others are texts. */
typedef struct rt_data_file {
    char path[RT_PATH_SIZE];    /* may be truncated */
    size_t size;                /* of the whole path */
    char dataset[RT_PATH_SIZE]; /* data set of an HDF5 file; else "" */
    bool ids;
    bool weighted;
    double weight; /* default 1 */
} rt_data_file;

/* Parses the first file of a checked list. Returns the remaining list, NULL after the last file.
 * With `any_set` any name may have a data set, otherwise only .h5 and .hdf5. */
const char *rt_data_file_take(const char *list, bool any_set, rt_data_file *file);

/* Byte range of a document without its separator. */
typedef struct rt_document_span {
    size_t start, end;
} rt_document_span;

/* Finds the next document that is not empty, from *at on, and moves *at behind its separator.
 * Returns false if there is none. */
bool rt_document_next(const char *documents, const unsigned char *text, size_t bytes, size_t *at,
                      rt_document_span *span);

/* Files that form one text. */
typedef struct rt_text_file {
    char *path;
    size_t start, size; /* offset in the text; bytes */
    rt_file_state state;
} rt_text_file;

typedef struct rt_text_files {
    const char *key; /* key that names the files (borrowed) */
    rt_text_file *list;
    size_t count, capacity;
    size_t bytes;
} rt_text_files;

/* Adds a file to a text, which starts zeroed except its key. The content is not read. RT_DATA names
 * a file that is missing, empty or not regular. */
rt_status rt_text_files_add(rt_text_files *text, const char *path) RT_MUST_CHECK;
void rt_text_files_close(rt_text_files *text);

/* Reads bytes from ... to - 1 of a text in parts that end with a whole character, and passes them
 * to `look`. RT_DATA names a file that has changed since it was added, and a byte that is invalid
 * at the level. */
typedef void rt_text_look(void *context, const unsigned char *bytes, size_t size);
rt_status rt_text_scan(const rt_text_files *text, size_t from, size_t to, rt_level level,
                       rt_text_look *look, void *context) RT_MUST_CHECK;

/* Creates the vocabulary of the characters of a text. Messages name data.file. RT_CONFIG if the
 * text has no files. */
rt_status rt_text_characters(rt_vocabulary **vocabulary_new, const rt_text_files *text,
                             const rt_data_options *o) RT_MUST_CHECK;

/* Encoding of a text in parts, by several threads, in the order of the text. The ids equal those of
 * the whole text. If the tokenizer allows no cuts, the text is read into memory as a whole. */
typedef struct rt_text_encoding {
    const rt_text_files *text;
    const rt_vocabulary *vocabulary;
    const rt_data_options *options; /* documents, special, threads, watch */
    bool watched;                   /* the watch receives "tokenizing a.txt" */
    /* Receives the ids of the next part. */
    rt_status (*take)(void *context, rt_id_list *ids);
    rt_text_look *see; /* receives all bytes in order before they are encoded; or NULL */
    void *context;
    rt_unknown unknown; /* result: unknown characters or words */
} rt_text_encoding;

/* Encodes a text. RT_DATA names a byte that is not UTF-8 and its offset; errors of `take`; RT_IO if
 * the watch requests a stop. */
rt_status rt_text_encode(rt_text_encoding *e) RT_MUST_CHECK;

/* Runs of tokens: consecutive ids in memory, or in a file that is read in place. Readers see all
 * runs as one long run. Several threads may read open runs. */

/* Adds ids in memory, which then belong to the runs. On RT_MEMORY they are freed. */
rt_status rt_token_runs_add_ids(rt_token_runs *runs, rt_id_list ids) RT_MUST_CHECK;

/* Checksums (XXH3-64) of the ids in a file, one for each RT_SUMMED bytes. */
enum { RT_SUMMED = 1 << 16 };
typedef struct rt_token_sums {
    uint64_t *list;
    size_t count;
} rt_token_sums;

/* Adds the token ids of a file (token_format.h) or of a data set of an HDF5 file.
 *
 * Ids are read in place, a window at a time. The file is never mapped, so truncation during a read
 * is an error, not a signal. HDF5 opens the file in a child process; a second one decodes chunked
 * data to an unnamed temporary file. In files up to 256 MiB every id is checked against 0 ...
 * vocab-1 at once, in larger ones when it is read. The next read fails if a file was truncated,
 * rewritten or replaced.
 *
 * `sums` is NULL, or the checksums of a file that rotor wrote and whose name may disappear. Ids are
 * compared with them at once, in files above 1 GiB at the first read; a damaged file is removed.
 * The list is freed in any case.
 *
 * RT_DATA names the file, the data set, the `key` (borrowed) and the fault: also a file on which
 * HDF5 crashes or exceeds its time, a layout that refers to other files or external code, chunks
 * above 32 MiB, and data that was never written. RT_IO if there can be no child process or
 * temporary file. Call it before starting threads (util/process.h). On an error the runs are
 * unchanged. */
rt_status rt_token_runs_add_file(rt_token_runs *runs, const char *key, const rt_data_file *file,
                                 int vocab, rt_token_sums *sums) RT_MUST_CHECK;
void rt_token_runs_close(rt_token_runs *runs);

/* Reads tokens first ... first + count - 1 of the long run. Returns false if they cannot be read or
 * are invalid ids. */
bool rt_token_runs_read(const rt_token_runs *runs, size_t first, size_t count, int32_t *ids);

/* Returns the first, or the last, position of an id among tokens first ... end - 1; SIZE_MAX if
 * there is none. Tokens that cannot be read count as other ids. */
size_t rt_token_runs_find(const rt_token_runs *runs, size_t first, size_t end, int32_t id,
                          bool last);

/* Cache of tokenized texts in the folder data.cache:
 *
 *     NAME.npy          the ids. NAME is the digest of everything they depend on: the bytes of the
 *                       text, the tokenizer, data.documents, data.special and the version of rotor
 *     NAME.info         number of ids, unknown characters or words, checksums of the ids
 *                       (rt_token_sums); written last
 *     NAME.vocabulary   level char: the vocabulary of a text
 *     NAME.digest       state (rt_file_state) and digest of a text file; made again when it changes
 *     NAME.lock         held by the process that makes the files, then removed
 *
 * NAME.info, NAME.vocabulary and NAME.digest begin with the digest of their content. An entry that
 * disagrees with its digest or a checksum is made again. Of several processes that need an entry
 * one makes it. A failure leaves no partial file. Tokenized bytes are checked against the digest in
 * NAME. */

/* Returns whether a text of this size is cached. */
bool rt_token_cache_takes(const rt_data_options *o, size_t bytes);

/* Adds the ids of a text to the runs and creates the cache entry if needed. Errors of
 * rt_text_encode; RT_IO if the folder cannot be written. */
rt_status rt_token_cache_open(rt_token_runs *runs, const rt_text_files *text,
                              const rt_vocabulary *vocabulary, const rt_data_options *o,
                              rt_unknown *unknown) RT_MUST_CHECK;

/* Reads the vocabulary of the characters of a text from the cache, or creates it as
 * rt_text_characters and caches it. Errors as rt_token_cache_open. */
rt_status rt_token_cache_vocabulary(rt_vocabulary **vocabulary_new, const rt_text_files *text,
                                    const rt_data_options *o) RT_MUST_CHECK;

/* Order in which a training visits rows sorted by length: a function of the seed, the step and the
 * number of a sequence in its batch. An epoch cuts the rows into blocks with random bounds and
 * shuffles each block. Batches are consecutive shuffled rows, of similar length, and are shuffled
 * as well. An epoch has ceil(rows / batch) steps and contains every row; it fills its last batch
 * with rows of its first. */
typedef struct rt_order {
    uint32_t rows;  /* at least 1 */
    uint32_t batch; /* rows per step, at least 1 */
} rt_order;

/* Returns the index, among the rows sorted by length, of a training sequence. */
uint32_t rt_order_training(rt_order order, uint64_t seed, uint32_t step, uint32_t sequence);

/* Returns the same index for an evaluation sequence. An evaluation visits every row once: first
 * full batches of consecutive rows in random order, so that any prefix is a sample of all lengths,
 * then the remaining rows. Numbers past the last row wrap around. */
uint32_t rt_order_evaluation(rt_order order, uint64_t seed, uint32_t sequence);

/* Returns element i of a random permutation of 0 ... n-1: a Feistel network with Philox as round
 * function, repeated while the result is not below n. `number` selects one of several permutations.
 */
uint32_t rt_permuted(rt_random random, uint32_t number, uint32_t n, uint32_t i);

/* Windows of consecutive tokens: a sequence is [CLS] and one window. With data.cross = no, windows
 * do not cross the token that ends a document, whatever its origin. */

/* Returns rt_data_evaluation_rows of a source with windows; draws a row. */
long rt_windows_evaluation_rows(const rt_data *data, int length);
void rt_windows_draw(const rt_data *data, rt_draw draw, rt_sequence row);

/* Returns whether windows end at the end of their document. */
bool rt_data_keeps_documents(const rt_data *data);

/* Rows of labelled data as ids. Task classify: texts or pairs of texts, each with a label. Task
 * tag: sentences of tokens, each token with a label.
 *
 *     [CLS] text [SEP]                   types 0
 *     [CLS] text [SEP] text_b [SEP]      types 0, and 1 from text_b on
 *
 * A tokenizer.json may define fewer tokens around a text (rt_vocabulary_frame in vocabulary.h). The
 * label of a text is at [CLS], that of a token at its first piece. Rows that are too long are
 * truncated at the end of the text; of a pair, the longer text first, and of an odd number of
 * places for two truncated texts the longer one, or the second of equal ones, has one more. */

typedef struct rt_example {
    size_t first;          /* index of the first id, or of an image */
    int32_t count, second; /* ids of the text, and of text_b after them; second 0: not a pair */
    int32_t label;         /* classify */
    int line;              /* line of the file on which the row begins */
    int length;            /* after truncation */
    bool evaluation;
} rt_example;

typedef struct rt_examples {
    bool pairs;
    rt_example *rows; /* training file first, then evaluation file */
    size_t count;
    int32_t *ids;
    int32_t *labels;                     /* tag: one per id; else NULL */
    size_t used;                         /* number of ids */
    size_t longest;                      /* length of the longest row before truncation */
    const rt_example **sorted[RT_PARTS]; /* rows of each part, by length, then by place */
    rt_order order[RT_PARTS];
} rt_examples;

void rt_examples_free(rt_examples *examples);

/* Checks the keys of labelled data, as rt_data_rules. */
void rt_examples_check(const rt_data_options *o, rt_rule_sink to);

/* Assigns the rows to the parts and orders those of each part. RT_DATA if one that is read has
 * none. */
rt_status rt_examples_order(rt_data *data) RT_MUST_CHECK;

/* Returns the row of a sequence; fills a row of a batch with it. */
const rt_example *rt_examples_row(const rt_data *data, rt_draw draw);
void rt_examples_draw(const rt_data *data, rt_draw draw, rt_sequence row);

/* Images with labels, from two IDX files: images (N, S, S), gray, or (N, S, S, 3), RGB, and
 * labels (N). The file of labels has the name of the file of images with "labels-idx1" in place of
 * "images-idx3" or "images-idx4", as those of MNIST have; with a dot, "labels.idx1".
 *
 * A sequence is [CLS] and the patches of an image, row by row. The numbers of a patch are its
 * pixels, row by row, each with its channels, from -1 (black) to 1. The label is at [CLS]. The
 * length of a sequence decides the size of its image, to which the image of the file is resized. */

/* A file of bytes in the IDX format of MNIST, compressed by gzip or not: two zero bytes, the type 8
 * (unsigned byte), the number of axes, the length of each axis as a big-endian number of 32 bits,
 * and the bytes, the last axis fastest (LeCun et al. 1998). */
enum { RT_IDX_AXES = 4 };
typedef struct rt_idx {
    int ndim;
    size_t axis[RT_IDX_AXES];
    unsigned char *bytes; /* of all axes */
    size_t size;
} rt_idx;

/* Id of every patch, and number of ids. */
enum { RT_ID_PATCH = 4, RT_IMAGE_VOCAB };

typedef struct rt_image_files {
    rt_idx images, labels;
    char labels_path[RT_PATH_SIZE];
} rt_image_files;

typedef struct rt_images {
    int side, channels;
    rt_image_files parts[RT_PARTS]; /* rt_example.first counts through both, training first */
} rt_images;

/* Functions of the task. Opening returns RT_DATA if a file is missing or no IDX file, if the images
 * are not square, have another size or other channels than those of data.file or of the model, or
 * are not as many as their labels, or if a label is unknown. RT_CONFIG for another data.patch than
 * the model's. */
rt_status rt_images_open(rt_data *data) RT_MUST_CHECK;
void rt_images_check(const rt_data_options *o, rt_rule_sink to);
void rt_images_draw(const rt_data *data, rt_draw draw, rt_sequence row);
void rt_images_free(rt_images *images);

/* Writes the path of the labels of a file of images. Returns false if its name has no
 * "images-idx3" or "images-idx4", also with a dot, or is too long. */
bool rt_image_labels_path(char path[RT_PATH_SIZE], const char *images);

/* Resizes one channel of an image by bilinear interpolation whose triangle widens with the
 * reduction, as interpolate(mode="bilinear", antialias=True) of PyTorch does, and returns the value
 * at (x, y) of the new image, from 0 to 255. `from` is (side, side, channels). */
double rt_image_resized(const unsigned char *from, int side, int channels, int channel, int size,
                        int x, int y);

/* Functions of the tasks with files. Text and tokens open one long run of tokens, from which
 * rt_windows_draw cuts sequences; classify and tag open labelled rows. */
rt_status rt_sequence_open(rt_data *data) RT_MUST_CHECK;
rt_status rt_examples_open(rt_data *data) RT_MUST_CHECK;
void rt_sequence_check(const rt_data_options *o, rt_rule_sink to);

/* Writes the tokens of data.file to the file `ids`, from which `path` is made. If the writer was
 * opened, the caller closes it. */
rt_status rt_sequence_write(rt_data *data, rt_token_writer *w, const char *path,
                            const char *ids) RT_MUST_CHECK;

/* Returns whether the vocabulary of a text consists of its own characters. */
bool rt_data_takes_characters(const rt_data *data);

/* Sets the vocabulary of a text: the given one, that of data.vocab_file, all bytes at level byte,
 * or data->own, which the caller has made of the characters of the text. RT_CONFIG if there is
 * none, if it differs from that of the model, or if a special token that the task needs is missing;
 * RT_DATA if data.vocab_file is invalid. */
rt_status rt_text_find_vocabulary(rt_data *data) RT_MUST_CHECK;

/* Sets the vocabulary of a source. RT_CONFIG if a special token that the task needs is missing. */
rt_status rt_data_use_vocabulary(rt_data *data, const rt_vocabulary *v) RT_MUST_CHECK;

/* Returns whether the default ids of the special tokens are reserved for them. */
bool rt_data_has_special_tokens(const rt_data *data);

/* Returns whether the text has documents. */
bool rt_documents_are_cut(const rt_data_options *o);

/* Returns whether data.file is read: not for an evaluation of data.eval_file. */
bool rt_data_reads_training(const rt_data *data);

/* Returns whether labels belong to single tokens. */
static inline bool rt_data_has_tags(const rt_data *data)
{
    return data->task->target == RT_TARGET_TOKENS;
}

#endif
