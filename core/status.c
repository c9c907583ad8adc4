#include "core/status.h"

#include "core/path.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rt_status rt_ok(void)
{
    rt_status status;
    status.code = RT_OK;
    status.message[0] = '\0';
    return status;
}

/* Returns whether a byte continues a character of UTF-8. */
static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

rt_status rt_error(rt_code code, const char *format, ...)
{
    rt_status status;
    char text[2 * RT_PATH_SIZE + RT_MESSAGE_SIZE];
    va_list arguments;
    status.code = code;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t length = strlen(text);
    if (length < RT_MESSAGE_SIZE) {
        memcpy(status.message, text, length + 1);
        return status;
    }
    /* An overlong text loses its middle: it names the location at the beginning, and often the
     * value found at the end. */
    static const char gap[] = " ... ";
    size_t head = (RT_MESSAGE_SIZE - sizeof gap) / 2;
    const char *tail = text + length - head;
    while (head && continues(text[head]))
        head--;
    while (continues(*tail))
        tail++;
    memcpy(status.message, text, head);
    snprintf(status.message + head, RT_MESSAGE_SIZE - head, "%s%s", gap, tail);
    return status;
}

rt_status rt_out_of_memory(const char *what)
{
    return rt_error(RT_MEMORY, "out of memory for %s", what);
}

rt_status rt_allocated(bool there, const char *what)
{
    return there ? rt_ok() : rt_out_of_memory(what);
}

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
