#ifndef ROTOR_DATA_KEYS_H
#define ROTOR_DATA_KEYS_H

#include "core/key.h"

/* Table of the keys of [data], which are the fields of rt_data_options. */
extern const rt_key_table rt_data_keys;

#endif
