#include "text/capture.h"

#include <stdlib.h>

bool rt_capture_begin(rt_capture *c)
{
    *c = (rt_capture){0};
    c->file = open_memstream(&c->bytes, &c->size);
    return c->file != NULL;
}

bool rt_capture_end(rt_capture *c)
{
    const bool failed = fclose(c->file) != 0;
    c->file = NULL;
    return !failed;
}

void rt_capture_free(rt_capture *c)
{
    if (c->file)
        fclose(c->file);
    free(c->bytes); /* the C library's */
    *c = (rt_capture){0};
}
