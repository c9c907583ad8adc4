/* The parameters that joined a training after its first step, as a text in a checkpoint: a line
 * each, "layers.0.attention.theta 600". */

#include "io/checkpoint/private.h"

#include "core/memory.h"
#include "text/number.h"
#include "text/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define JOINED "/joined"

void rt_checkpoint_put_joined(rt_image *image, const rt_parameters *p)
{
    rt_writer w = {0};
    for (int i = 0; i < p->count; i++)
        if (p->list[i]->since)
            rt_writer_add(&w, "%s %" PRId64 "\n", p->list[i]->name, p->list[i]->since);
    if (w.failed)
        rt_image_fail(image, RT_MEMORY, "out of memory for a checkpoint");
    else if (w.bytes)
        rt_image_put_text(image, JOINED, w.bytes);
    rt_writer_free(&w);
}

/* One line, which is taken apart. */
static void get_line(rt_image *image, char *line, int64_t most, const rt_parameters *p,
                     rt_joined_use use)
{
    char *blank = strrchr(line, ' ');
    int64_t since = 0;
    if (blank)
        *blank = '\0';
    rt_parameter *parameter = rt_parameters_find(p, line);
    const bool known = parameter || use == RT_JOINED_TAKE_KNOWN;
    if (!known || !blank || !rt_whole_read(blank + 1, &since) || since < 1 || since > most)
        rt_image_fail(image, RT_CHECKPOINT,
                      "joined must be lines of a parameter and of a step from 1 to %" PRId64
                      "; got '%.100s%s%.20s'",
                      most, line, blank ? " " : "", blank ? blank + 1 : "");
    else if (parameter && use != RT_JOINED_EXPECT)
        parameter->since = since;
}

void rt_checkpoint_get_joined(rt_image *image, int64_t step, const rt_parameters *p,
                              rt_joined_use use)
{
    rt_shape shape;
    if (rt_image_failed(image) || !rt_image_shape(image, JOINED, &shape))
        return;
    char *text = rt_image_text(image, JOINED);
    for (char *line = text, *next; line && *line; line = next) {
        const size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = '\0';
        get_line(image, line, step, p, use);
    }
    rt_free(text);
}
