/* Prints the log-probabilities of all ids for the token after each line of standard input, for
 * scripts/check llama.
 *
 *     llama-logits CHECKPOINT <TEXTS
 */

#include "io/rotor-io.h"

#include "core/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1 << 16 };

/* The head has a row for every place, or for the last one alone. */
static void print_last(const rt_tensor *logits, int length, int vocab)
{
    const real *last = logits->data + (size_t)(length - 1) * (size_t)vocab;
    double most = last[0], sum = 0;
    for (int i = 0; i < vocab; i++)
        most = fmax(most, last[i]);
    for (int i = 0; i < vocab; i++)
        sum += exp(last[i] - most);
    for (int i = 0; i < vocab; i++)
        printf("%.9g%c", last[i] - most - log(sum), i + 1 < vocab ? ' ' : '\n');
}

static rt_status tell(rt_model *m, char *line)
{
    rt_row row;
    rt_graph *g = rt_graph_new();
    rt_status status = rt_model_encode(m, line, NULL, &row);
    rt_tensor *logits = status.code ? NULL : rt_model_logits(m, g, &row, 1);
    if (logits)
        print_last(logits, row.length, m->transformer->options.vocab);
    else if (!status.code)
        status = rt_graph_status(g);
    rt_graph_free(g);
    rt_row_free(&row);
    return status;
}

int main(int argc, char **argv)
{
    static char line[LINE];
    rt_model *m = NULL;
    rt_status status = argc == 2 ? rt_model_open(&m, argv[1])
                                 : rt_error(RT_ARGUMENT, "usage: llama-logits CHECKPOINT <TEXTS");
    while (!status.code && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        status = tell(m, line);
    }
    rt_model_close(m);
    if (status.code)
        fprintf(stderr, "llama-logits: %s\n", status.message);
    return status.code ? 1 : 0;
}
