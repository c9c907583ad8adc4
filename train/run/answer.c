#include "train/run/answer.h"

#include "text/capture.h"
#include "text/utf8_stream.h"

#include <math.h>
#include <stdlib.h>

enum { DIGITS = 6 }; /* of a number */

json_t *rt_answer_string(const char *bytes, size_t size)
{
    rt_capture text;
    json_t *string = NULL;
    if (rt_capture_begin(&text)) {
        rt_utf8_stream stream = {.to = text.file};
        rt_utf8_stream_put(&stream, bytes, size);
        rt_utf8_stream_end(&stream);
        if (rt_capture_end(&text))
            string = json_stringn(text.bytes, text.size);
    }
    rt_capture_free(&text);
    return string;
}

json_t *rt_answer_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

rt_status rt_answer_print(FILE *to, json_t *answer)
{
    char *line = answer ? json_dumps(answer, JSON_REAL_PRECISION(DIGITS)) : NULL;
    json_decref(answer);
    if (!line)
        return rt_out_of_memory("an answer");
    fprintf(to, "%s\n", line);
    free(line); /* Jansson's, which is malloc's */
    return rt_ok();
}
