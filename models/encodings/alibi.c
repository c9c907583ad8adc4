/* ALiBi (Press et al. 2022): subtracts a slope for each head times the distance from the scores. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

static rt_status start(rt_transformer *m)
{
    double *slopes = rt_alloc((size_t)m->options.heads, sizeof *slopes);
    m->encoding.state = slopes;
    if (!slopes)
        return rt_out_of_memory("the slopes of ALiBi");
    rt_alibi_slopes(slopes, m->options.heads);
    return rt_ok();
}

static void scores(const rt_transformer *m, rt_graph *g, int l, rt_attention_options *options)
{
    (void)g;
    (void)l;
    options->slopes = m->encoding.state;
}

const rt_encoding rt_encoding_alibi = {
    .word = "alibi", .in_layers = true, .of_scores = true, .start = start, .scores = scores};
