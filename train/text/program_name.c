#define _GNU_SOURCE /* program_invocation_short_name */

#include "train/text/program_name.h"

#include <errno.h>

const char *rt_program_name(void)
{
    return program_invocation_short_name;
}
