/* The report on theta for values set by hand, in double. */

#include "models/new_model.h"
#include "train/config/config_loading.h"
#include "util/scratch.h"

#include "train/run/theta.h"

/* Heads of 8 features: theta starts at 1, 0.1, 0.01, 0.001. */
static const char hand_made[] = "[model]\nlayers = 2\ndim = 16\nheads = 2\n"
                                "[theta]\nlearn = yes\n"
                                "[data]\nlength = 12\n"
                                "[optimizer]\nlr = 0.01\nschedule = constant\n"
                                "[train]\nsteps = 100\n";

static rt_config config;
static rt_transformer *model;

static void make_model_of(const char *const *overrides)
{
    load_sound(&config, hand_made, overrides);
    rt_transformer_options options = config.model;
    options.vocab = 10;
    model = new_model(&options, 1);
}

#define make_model(scope, form) make_model_of(OVERRIDES("theta.scope=" scope, "theta.form=" form))

/* Theta starts at half of base^(-2i/R). */
#define make_halved(form)                                                                          \
    make_model_of(OVERRIDES("position.scaling=linear", "position.scale=2", "theta.form=" form))

static void set_theta(int layer, int head, int pair, double theta)
{
    rt_tensor *t = model->encoding.weight ? model->encoding.weight : model->layers[layer].encoding;
    t->data[head * rt_columns(t) + pair] =
        (real)(config.model.theta.form == RT_THETA_LOG ? log(theta) : theta);
}

static void even_out_projections(void)
{
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < rt_size(model->layers[l].query.weight); i++) {
            model->layers[l].query.weight->data[i] = 1;
            model->layers[l].key.weight->data[i] = 1;
        }
}

/* The table after `steps` steps, and the verdict in its last line. */
static const char *report;

static void print_with(int steps, const rt_theta_tolerance *tolerances)
{
    rt_theta_verdict verdict;
    rt_writer w = {0};
    expect_ok(rt_theta_table(&w, model, &config, steps, tolerances));
    expect_ok(rt_theta_judge(&verdict, model, &config));
    rt_theta_report_verdict(&w, &verdict, &config);
    report = owned(rt_writer_take(&w), rt_free);
}

static const char *verdict_after(int steps)
{
    print_with(steps, NULL);
    const char *line = strstr(report, "theta: ");
    ck_assert_ptr_nonnull(line);
    return line;
}

/* Returns the table as a file, which is freed after the test. */
static const char *csv_with(const rt_theta_tolerance *tolerances)
{
    return owned(rt_theta_csv(model, &config, tolerances), rt_free);
}

static rt_theta_verdict judge(void)
{
    rt_theta_verdict verdict;
    expect_ok(rt_theta_judge(&verdict, model, &config));
    return verdict;
}

static void expect_not_in(const char *text, const char *part)
{
    ck_assert_msg(!strstr(text, part), "\"%s\" in:\n%s", part, text);
}

/* A theta is named by its layer and head, or by "all". Through the logarithm 1 comes back exactly,
 * the others nearly. In raw form nothing keeps theta above 0; a rotation the other way is no small
 * change. Row 3 leaves theta as it is. */
static const struct {
    const char *scope, *form;
    double tolerance;
    int layer, head, pair;
    double theta;
    const char *verdict;
} verdicts[] = {
    {"layer", "log", 0.2, 1, 0, 2, 0.0115,
     "0.15 (layer 1, i 2; 0.061 grid steps), max phase drift 1.1 rad over 11 positions: near"},
    {"model", "log", 0.2, 0, 0, 1, 0.13,
     "0.3 (layer all, i 1; 0.11 grid steps), max phase drift 0.33 rad over 11 positions: moved"},
    {"head", "log", 0.2, 0, 1, 3, 0.00088,
     "0.12 (layer 0, head 1, i 3; 0.056 grid steps), max phase drift 0.00132 rad over 11 "
     "positions: near"},
    {"layer", "raw", 0, 0, 0, 0, 1,
     "0 (layer 0, i 0; 0 grid steps), max phase drift 0 rad over 11 positions: near"},
    {"layer", "raw", 0.2, 0, 0, 3, -0.0001,
     "1.1 (layer 0, i 3; theta <= 0), max phase drift 0.0121 rad over 11 positions: moved"},
    {"layer", "raw", 0.2, 0, 0, 3, 0,
     "1 (layer 0, i 3; theta <= 0), max phase drift 0.011 rad over 11 positions: moved"},
};

