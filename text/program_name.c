#define _GNU_SOURCE /* program_invocation_short_name */

#include "text/program_name.h"

#include <errno.h>
#include <string.h>

const char *rt_program_name(void)
{
    static const char *const names[] = {"train", "rotor"};
    const char *name = program_invocation_short_name;
    for (int i = 0; i < 2; i++) {
        const size_t length = strlen(names[i]);
        if (!strncmp(name, names[i], length) && !strcmp(name + length, "-f64"))
            return names[i];
    }
    return name;
}
