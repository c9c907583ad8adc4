/* The figure of attention weights: its numbers, and the place of each map. */

#include "markup.h"
#include "models/new_model.h"
#include "train/step/training.h"
#include "util/scratch.h"

#include "train/report/sections.h"

/* The initial values look trained, so that maps differ. */
static const char tiny[] = "[model]\ndim = 80\nheads = 5\nlayers = 3\ninit_std = 0.5\n"
                           "[train]\nbatch_size = 1\n[run]\nthreads = 1\n"
                           "[data]\nlength = 6\nvocab = 8\n";

static training *t;
static rt_run_page page;
static const char *script, *numbers;

static void end(void)
{
    rt_figures_clear(scratch);
    remove_scratch();
}

static void draw(const char *text, const char *const *overrides)
{
    t = new_training(text, overrides);
    page = (rt_run_page){.folder = scratch, .config = &t->config, .trainer = t->trainer};
    rt_figures_begin(&page.figures, scratch);
    expect_ok(rt_report_figures(&page));
    expect_ok(page.figures.status);
    script = text_in("figures/attention.gp");
    numbers = text_in("figures/attention.csv");
}

/* A map in the figure, which grows downwards. */
typedef struct map {
    double x, y, width, height;
    int layer, head;
} map;

/* Reads the n-th map, from 0 on: the image, and the title after it. */
static map nth_map(const char *svg, int n)
{
    const char *image = lasting("(//svg:image)[%d]", n + 1);
    map m;
    ck_assert_int_eq(
        sscanf(value_in(svg, lasting("concat(%s/@x, ' ', %s/@y, ' ', %s/@width, ' ', %s/@height, "
                                     "%s/following::svg:text[starts-with(., 'layer ')])",
                                     image, image, image, image, image)),
               "%lf %lf %lf %lf layer %d, head %d", &m.x, &m.y, &m.width, &m.height, &m.layer,
               &m.head),
        6);
    return m;
}

SUITE(.setup = make_scratch, .teardown = end)

/* Layers from top to bottom, heads from left to right, the maps in the order of the file. */
TEST(maps_stand_in_rows_of_layers_and_columns_of_heads)
{
    NEEDS_PROGRAM("gnuplot");
    draw(tiny, NULL);
    expect_ok(rt_figures_draw(&page.figures));
    const char *svg = text_in("figures/attention.svg");
    map maps[15];
    ck_assert_int_eq(count_in(svg, "//svg:image"), 15);
    for (int n = 0; n < 15; n++) {
        maps[n] = nth_map(svg, n);
        ck_assert_int_eq(maps[n].layer, n / 5);
        ck_assert_int_eq(maps[n].head, n % 5);
        ck_assert(maps[n].x > 0 && maps[n].x + maps[n].width < page.figures.list[0].width);
        ck_assert(maps[n].y > 0 && maps[n].y + maps[n].height < page.figures.list[0].height);
        ck_assert(maps[n].width > 0 && fabs(maps[n].width - maps[n].height) < 1);
        if (n % 5)
            ck_assert(maps[n].x > maps[n - 1].x + maps[n - 1].width && maps[n].y == maps[n - 1].y);
        if (n >= 5)
            ck_assert(maps[n].y > maps[n - 5].y + maps[n - 5].height && maps[n].x == maps[n - 5].x);
    }
}