TEST_ROWS(the_verdict_names_the_theta_with_the_largest_drift, 0, ROWS(verdicts))
{
    make_model_of(OVERRIDES(lasting("theta.scope=%s", verdicts[_i].scope),
                            lasting("theta.form=%s", verdicts[_i].form)));
    config.theta.tolerance = verdicts[_i].tolerance;
    set_theta(verdicts[_i].layer, verdicts[_i].head, verdicts[_i].pair, verdicts[_i].theta);
    if (_i == 0)
        set_theta(0, 0, 0, 0.9); /* which went less far */
    ck_assert_str_eq(verdict_after(10), lasting("theta: max relative drift %s (tolerance %.2f)\n",
                                                verdicts[_i].verdict, verdicts[_i].tolerance));
}

/* The verdict itself is about base^(-2i/R). */
TEST(the_drift_from_the_initial_theta_is_printed_beside_the_verdict)
{
    make_halved("raw");
    set_theta(1, 0, 0, 0.625);
    const char *verdict = verdict_after(10);
    expect_in(report, "theta started elsewhere: max relative drift from its "
                      "start 0.25 (layer 1, i 0; 0.097 grid steps)\n");
    ck_assert_str_eq(verdict, "theta: max relative drift 0.5 (layer 0, i 0; 0.3 grid steps), max "
                              "phase drift 5.5 rad over 11 positions: moved (tolerance 0.20)\n");
}

TEST(the_tolerance_itself_is_still_near)
{
    make_model("layer", "raw");
    set_theta(0, 0, 0, 1.25); /* both numbers are exact in binary */
    config.theta.tolerance = 0.25;
    ck_assert(judge().near);
    set_theta(0, 0, 0, 1.25 + 1e-15);
    ck_assert(!judge().near);
}

TEST(a_theta_that_is_not_finite_has_moved)
{
    make_model("layer", "raw");
    set_theta(1, 0, 1, INFINITY);
    const rt_theta_verdict verdict = judge();
    ck_assert(!verdict.near);
    ck_assert_int_eq(verdict.change.layer, 1);
    ck_assert_int_eq(verdict.change.pair, 1);
    set_theta(1, 0, 1, 0.1);
    set_theta(0, 0, 0, NAN);
    ck_assert(!judge().near);
}

/* Rows of the report with a theta that was set. ln 1.1 = 0.0953 of the 10 * 0.01 that were
 * possible, and in raw form theta itself moves. A huge number does not widen its column. */
#define USED_OF(name) "used: movement over 0.1, the most that Adam could have moved " name
static const struct {
    const char *scope, *form;
    int layer, head, pair;
    double theta;
    const char *row, *note, *cells; /* in the report, and in the file */
    int rows;
} tables[] = {
    {"layer", "log", 0, 0, 0, 1.1,
     "layer head   i     theta0      theta    drift    phase    turns    use   used\n"
     "    0  all   0          1        1.1  +0.0953    1.100    1.926  25.0%  95.3%\n",
     USED_OF("ln theta\n"), "\n0,all,0,1.1,", 8},
    {"layer", "raw", 1, 0, 1, 0.105,
     "    1  all   1        0.1      0.105  +0.0488    0.055    0.184  25.0%   5.0%\n",
     USED_OF("theta\n"), "\n1,all,1,0.105,", 8},
    {"head", "log", 1, 1, 2, 0.013, "    1    1   2       0.01      0.013  +0.2624 ",
     "    1    0   2       0.01       0.01  +0.0000 ", "\n1,1,2,0.013,", 16},
    {"model", "raw", 0, 0, 1, 1e299, "  all  all   1        0.1     1e+299   +690.8 ",
     USED_OF("theta\n"), "\nall,all,1,1e+299,", 4},
};

TEST_ROWS(the_table_has_a_row_for_every_theta, 0, ROWS(tables))
{
    int rows = -8; /* headings, the number of rows, five notes and the verdict */
    make_model_of(OVERRIDES(lasting("theta.scope=%s", tables[_i].scope),
                            lasting("theta.form=%s", tables[_i].form)));
    set_theta(tables[_i].layer, tables[_i].head, tables[_i].pair, tables[_i].theta);
    even_out_projections();
    verdict_after(10);
    expect_in(report, tables[_i].row);
    expect_in(report, tables[_i].note);
    expect_in(report, lasting("\nall %d rows of theta_final.csv\n", tables[_i].rows));
    expect_in(csv_with(NULL), tables[_i].cells);
    for (const char *at = report; *at; at += strcspn(at, "\n") + 1, rows++)
        ck_assert(rows + 1 == tables[_i].rows || strcspn(at, "\n") <= 80); /* not the verdict */
    ck_assert_int_eq(rows, tables[_i].rows);
}

