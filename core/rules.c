#include "core/rules.h"

#include <stdarg.h>
#include <stdio.h>

void rt_rule_broken(rt_rule_sink to, const char *const *options, const char *format, ...)
{
    char message[RT_MESSAGE_SIZE];
    va_list arguments;
    if (!to.tell)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    to.tell(to.context, options, message);
}

void rt_keep_first_rule(void *context, const char *const *options, const char *message)
{
    rt_first_rule *first = context;
    (void)options;
    if (!first->status.code)
        first->status = rt_error(first->code, "%s", message);
}