TEST(each_map_has_the_probabilities_of_its_layer_and_head)
{
    enum { LAYERS = 3, HEADS = 5, T = 6 };
    static real expected[LAYERS][HEADS * T * T];
    real *maps[LAYERS] = {expected[0], expected[1], expected[2]};
    rt_labelled_batch b;
    draw(tiny, NULL);
    expect_ok(rt_labelled_batch_new(&b, 1, T, 0, NULL));
    rt_data_evaluation(t->data, 0, &b.batch);
    rt_graph *g = new_graph();
    rt_graph_record(g, false);
    made(g, rt_transformer_encode(t->state->model, g,
                                  &INPUT(.B = 1, .T = T, .ids = b.batch.ids,
                                         .key_mask = b.batch.mask, .attentions = maps)));
    const char *at = numbers;
    for (int n = 0; n < LAYERS * HEADS * T * T; n++) {
        char *next;
        const double got = strtod(at, &next);
        ck_assert_msg(next != at, "%d numbers only", n);
        const double wish = (double)expected[n / (HEADS * T * T)][n % (HEADS * T * T)];
        ck_assert_msg(fabs(got - wish) <= 0.0005 + 1e-12, "number %d is %g, not %g", n, got, wish);
        at = next + (*next == ',');
    }
    ck_assert_uint_eq(strspn(at, "\n"), strlen(at));
    rt_labelled_batch_free(&b);
}

/* Maps of one to three heads fit in half of the page. */
TEST_ROWS(a_figure_shows_at_most_4_layers_8_heads_and_64_tokens, 0, 5)
{
    static const struct {
        int layers, heads, length, drawn_layers, drawn_heads;
        bool is_wide;
        const char *caption;
    } rows[] = {
        {1, 1, 6, 1, 1, false, ""},
        {2, 2, 6, 2, 2, false, ""},
        {1, 4, 6, 1, 4, true, ""},
        {5, 10, 6, 4, 8, true, "; layers 0 to 3 of 5; heads 0 to 7 of 10"},
        {1, 1, 65, 1, 1, false, "; tokens 0 to 63 of 65"},
    };
    draw(tiny, OVERRIDES(lasting("model.layers=%d", rows[_i].layers),
                         lasting("model.heads=%d", rows[_i].heads),
                         lasting("data.length=%d", rows[_i].length)));
    expect_in(script,
              lasting("layers = %d\nheads = %d\n", rows[_i].drawn_layers, rows[_i].drawn_heads));
    const rt_figure *figure = &page.figures.list[0];
    ck_assert_int_eq(figure->width > RT_FIGURE_WIDTH, rows[_i].is_wide);
    const char *caption = strstr(figure->caption, "for each key");
    ck_assert_ptr_nonnull(caption);
    ck_assert_str_eq(caption + strlen("for each key"), rows[_i].caption);
}

/* 4 heads of 2897 x 2897 are more than 2^25 numbers, 2896 are not; 1 of 2 layers is. Linear
 * attention has no maps. */
TEST_ROWS(maps_that_need_too_much_memory_or_do_not_exist_are_left_out, 0, 2)
{
    draw(tiny, _i ? OVERRIDES("model.attention=linear_elu")
                  : OVERRIDES("model.heads=4", "model.layers=1", "data.length=2897"));
    ck_assert_int_eq(page.figures.count, 0);
    ck_assert_str_eq(script, "");
}

/* Tokens replace the numbers in the first column and below the last row, for up to 20 tokens. */
TEST(maps_of_a_text_have_its_tokens_at_their_axes)
{
    put_text("a.txt", "it's it's it's it's it's it's it's it's");
    const char *file = lasting("data.file=%s", in_scratch("a.txt"));
    draw(tiny, OVERRIDES("data.task=text", "data.vocab=32", file, "model.heads=1", "model.layers=2",
                         "data.length=24", "data.eval_fraction=0", "data.mask_probability=1e-9"));
    expect_in(script, "\nnamed = 1\ntics = '(''[CLS]'' 0, ''");
    expect_in(script, "'''''''' "); /* an apostrophe in a text within a text */
    expect_in(script, " 19)'\n");
    ck_assert_ptr_null(strstr(script, " 20, "));
    expect_in(page.figures.list[0].caption, "; tokens 0 to 19 of 24");
}

/* In the label of a tic gnuplot reads % as the start of a format. */
TEST(a_token_with_a_percent_sign_is_drawn)
{
    NEEDS_PROGRAM("gnuplot");
    put_text("a.txt", "%d% of 5%! %d% of 5%! %d% of 5%! %d% of 5%!");
    const char *file = lasting("data.file=%s", in_scratch("a.txt"));
    draw(tiny, OVERRIDES("data.task=text", "data.vocab=32", file, "model.heads=1", "model.layers=1",
                         "data.length=12", "data.eval_fraction=0", "data.mask_probability=1e-9"));
    expect_ok(rt_figures_draw(&page.figures));
    ck_assert_int_ge(count_in(text_in("figures/attention.svg"),
                              "//svg:text[normalize-space(.)='%']"),
                     4);
}

