#include "train/tokenizer_command.h"

#include "core/memory.h"
#include "data/tokenizers/bpe_train.h"
#include "text/files.h"
#include "text/program_name.h"
#include "train/step/observers.h"
#include "train/step/workers.h"
#include "train/world/world.h"

#include <unistd.h>

/* ---- progress ---- */

static const double between_updates = 0.1; /* seconds, on a terminal */
static const double between_lines = 60;    /* elsewhere */

typedef struct showing {
    const char *path; /* of the text that is counted; NULL: pairs are merged */
    bool terminal;
    double last;
} showing;

static void tell(void *context, const char *what, double done, double all)
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

static void clear(const showing *s, bool shown)
{
    if (s->terminal && shown)
        fputs("\r\033[K", stderr);
}

/* ---- training ---- */

static rt_status count_file(rt_bpe_counts *counts, rt_workers *workers, const char *path,
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

static rt_status count_files(rt_bpe_counts *counts, const rt_arguments *arguments, showing *s,
                             const rt_bpe_progress *progress)
{
    rt_workers *workers;
    rt_status status = rt_workers_new(&workers, rt_processors());
    for (int i = 0; i < arguments->other_count && !status.code; i++) {
        s->path = arguments->others[i];
        status = count_file(counts, workers, s->path, progress);
    }
    s->path = NULL;
    rt_workers_free(workers);
    return status.code ? status : rt_bpe_counts_join(counts);
}

rt_status rt_tokenizer_command(FILE *to, const rt_arguments *arguments)
{
    showing s = {.terminal = isatty(STDERR_FILENO), .last = rt_seconds()};
    const double start = s.last;
    const rt_bpe_progress shown = {tell, &s}, *progress = arguments->quiet ? NULL : &shown;
    rt_bpe_counts counts = {0};
    char *text = NULL;
    int ids = 0;
    rt_status status = count_files(&counts, arguments, &s, progress);
    if (!status.code)
        status = rt_bpe_train(counts.part, arguments->tokenizer, progress, &text, &ids);
    rt_bpe_counts_free(&counts);
    clear(&s, s.last > start);
    if (status.code)
        return status;
    fputs(text, to);
    rt_free(text);
    if (ids < arguments->tokenizer && !arguments->quiet)
        fprintf(stderr, "%s: warning: %d tokens, not %d: every word of the texts is a token\n",
                rt_program_name(), ids, arguments->tokenizer);
    return rt_ok();
}
