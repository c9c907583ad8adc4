#include "train/config/renamed.h"

#include <stddef.h>
#include <string.h>

static const rt_renamed renamed[] = {
    {"theta.check", "yes", "unmoved", false},     {"theta.check", "near", "unmoved", false},
    {"theta.check", "needed", "unneeded", false}, {"model.bias", "yes", "all", true},
    {"model.bias", "no", "none", true},
};

const rt_renamed *rt_renamed_at(int i)
{
    return i < (int)(sizeof renamed / sizeof *renamed) ? &renamed[i] : NULL;
}

const rt_renamed *rt_renamed_find(const char *key, const char *value)
{
    const rt_renamed *r;
    for (int i = 0; (r = rt_renamed_at(i)); i++)
        if (!strcmp(r->key, key) && !r->value == !value && (!value || !strcmp(r->value, value)))
            break;
    return r;
}
