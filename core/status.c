#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>

rt_status rt_ok(void)
{
    rt_status status;
    status.code = RT_OK;
    status.message[0] = '\0';
    return status;
}

rt_status rt_error(rt_code code, const char *format, ...)
{
    rt_status status;
    va_list arguments;
    status.code = code;
    va_start(arguments, format);
    vsnprintf(status.message, sizeof status.message, format, arguments);
    va_end(arguments);
    return status;
}

rt_status rt_out_of_memory(const char *what)
{
    return rt_error(RT_MEMORY, "out of memory for %s", what);
}
