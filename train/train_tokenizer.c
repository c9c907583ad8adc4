/* --train-tokenizer: a vocabulary of texts. */

#include "train/commands.h"

#include "core/memory.h"
#include "data/text_files.h"
#include "data/tokenizers/train.h"
#include "train/run/progress.h"
#include "train/step/workers.h"
#include "util/process.h"

#include <stdio.h>
#include <unistd.h>

/* Progress of --train-tokenizer. */
typedef struct showing {
    const char *path; /* counted text; NULL: pairs are merged */
    rt_progress progress;
} showing;

static void show_progress(void *context, const char *what, double done, double all)
{
    showing *s = context;
    char text[RT_MESSAGE_SIZE];
    snprintf(text, sizeof text, "%.0f of %.0f %s%s%s", done, all, what, s->path ? " of " : "",
             s->path ? s->path : "");
    rt_progress_share(&s->progress, text, all > 0 ? done / all : 0);
}

rt_status rt_train_tokenizer_command(const rt_arguments *arguments)
{
    const bool pieces = arguments->wordpiece;
    const char *field = arguments->field ? arguments->field : "text";
    showing s = {.progress = {.terminal = isatty(STDERR_FILENO), .last_shown = rt_seconds()}};
    const rt_train_progress shown = {show_progress, &s};
    const rt_train_progress *progress = arguments->quiet || pieces ? NULL : &shown;
    rt_word_counts counts = {.wordpiece = pieces, .lowercase = arguments->lowercase};
    rt_workers *workers;
    RT_OWNED char *text = NULL;
    int ids = 0;
    rt_status status = rt_workers_new(&workers, rt_processors(NULL));
    for (int i = 0; i < arguments->other_count && !status.code; i++) {
        RT_OWNED unsigned char *bytes = NULL;
        size_t size;
        s.path = arguments->others[i];
        status = rt_text_read_whole("--train-tokenizer", field, s.path, &bytes, &size);
        if (!status.code)
            status = rt_word_counts_add(&counts, rt_workers_threads(workers, 0), s.path, bytes,
                                        size, progress);
    }
    s.path = NULL;
    rt_workers_free(workers);
    if (!status.code)
        status = rt_tokenizer_train(&counts, arguments->tokenizer, arguments->mask, progress, &text,
                                    &ids);
    rt_word_counts_free(&counts);
    rt_progress_clear(&s.progress);
    if (status.code == RT_CONFIG)
        return rt_error(RT_CONFIG,
                        "--train-tokenizer %d is too few: %s; give a larger number, or texts with "
                        "fewer different characters",
                        arguments->tokenizer, status.message);
    if (!status.code)
        fputs(text, stdout);
    if (!status.code && ids < arguments->tokenizer && !arguments->quiet)
        fprintf(stderr, "%s: warning: %d %s, not %d: every word of the texts is a %s\n",
                rt_program_name(), ids, pieces ? "lines" : "tokens", arguments->tokenizer,
                pieces ? "piece" : "token");
    return status;
}