/* The table has 16 of 24 rows: those that moved, the largest drift first, and then the first of the
 * others. */
TEST(a_long_table_has_the_rows_that_moved_most)
{
    rt_theta_tolerance tolerances[24] = {[23] = {0.125, 2.5}};
    make_model_of(OVERRIDES("model.layers=3", "theta.scope=head", "theta.form=raw"));
    even_out_projections();
    set_theta(2, 1, 3, 0.0015);
    set_theta(2, 0, 0, 0.25);
    set_theta(0, 1, 1, 0.1001);
    print_with(10, tolerances);
    expect_in(report, "   up\n"
                      "    2    0   0          1       0.25 ");
    expect_in(report, "\n    2    1   3      0.001     0.0015 ");
    expect_in(report, "%  0.125  2.500\n    0    1   1        0.1     0.1001 ");
    expect_in(report, "\n    1    1   1        0.1        0.1  +0.0000 ");
    expect_in(report, "\nthe 16 of 24 rows of theta_final.csv that moved most, farthest first\n");
    expect_not_in(report, "\n    1    1   2 ");
}

/* Started at half of base^(-2i/R); one of 8 was doubled and one made five times as large. */
TEST(means_and_cosine_are_those_of_the_distance_from_the_base)
{
    static const double geometric[] = {1, 0.1, 0.01, 0.001};
    double product = 0, squares = 0, geometric_squares = 0;
    make_halved("log");
    set_theta(0, 0, 1, 0.1);
    set_theta(1, 0, 3, 0.0025);
    for (int n = 0; n < 8; n++) {
        const double base = log(geometric[n % 4]);
        const double theta = base + log(n == 1 ? 1 : n == 7 ? 2.5 : 0.5);
        product += theta * base;
        squares += theta * theta;
        geometric_squares += base * base;
    }
    const rt_theta_verdict verdict = judge();
    /* six of them 0.5 away, one 0, one 1.5; from the start six 0, one 1, one 4 */
    ck_assert_double_eq_tol(verdict.mean_change, (6 * 0.5 + 0 + 1.5) / 8, 1e-12);
    ck_assert_double_eq_tol(verdict.change.value, 1.5, 1e-12);
    ck_assert_double_eq_tol(verdict.from_start.value, 4, 1e-12);
    ck_assert_double_eq_tol(verdict.phase.value, 0.5 * 11, 1e-12);
    ck_assert_double_eq_tol(verdict.cosine, product / sqrt(squares * geometric_squares), 1e-12);
    ck_assert_double_lt(verdict.cosine, 0.999);
}

/* Started at half of 0.01, which is now 0.008: 0.2 from 0.01, 0.6 from 0.005. */
TEST(the_file_has_each_number_below_its_name)
{
    static const char heading[] = "layer,head,i,theta,theta_initial,geometric,change,"
                                  "drift,grid,phase,turns,use\n";
    make_halved("raw");
    set_theta(1, 0, 2, 0.008);
    even_out_projections();
    const char *csv = csv_with(NULL);
    ck_assert(!strncmp(csv, heading, strlen(heading)));
    const char *row = strstr(csv, "\n1,all,2,");
    double got[9];
    ck_assert_ptr_nonnull(row);
    ck_assert_int_eq(sscanf(row, "\n1,all,2,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf\n", got, got + 1,
                            got + 2, got + 3, got + 4, got + 5, got + 6, got + 7, got + 8),
                     9);
    const double expected[] = {0.008,    0.005,
                               0.01,     0.2,
                               log(1.6), log(1.6) / log(10),
                               0.033,    0.008 * 11 / (8 * atan(1)),
                               0.25};
    for (int i = 0; i < 9; i++)
        ck_assert_msg(fabs(got[i] - expected[i]) < 1e-8, "column %d: %g instead of %g", i, got[i],
                      expected[i]);
}

