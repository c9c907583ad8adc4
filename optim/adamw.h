#ifndef ROTOR_OPTIM_ADAMW_H
#define ROTOR_OPTIM_ADAMW_H

/* AdamW, for rules that leave it a part of the parameters. */

#include "optim/rule_rows.h"

/* clang-format off */
#define RT_ADAM_STATES {{"first_moment", false}, {"second_moment", true}}
/* clang-format on */

void rt_adamw_stretch(const rt_update *u, real *value, real *const states[RT_MOST_STATES],
                      const real *gradient, size_t size);

#endif
