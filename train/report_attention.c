#include "train/report.h"

#include "core/memory.h"
#include "train/batch_loss.h"
#include "train/figures.h"

enum { MOST_TOKENS = 64, MOST_LAYERS = 4, MOST_HEADS = 8, LONGEST = 2048, PANEL = 150 };

/* One map after the other, with two empty lines between, as gnuplot's `index` wants them. */
static void write_maps(rt_figures *f, real *const *probabilities, int layers, int heads, int T,
                       int shown)
{
    rt_writer w = {0};
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++) {
            for (int i = 0; i < shown; i++)
                for (int j = 0; j < shown; j++)
                    rt_writer_add(
                        &w, "%.3f%s",
                        (double)probabilities[l][((size_t)h * (size_t)T + (size_t)i) * (size_t)T +
                                                 (size_t)j],
                        j + 1 < shown ? "," : "\n");
            rt_writer_add(&w, "\n\n");
        }
    rt_figures_write(f, "attention.csv", &w);
}

static void add_script(rt_figures *f, int layers, int heads, int shown, bool cut)
{
    rt_writer w = {0};
    rt_writer_add(
        &w,
        "unset border\nunset tics\nunset key\nunset colorbox\nunset grid\n"
        "set palette defined (0 '#ffffff', 0.3 '#9ecae1', 1 '#08306b')\n"
        "set cbrange [0:*]\nset yrange [%g:-0.5]\nset xrange [-0.5:%g]\n"
        "set size ratio 1\nset lmargin 1\nset rmargin 1\nset tmargin 1.5\nset bmargin 0.5\n"
        "set multiplot layout %d,%d\n",
        shown - 0.5, shown - 0.5, layers, heads);
    for (int n = 0; n < layers * heads; n++)
        rt_writer_add(&w,
                      "set title 'layer %d, head %d' font ',10' offset 0,-0.8\n"
                      "plot 'attention.csv' index %d matrix with image\n",
                      n / heads, n % heads, n);
    rt_writer_add(&w, "unset multiplot\n");
    char *commands = rt_writer_take(&w);
    if (commands)
        rt_figures_add_sized(f, "attention",
                             cut ? "What tokens attend to: a row for each query, a column for each "
                                   "key, of the first "
                                   "evaluation sequence; the first layers, heads and tokens"
                                 : "What tokens attend to: a row for each query, a column for each "
                                   "key, of the first "
                                   "evaluation sequence",
                             PANEL * (heads > 4 ? heads : 4), (PANEL + 14) * layers, commands);
    rt_free(commands);
}

static rt_status compute(real **probabilities, const rt_config *config, rt_trainer *trainer)
{
    rt_roformer *model = rt_trainer_state(trainer)->model;
    rt_labelled_batch b;
    rt_graph *g = rt_graph_new();
    rt_status status = rt_labelled_batch_new(&b, 1, config->data.length);
    if (!g && !status.code)
        status = rt_out_of_memory("a figure");
    if (!status.code) {
        rt_data_evaluation(rt_trainer_data(trainer), 0, &b.batch);
        const rt_roformer_input in = {.B = 1,
                                      .T = config->data.length,
                                      .ids = b.batch.ids,
                                      .key_mask = b.batch.mask,
                                      .padding_id = RT_NO_PADDING,
                                      .attentions = probabilities};
        rt_graph_record(g, false);
        rt_roformer_encode(model, g, &in);
        status = rt_graph_status(g);
    }
    rt_graph_free(g);
    rt_labelled_batch_free(&b);
    return status;
}

void rt_report_attention(rt_figures *f, const rt_config *config, rt_trainer *trainer)
{
    const rt_roformer_options *o = &config->model;
    const int T = config->data.length, shown = T < MOST_TOKENS ? T : MOST_TOKENS;
    const int layers = o->layers < MOST_LAYERS ? o->layers : MOST_LAYERS;
    const int heads = o->heads < MOST_HEADS ? o->heads : MOST_HEADS;
    if (o->attention != RT_ATTENTION_SOFTMAX || T > LONGEST)
        return;
    real **probabilities = rt_alloc((size_t)o->layers, sizeof *probabilities);
    rt_status status = probabilities ? rt_ok() : rt_out_of_memory("a figure");
    for (int l = 0; l < o->layers && !status.code; l++) {
        probabilities[l] = rt_alloc((size_t)o->heads * (size_t)T * (size_t)T, sizeof(real));
        if (!probabilities[l])
            status = rt_out_of_memory("a figure");
    }
    if (!status.code)
        status = compute(probabilities, config, trainer);
    if (!status.code) {
        write_maps(f, probabilities, layers, heads, T, shown);
        add_script(f, layers, heads, shown, shown < T || layers < o->layers || heads < o->heads);
    } else if (!f->status.code) {
        f->status = status;
    }
    for (int l = 0; probabilities && l < o->layers; l++)
        rt_free(probabilities[l]);
    rt_free(probabilities);
}