/* Pair 3 is below 0, pair 2 began at 0, and pair 1 began below 0. */
TEST(a_number_that_does_not_exist_is_an_empty_cell)
{
    make_model("model", "raw");
    even_out_projections();
    set_theta(0, 0, 3, -0.0001);
    rt_transformer_theta_start(model)[2] = 0;
    rt_transformer_theta_start(model)[1] = -0.1;
    const char *csv = csv_with(NULL);
    expect_in(csv, "\nall,all,3,-0.0001,0.001,0.001,1.1,,,0.0121,0.000175070437,0.25\n");
    expect_in(csv, "\nall,all,2,0.01,0,0.01,0,,,0.11,0.0175070437,0.25\n");
    expect_in(csv, "\nall,all,1,0.1,-0.1,0.1,0,,,2.2,0.175070437,0.25\n");
    verdict_after(10);
    expect_in(report,
              "  all  all   3      0.001    -0.0001        -    0.012    0.000  25.0%   1.1%\n");
    ck_assert(isnan(judge().cosine));
    expect_in(report,
              "  all  all   2          0       0.01        -    0.110    0.018  25.0%  10.0%\n");
    expect_in(report, "  all  all   1       -0.1        0.1        -    2.200    0.175  25.0%");
    expect_in(report, "theta started elsewhere: max relative drift from its "
                      "start 2 (layer all, i 1; from below 0)\n");
    expect_not_in(report, "nan");
    expect_not_in(report, "inf");
}

TEST(the_notes_explain_the_units)
{
    make_model("layer", "log");
    verdict_after(10);
    expect_in(report, "\ndrift: ln(theta/theta0)\n"
                      "phase: extra rotation in radians over 11 positions\n"
                      "turns: full turns over 11 positions\n"
                      "use: share of the query and key weights that the pair rotates\n"
                      "used: movement over 0.1, the most that Adam could have moved ln theta\n");
    config.model.window = 4;
    config.model.layer_types = (rt_layer_words){2, {RT_LAYER_SLIDING, RT_LAYER_FULL}};
    verdict_after(10);
    expect_in(report, "\nturns: full turns over 3 to 11 positions, as far as a layer reaches\n");
}

TEST(tolerances_are_printed_in_the_row_of_their_theta)
{
    rt_theta_tolerance tolerances[16];
    make_model("head", "log");
    for (int n = 0; n < 16; n++)
        tolerances[n] = (rt_theta_tolerance){0.01 * n, 3 - 0.1 * n};
    print_with(10, tolerances);
    const char *row = report, *line = csv_with(tolerances);
    expect_in(line, ",use,tolerance_down,tolerance_up\n");
    for (int n = 0; n < 16; n++) {
        row = strchr(row, '\n') + 1;
        line = strchr(line, '\n') + 1;
        const char *columns =
            lasting("%% %6s %6s", lasting("%.3f", 0.01 * n), lasting("%.3f", 3 - 0.1 * n));
        const char *cells = lasting(",%.9g,%.9g\n", 0.01 * n, 3 - 0.1 * n);
        expect_in(lasting("%.*s", (int)strcspn(row, "\n"), row), columns);
        expect_in(lasting("%.*s\n", (int)strcspn(line, "\n"), line), cells);
    }
    const char *heading = strstr(report, "   down     up\n");
    ck_assert(heading && heading < strchr(report, '\n'));
}

TEST(without_adam_no_share_of_the_possible_movement_is_printed)
{
    make_model("layer", "log");
    config.optimizer.settings.rule = RT_OPTIMIZER_SGD;
    verdict_after(10);
    expect_not_in(report, "used:");
    config.optimizer.settings.rule = RT_OPTIMIZER_ADAMW;
    config.optimizer.settings.theta_lr_scale = 0;
    verdict_after(10);
    expect_not_in(report, "used:");
    make_model_of(OVERRIDES("train.freeze=theta"));
    verdict_after(10);
    expect_not_in(report, "used:");
    /* the rows of frozen layers have none, nor those of layers that joined later */
    make_model_of(OVERRIDES("train.freeze=layers.0"));
    for (int later = 0; later < 2; later++) {
        even_out_projections();
        verdict_after(10);
        expect_in(report, "used: movement over 0.1,");
        expect_in(report, "    0  all   3      0.001      0.001  +0.0000    0.000    0.002  25.0%  "
                          "    -\n    1  all   0          1          1  +0.0000    0.000    1.751  "
                          "25.0%   0.0%\n");
        make_model("layer", "log");
        rt_parameters_find(&model->parameters, "layers.0.attention.theta")->since = 5;
    }
}

TEST(a_heap_that_is_exhausted_is_reported)
{
    rt_writer w = {0};
    char *csv = NULL;
    make_model("layer", "log");
    /* two of each list, and the text of the file */
    expect_ok_after_refusals(2, rt_theta_table(&w, model, &config, 10, NULL));
    expect_ok_after_refusals(3, (csv = rt_theta_csv(model, &config, NULL)) ? rt_ok()
                                                                           : rt_out_of_memory("a"));
    rt_free(csv);
    rt_writer_free(&w);
}
