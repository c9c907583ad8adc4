#ifndef ROTOR_DATA_WINDOWS_H
#define ROTOR_DATA_WINDOWS_H

/* Windows of consecutive units, cut of a long run of them, and what is asked about them.
 * A sequence is [CLS] and one window. */

#include "data/rules.h"

struct rt_draw;
struct rt_sequence;

/* Training windows lie in units 0 ... training-1, evaluation windows in
 * evaluation ... count-1; the two overlap only when eval_fraction is 0. */
typedef struct rt_windows {
    size_t count;
    size_t training;
    size_t evaluation;
} rt_windows;

/* The most units there can be, so that a random number can choose among them. */
#define RT_WINDOWS_LIMIT ((size_t)UINT32_MAX)

/* As rt_data_rules, of the keys of [data] that say what is kept and what is hidden. */
void rt_windows_check(const rt_data_options *o, rt_rule_sink to);

/* RT_DATA if one part is shorter than one window. `units` names them in the message. */
rt_status rt_windows_open(rt_data *data, size_t count, const char *units) RT_MUST_CHECK;

/* Of a source: see rt_data_evaluation_rows. */
long rt_windows_evaluation_rows(const rt_data *data, int length);
void rt_windows_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
