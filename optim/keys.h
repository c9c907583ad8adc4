#ifndef ROTOR_OPTIM_KEYS_H
#define ROTOR_OPTIM_KEYS_H

/* The keys of [optimizer], and theta.lr_scale. */

#include "core/key.h"

/* Table of the keys of rt_optimizer_options. */
extern const rt_key_table rt_optimizer_keys;

#endif
