/* The figures of a learned theta from tables made by hand. */

#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/report/sections.h"

static rt_config config;
static rt_run_page page;
static char final[1 << 16], path[1 << 16];

static void end(void)
{
    rt_figures_clear(scratch);
    remove_scratch();
}

static void begin_tables(void)
{
    strcpy(final, "layer,head,i,theta,theta_initial,geometric\n");
    strcpy(path, "step,layer,head,i,theta,theta_initial\n");
}

static void add_final(const char *layer, const char *head, int pair, double theta, double start)
{
    sprintf(final + strlen(final), "%s,%s,%d,%.9g,%.9g,%.9g\n", layer, head, pair, theta, start,
            pow(10, -pair));
}

static void draw(const char *length)
{
    load_sound(&config, "[theta]\nlearn = yes\n", OVERRIDES(length));
    put_text("theta_final.csv", final);
    put_text("theta.csv", path);
    page = (rt_run_page){.folder = scratch, .config = &config};
    rt_figures_begin(&page.figures, scratch);
    expect_ok(rt_report_figures(&page));
    expect_ok(page.figures.status);
}

static const char *caption_of(const char *name)
{
    for (int i = 0; i < page.figures.count; i++)
        if (!strcmp(page.figures.list[i].name, name))
            return page.figures.list[i].caption;
    return "";
}

/* (|e^{ir theta_0}| + |e^{ir theta_0} + e^{ir/10}|) / 2, of two pairs. */
static double decay(double theta, double r)
{
    return (1 + fabs(2 * cos(r * (theta - 0.1) / 2))) / 2;
}

SUITE(.setup = make_scratch, .teardown = end)

/* Two layers of two heads of two pairs: a column for the start and one for the end of each. */
TEST_ROWS(decay_is_drawn_for_initial_and_learned_theta, 0, 3)
{
    static const double ends[] = {0.9, 1.1, 1.2, 0.7};
    static const struct {
        const char *length;
        int last;
    } rows[] = {{"data.length=20", 64}, {"data.length=50", 100}, {"data.length=500", 256}};
    begin_tables();
    for (int n = 0; n < 4; n++)
        for (int i = 0; i < 2; i++)
            add_final(n < 2 ? "0" : "1", n % 2 ? "1" : "0", i, i ? 0.1 : ends[n], i ? 0.1 : 1);
    draw(rows[_i].length);
    const char *at = text_in("figures/decay.csv");
    int r = 0;
    for (; *at; r++) {
        double got[9];
        for (int c = 0; c < 9; c++) {
            char *next;
            got[c] = strtod(at, &next);
            ck_assert_msg(next != at && *next == (c < 8 ? ',' : '\n'), "at %.30s", at);
            at = next + 1;
        }
        ck_assert_double_eq(got[0], r);
        for (int n = 0; n < 4; n++) {
            ck_assert_double_eq_tol(got[1 + 2 * n], decay(1, r), 1e-4);
            ck_assert_double_eq_tol(got[2 + 2 * n], decay(ends[n], r), 1e-4);
        }
    }
    ck_assert_int_eq(r, rows[_i].last + 1);
    expect_in(text_in("figures/decay.gp"),
              "\nrows = 1\ncolumns = 2\npanels = 2\n"
              "array initial[panels] = [' 2', ' 6']\n"
              "array learned[panels] = [' 3 5', ' 7 9']\n"
              "layers = 2\narray labels[layers] = ['layer 0', 'layer 1']\n");
    const char *caption = caption_of("decay");
    ck_assert_str_eq(caption + strlen(caption) - 22, "; a line for each head");
}

/* A start for each head is drawn for each. */
TEST(different_initial_theta_are_all_drawn)
{
    begin_tables();
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 2; i++)
            add_final("all", h ? "1" : "0", i, 0.5, h ? 0.6 : 0.7);
    draw("data.length=20");
    expect_in(text_in("figures/decay.gp"), "\nrows = 1\ncolumns = 1\npanels = 1\n"
                                           "array initial[panels] = [' 2 4']\n"
                                           "array learned[panels] = [' 3 5']\n"
                                           "layers = 1\narray labels[layers] = ['all layers']\n");
    /* -50 and 400 % of the geometric values */
    expect_in(text_in("figures/theta.gp"), "\nelsewhere = 1\nchange_tics = 100\n");
}

