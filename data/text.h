#ifndef ROTOR_DATA_TEXT_H
#define ROTOR_DATA_TEXT_H

/* Text, for the table of tasks: windows of consecutive units, some of them hidden. */

#include "data/data.h"

#include <stddef.h>

struct rt_draw;
struct rt_sequence;

/* Training windows lie in bytes 0 ... training-1, evaluation windows in
 * evaluation ... count-1; the two overlap only when eval_fraction is 0. */
typedef struct rt_text {
    uint8_t *bytes;
    size_t count;
    size_t training;
    size_t evaluation;
    rt_alphabet alphabet;
} rt_text;

rt_status rt_text_check(const rt_data_options *o) RT_MUST_CHECK;
rt_status rt_text_open(rt_data *data) RT_MUST_CHECK;
void rt_text_close(rt_text *text);
long rt_text_evaluation_rows(const rt_text *text, int length);
void rt_text_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);

#endif
