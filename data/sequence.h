#ifndef ROTOR_DATA_SEQUENCE_H
#define ROTOR_DATA_SEQUENCE_H

/* The tokens of data.file one after the other, for who writes them down. */

#include "data/data.h"
#include "data/encode_text.h"

/* Tells how many ids there can be, and then gives the tokens of data.file in parts, of rt_id_width.
 * RT_CONFIG for a mixture, and for a task without tokens of files; errors of rt_data_open. */
rt_status rt_sequence_encode(const rt_data_options *o, rt_status (*begin)(void *context, int vocab),
                             rt_status (*take)(void *context, rt_id_list *ids),
                             void *context) RT_MUST_CHECK;

#endif