/* At most six panels, 32 layers, 128 thetas. */
TEST_ROWS(figures_of_many_layers_show_the_first, 0, 2)
{
    begin_tables();
    for (int l = 0; l < 33 - _i; l++) {
        add_final(lasting("%d", l), "all", 0, 1.1, 1);
        sprintf(path + strlen(path), "0,%d,all,0,1,1\n", l);
    }
    draw("data.length=20");
    expect_in(text_in("figures/decay.gp"),
              "\nrows = 3\ncolumns = 2\npanels = 6\n"
              "array initial[panels] = [' 2', ' 4', ' 6', ' 8', ' 10', ' 12']\n"
              "array learned[panels] = [' 3', ' 5', ' 7', ' 9', ' 11', ' 13']\n");
    expect_in(caption_of("decay"), "; the first 6 layers");
    expect_in(text_in("figures/theta.gp"), "\nlayers = 32\n");
    expect_in(text_in("figures/theta.gp"), ", 'layer 31']\n");
    int blocks = 0;
    for (const char *at = text_in("figures/theta.csv"); (at = strstr(at, "\n\n\n")); at += 3)
        blocks++;
    ck_assert_int_eq(blocks, 32);
    ck_assert_int_eq(strstr(caption_of("theta"), "; the first 32 layers") != NULL, _i == 0);
    ck_assert_int_eq(strstr(caption_of("change"), "; the first 32 layers") != NULL, _i == 0);
}

/* A row with an invalid pair is skipped. */
TEST(the_relative_change_is_the_largest_of_a_layer_at_each_step)
{
    begin_tables();
    strcat(path, "0,0,all,0,1,1\n0,0,all,1,0.1,0.1\n0,1,all,0,1,1\n"
                 "10,0,all,0,0.9,1\n10,0,all,1,0.13,0.1\n10,1,all,0,1.05,1\n10,1,all,x,9,1\n"
                 "20,0,all,0,1.2,1\n20,0,all,1,0.1,0.1\n20,1,all,0,1,1\n");
    draw("data.length=20");
    expect_content("figures/change.csv", "0,0,0\n10,0.3,0.05\n20,0.2,0\n");
    expect_in(text_in("figures/change.gp"), "\ntolerance = 0.2\nlayers = 2\n"
                                            "array labels[layers] = ['layer 0', 'layer 1']\n");
    ck_assert_int_eq(page.figures.count, 1);
}

/* Theta of 1 and 0.1 make 4 and 0.5 turns over the reach; they began at half and at twice of that.
 * Pair 0 of layer 1 moved by ln 1.5 and tolerates 0.1 and 0.2 more; the others have no tolerance.
 */
TEST(wavelengths_and_tolerances_are_relative_to_the_initial_theta)
{
    strcpy(final, "layer,head,i,theta,theta_initial,geometric,turns,use,tolerance_down,"
                  "tolerance_up\n0,all,0,1,0.5,1,4,0.75,,\n0,all,1,0.1,0.2,0.1,0.5,0.25,,\n"
                  "1,all,0,1.5,1,1,4,0.5,0.1,0.2\n1,all,1,0.1,0.1,0.1,0,0.5,,\n");
    strcpy(path, "");
    draw("data.length=20");
    expect_content("figures/wavelengths.csv", "0.5,0.25,1.5\n1,2,0.5\n\n\n0.375,0.25,1\n\n\n");
    expect_content("figures/tolerances.csv", "0,0.405465,0.305465,0.3\n\n\n");
    expect_in(text_in("figures/tolerances.gp"),
              "\npairs = 2\npair_tics = 1\nfarthest = 0.635738\n");
    /* 0 to 50 % of the geometric values */
    expect_in(text_in("figures/theta.gp"), "\nelsewhere = 1\nchange_tics = 10\n");
}
