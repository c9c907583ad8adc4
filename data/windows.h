#ifndef ROTOR_DATA_WINDOWS_H
#define ROTOR_DATA_WINDOWS_H

/* Windows of consecutive tokens, cut of a long run of them, and their training objective.
 * A sequence is [CLS] and one window. */

#include "data/rules.h"

struct rt_draw;
struct rt_sequence;

/* Tokens that lie together: those of one text for evaluation. */
typedef struct rt_window_text {
    size_t first, count;
} rt_window_text;

/* Training windows lie in tokens 0 ... training-1, each evaluation window in one of the texts.
 * These are the files of data.eval_file or, without it, the tail of data.file: then the two overlap
 * only when eval_fraction is 0. */
typedef struct rt_windows {
    size_t training;
    rt_window_text *texts;
    size_t text_count;
} rt_windows;

/* The most tokens there can be of a file, so that a random number can choose among them. */
#define RT_WINDOWS_LIMIT ((size_t)UINT32_MAX)

/* As rt_data_rules, of the keys of [data] that say what is kept and what is masked. */
void rt_windows_check(const rt_data_options *o, rt_rule_sink to);

/* Takes the tokens of data.file. RT_DATA if a part of them is shorter than one window; `many`
 * names them in the message. Of a source for evaluation alone that has a data.eval_file there are
 * none. */
rt_status rt_windows_open(rt_data *data, size_t count, const char *many) RT_MUST_CHECK;

/* Takes the tokens of a file of data.eval_file, which follow those that were taken before. RT_DATA
 * if there is no window in them. */
rt_status rt_windows_add(rt_data *data, const char *path, size_t count,
                         const char *many) RT_MUST_CHECK;
void rt_windows_close(rt_data *data);

/* Of a source: see rt_data_evaluation_rows. */
long rt_windows_evaluation_rows(const rt_data *data, int length);
void rt_windows_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

/* See rt_data_short_texts. */
rt_short_texts rt_windows_short_texts(const rt_data *data);

#endif
