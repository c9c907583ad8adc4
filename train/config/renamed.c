#include "train/config/renamed.h"

#include <stddef.h>
#include <string.h>

static const rt_renamed renamed[] = {
    {"theta.check", "yes", "unmoved"},
    {"theta.check", "near", "unmoved"},
    {"theta.check", "needed", "unneeded"},
};

const rt_renamed *rt_renamed_at(int i)
{
    return i < (int)(sizeof renamed / sizeof *renamed) ? &renamed[i] : NULL;
}

const char *rt_renamed_to(const char *key, const char *value)
{
    const rt_renamed *r;
    for (int i = 0; (r = rt_renamed_at(i)); i++)
        if (!strcmp(r->key, key) && !r->value == !value && (!value || !strcmp(r->value, value)))
            return r->now;
    return NULL;
}
