#include "train/commands.h"

#include "core/memory.h"
#include "data/encode_file.h"
#include "data/tokenizers/bpe_train.h"
#include "data/tokenizers/wordpiece_build.h"
#include "io/checkpoint/checkpoint.h"
#include "models/positions.h"
#include "models/transformer.h"
#include "text/durable_file.h"
#include "text/files.h"
#include "text/program_name.h"
#include "train/run/found.h"
#include "train/run/progress.h"
#include "train/run/stop.h"
#include "train/step/observers.h"
#include "train/step/workers.h"
#include "train/world/world.h"

#include <unistd.h>

/* ---- --decay ---- */

enum { FARTHEST = 256 }; /* distance of the last row, at least */

/* Initial theta: of all layers, or of those that see all tokens and of those that have a window, if
 * their theta starts from different bases. */
typedef struct starts {
    double *theta; /* (count, pairs) */
    int count, pairs;
} starts;

static void print_decay_header(FILE *to, const starts *s, const rt_checkpoint_theta *l)
{
    fprintf(to, s->count > 1 ? "r,C,C_sliding" : "r,C");
    for (int n = 0; l->values && n < l->shape.axis[0] * l->shape.axis[1]; n++) {
        const int layer = l->layers[n / l->shape.axis[1]], head = n % l->shape.axis[1];
        if (l->scope == RT_THETA_MODEL)
            fprintf(to, ",C_all");
        else if (l->scope == RT_THETA_LAYER)
            fprintf(to, ",C_layer_%d", layer);
        else
            fprintf(to, ",C_layer_%d_head_%d", layer, head);
    }
    fputc('\n', to);
}

static void print_decay_row(FILE *to, int r, const starts *s, double xpos,
                            const rt_checkpoint_theta *l)
{
    fprintf(to, "%d", r);
    for (int n = 0; n < s->count; n++)
        fprintf(to, ",%.9g", rt_decay(s->theta + n * s->pairs, s->pairs, r, xpos));
    for (int n = 0; l->values && n < l->shape.axis[0] * l->shape.axis[1]; n++)
        fprintf(to, ",%.9g", rt_decay(l->values + n * l->shape.axis[2], l->shape.axis[2], r, xpos));
    fputc('\n', to);
}

static rt_status find_starts(starts *s, const rt_transformer_options *o)
{
    rt_frequency_options of[2] = {rt_layer_frequencies(o, -1)};
    *s = (starts){.count = 1, .pairs = rt_transformer_pairs(o)};
    if (rt_layers_start_apart(o)) {
        s->count = 2;
        of[0] = of[1] = o->position.frequencies;
        of[1].base = o->position.local_base;
    }
    s->theta = rt_alloc((size_t)(s->count * s->pairs), sizeof *s->theta);
    if (!s->theta)
        return rt_out_of_memory("theta");
    for (int n = 0; n < s->count; n++)
        rt_frequencies(s->theta + n * s->pairs, s->pairs, &of[n]);
    return rt_ok();
}

static rt_status print_decay(FILE *to, const rt_config *config, rt_image *checkpoint)
{
    const int longest = rt_config_longest(config) - 1;
    rt_checkpoint_theta l = {.values = NULL};
    starts s = {.theta = NULL};
    if (!rt_transformer_pairs(&config->model)) {
        rt_image_close(checkpoint);
        return rt_error(RT_CONFIG, "--decay needs position.kind = rope and a position.fraction "
                                   "above 0: nothing is rotated");
    }
    rt_status status = rt_ok();
    if (checkpoint)
        status = rt_checkpoint_read_theta(checkpoint, &l);
    if (!status.code)
        status = find_starts(&s, &config->model);
    if (!status.code) {
        print_decay_header(to, &s, &l);
        for (int r = 0; r <= (longest > FARTHEST ? longest : FARTHEST); r++)
            print_decay_row(to, r, &s, config->model.position.xpos, &l);
    }
    rt_free(s.theta);
    rt_checkpoint_theta_free(&l);
    return status;
}

rt_status rt_decay_command(FILE *to, const rt_config *config, const rt_arguments *arguments)
{
    rt_found found = {0};
    rt_status status = rt_ok();
    if (arguments->checkpoint || arguments->best)
        status = rt_find_checkpoint(&found, arguments, config);
    if (*found.warnings)
        fprintf(stderr, "%s: %s\n", rt_program_name(), found.warnings);
    if (!status.code && found.imported)
        status = rt_error(RT_CONFIG, "--decay reads the learned theta of a checkpoint, not of %s",
                          found.path);
    if (!status.code)
        return print_decay(to, config, found.image);
    rt_found_close(&found);
    return status;
}

/* ---- --encode ---- */

/* Returns RT_CONFIG if the file to write is one that the configuration names. */
static rt_status check_output(const rt_config *config, const rt_arguments *arguments)
{
    char path[RT_PATH_SIZE];
    const char *inputs[] = {arguments->config, NULL};
    rt_status status = rt_output_check(arguments->encode, arguments->overwrite, inputs);
    inputs[0] = path;
    for (int i = 0; !status.code && rt_data_file_at(&config->data, i, path); i++)
        status = rt_output_check(arguments->encode, arguments->overwrite, inputs);
    return status;
}

rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments)
{
    rt_data_options o = config->data;
    rt_opening opening;
    size_t count;
    rt_status status = check_output(config, arguments);
    if (status.code)
        return status;
    rt_stop_on_signals();
    rt_opening_begin(&opening, &o, config, NULL, arguments->quiet);
    status = rt_encode_file(&o, arguments->encode, &count);
    rt_opening_end(&opening);
    if (!status.code)
        printf("%s: %zu tokens\n", arguments->encode, count);
    return status;
}

/* ---- --vocab ---- */

static rt_status count_words(rt_word_counts *counts, const char *path)
{
    unsigned char *text;
    size_t bytes;
    rt_status status = rt_file_read("--vocab", path, &text, &bytes);
    if (!status.code)
        status = rt_word_counts_add(counts, path, text, bytes);
    rt_free(text);
    return status;
}

rt_status rt_vocab_command(FILE *to, const rt_arguments *arguments)
{
    rt_word_counts counts = {.lowercase = arguments->lowercase};
    rt_status status = rt_ok();
    char *text = NULL;
    int lines = 0;
    for (int i = 0; i < arguments->other_count && !status.code; i++)
        status = count_words(&counts, arguments->others[i]);
    if (!status.code)
        status = rt_wordpiece_build(&counts, arguments->vocab, &text, &lines);
    rt_word_counts_free(&counts);
    if (status.code == RT_CONFIG)
        return rt_error(RT_CONFIG,
                        "--vocab %d is too few: %s; give a larger number, or texts with "
                        "fewer different characters",
                        arguments->vocab, status.message);
    if (status.code)
        return status;
    fputs(text, to);
    rt_free(text);
    if (lines < arguments->vocab && !arguments->quiet)
        fprintf(stderr, "%s: warning: %d lines, not %d: every word of the texts is a piece\n",
                rt_program_name(), lines, arguments->vocab);
    return rt_ok();
}

/* ---- --train-tokenizer ---- */

static const double between_updates = 0.1; /* seconds, on a terminal */
static const double between_lines = 60;    /* elsewhere */

/* Progress of --train-tokenizer. */
typedef struct showing {
    const char *path; /* of the text that is counted; NULL: pairs are merged */
    bool terminal;
    double last;
} showing;

static void show_progress(void *context, const char *what, double done, double all)
{
    showing *s = context;
    const double now = rt_seconds();
    if (now - s->last < (s->terminal ? between_updates : between_lines))
        return;
    s->last = now;
    fprintf(stderr, "%s%s: %s%s%.0f of %.0f %s%s", s->terminal ? "\r\033[K" : "", rt_program_name(),
            s->path ? s->path : "", s->path ? ": " : "", done, all, what, s->terminal ? "" : "\n");
    fflush(stderr);
}

static rt_status count_text(rt_bpe_counts *counts, rt_workers *workers, const char *path,
                            const rt_bpe_progress *progress)
{
    unsigned char *text;
    size_t bytes;
    rt_status status = rt_file_read("--train-tokenizer", path, &text, &bytes);
    if (!status.code)
        status =
            rt_bpe_counts_add(counts, rt_workers_crew(workers, 0), path, text, bytes, progress);
    rt_free(text);
    return status;
}

static rt_status count_texts(rt_bpe_counts *counts, const rt_arguments *arguments, showing *s,
                             const rt_bpe_progress *progress)
{
    rt_workers *workers;
    rt_status status = rt_workers_new(&workers, rt_processors());
    for (int i = 0; i < arguments->other_count && !status.code; i++) {
        s->path = arguments->others[i];
        status = count_text(counts, workers, s->path, progress);
    }
    s->path = NULL;
    rt_workers_free(workers);
    return status.code ? status : rt_bpe_counts_join(counts);
}

rt_status rt_tokenizer_command(FILE *to, const rt_arguments *arguments)
{
    showing s = {.terminal = isatty(STDERR_FILENO), .last = rt_seconds()};
    const double start = s.last;
    const rt_bpe_progress shown = {show_progress, &s}, *progress = arguments->quiet ? NULL : &shown;
    rt_bpe_counts counts = {0};
    char *text = NULL;
    int ids = 0;
    rt_status status = count_texts(&counts, arguments, &s, progress);
    if (!status.code)
        status = rt_bpe_train(counts.part, arguments->tokenizer, progress, &text, &ids);
    rt_bpe_counts_free(&counts);
    if (s.terminal && s.last > start)
        fputs("\r\033[K", stderr);
    if (status.code)
        return status;
    fputs(text, to);
    rt_free(text);
    if (ids < arguments->tokenizer && !arguments->quiet)
        fprintf(stderr, "%s: warning: %d tokens, not %d: every word of the texts is a token\n",
                rt_program_name(), ids, arguments->tokenizer);
    return rt_ok();
}
