#include "train/vocab_command.h"

#include "core/memory.h"
#include "data/tokenizers/wordpiece_build.h"
#include "text/files.h"
#include "text/program_name.h"

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