/* Expects each label of a figure to lie inside it. Letters are at least 5.5 points wide, and lie
 * within 9 points of the base line above. */
static void expect_inside(const char *svg, double width, double height)
{
    static const char each[] = "//svg:g[@text-anchor][starts-with(@transform, 'translate(')]";
    const int labels = count_in(svg, each);
    ck_assert_int_gt(labels, 8);
    for (int i = 1; i <= labels; i++) {
        const char *g = lasting("(%s)[%d]", each, i);
        const char *label = value_in(
            svg, lasting("concat(%s/@text-anchor, ' ', %s/@transform, '|', normalize-space(%s))", g,
                         g, g));
        const char *text = strchr(label, '|') + 1;
        double x, y;
        ck_assert_int_eq(sscanf(label, "%*s translate(%lf,%lf)", &x, &y), 2);
        const double length = 5.5 * (double)strlen(text);
        const double before = length * (*label == 'm' ? 0.5 : *label == 'e');
        const bool upright = strstr(label, "rotate(") != NULL;
        const double across = upright ? x : y, along = upright ? y + before : x - before;
        const double last = upright ? along - length : along + length;
        ck_assert_msg(across > 9 && across < (upright ? width : height) && along >= 0 &&
                          last >= 0 && fmax(along, last) <= (upright ? height : width),
                      "%.40s is cut: it begins at %g, %g", text, x, y);
    }
}

/* Numbers; then long tokens beside many heads. */
TEST_ROWS(no_label_is_cut, 0, 2)
{
    NEEDS_PROGRAM("gnuplot");
    put_text("a.txt", "characteristically uncharacteristically characteristically "
                      "uncharacteristically characteristically uncharacteristically");
    put_text("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncharacteristically\n"
                          "uncharacteristically\n");
    const char *file = lasting("data.file=%s", in_scratch("a.txt"));
    const char *vocabulary = lasting("data.vocab_file=%s", in_scratch("vocab.txt"));
    draw(tiny,
         _i ? OVERRIDES("data.task=text", "data.vocab=32", "data.level=wordpiece", vocabulary, file,
                        "model.heads=8", "data.eval_fraction=0", "data.mask_probability=1e-9")
            : OVERRIDES("data.length=64"));
    expect_ok(rt_figures_draw(&page.figures));
    const char *svg = text_in("figures/attention.svg");
    for (int i = 0; i < page.figures.count; i++)
        if (!strcmp(page.figures.list[i].name, "attention"))
            expect_inside(svg, page.figures.list[i].width, page.figures.list[i].height);
    expect_in(text_of(svg), "\nquery\n");
    expect_in(text_of(svg), "\nkey\n");
    ck_assert_int_eq(strstr(script, "''uncharacteristically''") != NULL, _i);
}

/* The first text has one letter, and the last is shorter than the third. */
TEST(texts_of_any_length_have_the_maps_of_the_longest)
{
    put_text("a.tsv", "text\tlabel\na\tx\nbb\ty\nlongest\tx\nccc\ty\n");
    draw(lasting("[model]\nlayers = 1\ndim = 16\nheads = 2\n[train]\nbatch_size = 1\n[run]\n"
                 "threads = 1\n[data]\ntask = classify\nlevel = byte\nlength = 12\n"
                 "eval_fraction = 0\nfile = %s\n",
                 in_scratch("a.tsv")),
         NULL);
    expect_in(script, "\ntics = '(''[CLS]'' 0, ''l'' 1, ''o'' 2, ''n'' 3, ''g'' 4, ''e'' 5, ");
    expect_in(page.figures.list[0].caption, "a long evaluation sequence");
}
