/* The reader of CSV files, on tables of rotor and untrusted ones. */

#include "util/scratch.h"

#include "util/csv.h"

static rt_csv csv;

static bool open_text(const char *text)
{
    put_text("a.csv", text);
    return rt_csv_open(&csv, scratch, "a.csv");
}

/* The cells of all rows, "a|b/c|d/"; closes the table. */
static const char *all_rows(void)
{
    static char text[4096];
    size_t used = 0;
    while (rt_csv_row(&csv))
        for (int i = 0; i < csv.columns; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%c", csv.cells[i],
                                     i + 1 < csv.columns ? '|' : '/');
    text[used] = '\0';
    expect_ok(csv.status);
    rt_csv_close(&csv);
    return text;
}

static void close_csv(void)
{
    rt_csv_close(&csv);
    remove_scratch();
}

static const struct {
    const char *text, *rows;
} tables[] = {
    {"a,b\n1,2\n3,4\n", "1|2/3|4/"},
    {"a,b\r\n1,2\r\n3,4\r\n", "1|2/3|4/"},
    {"a\n\nx\n", "/x/"},
    {"a,b\n,\n", "|/"},
    /* a crash cut the last row off */
    {"a,b\n1,2\n3,4", "1|2/"},
    {"a,b\n1,2\n3", "1|2/"},
    /* other numbers of cells */
    {"a,b\n1\n1,2,3\n1,2\n\n", "1|2/"},
    /* quotes */
    {"a,b\n\"1,2\",\"3 \"\"x\"\"\"\n", "1,2|3 \"x\"/"},
    {"a,b\n\"\",\"\"\n", "|/"},
    {"a,b\nx\"y,\"\"\"\"\n", "x\"y|\"/"},
    {"a,b\n\"1,2\n3,4\n", "3|4/"},
    {"a,b\n\"1\"x,2\n\"1\n", ""},
    {"a,b\n\"1\"x2\n", ""},
    {"\"a,1\",b\n1,2\n", "1|2/"},
};

SUITE(.setup = make_scratch, .teardown = close_csv)

TEST_ROWS(rows_are_cut_into_cells, 0, ROWS(tables))
{
    ck_assert(open_text(tables[_i].text));
    ck_assert_str_eq(all_rows(), tables[_i].rows);
}

TEST(rows_with_a_zero_byte_are_skipped)
{
    static const char text[] = "a,b\n1,2\n3\0,4\n5,6\0\n\0\n7,8\n";
    write_bytes(in_scratch("a.csv"), text, sizeof text - 1);
    ck_assert(rt_csv_open(&csv, scratch, "a.csv"));
    ck_assert_str_eq(all_rows(), "1|2/7|8/");
}

TEST(a_file_without_a_header_is_no_table)
{
    static const char *const texts[] = {"", "a,b", "\"a,b\n1,2\n"};
    for (int i = 0; i < 3; i++) {
        ck_assert(!open_text(texts[i]));
        expect_ok(csv.status);
        ck_assert(!rt_csv_row(&csv));
        ck_assert_str_eq(rt_csv_cell(&csv, "a"), "");
        rt_csv_close(&csv);
    }
    write_bytes(in_scratch("a.csv"), "a\0,b\n1,2\n", 9);
    ck_assert(!rt_csv_open(&csv, scratch, "a.csv"));
}

/* Across the 64 KiB that are read at a time. */
TEST(thousands_of_columns_and_a_cell_of_a_megabyte_are_read)
{
    enum { COLUMNS = 5000, ROWS = 30, LARGE = 1 << 20 };
    FILE *to = fopen(in_scratch("a.csv"), "w");
    for (int r = 0; r <= ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            fprintf(to, "%d%c", r * COLUMNS + c, c + 1 < COLUMNS ? ',' : '\n');
    for (int c = 0; c < COLUMNS; c++)
        fprintf(to, "%s%c", c == 7 ? "\"" : "", c + 1 < COLUMNS ? ',' : '\n');
    for (int c = 0; c < COLUMNS; c++)
        if (c == 7)
            fprintf(to, "%0*d,", (int)LARGE, 7);
        else
            fprintf(to, "%d%c", c, c + 1 < COLUMNS ? ',' : '\n');
    ck_assert_int_eq(fclose(to), 0);
    ck_assert(rt_csv_open(&csv, scratch, "a.csv"));
    ck_assert_int_eq(csv.columns, COLUMNS);
    for (int r = 1; r <= ROWS; r++) {
        int value;
        ck_assert(rt_csv_row(&csv) && rt_csv_whole(&csv, "4999", &value));
        ck_assert_int_eq(value, r * COLUMNS + 4999);
    }
    ck_assert(rt_csv_row(&csv));
    ck_assert_uint_eq(strlen(rt_csv_cell(&csv, "7")), LARGE);
    ck_assert_double_eq(rt_csv_number(&csv, "7"), 7);
    ck_assert_str_eq(rt_csv_cell(&csv, "4999"), "4999");
    ck_assert(!rt_csv_row(&csv));
    expect_ok(csv.status);
}

/* The bound is on memory, not on files. */
TEST(a_line_without_end_is_an_error)
{
    FILE *to = fopen(in_scratch("a.csv"), "w");
    fprintf(to, "a\n1\n");
    for (int i = 0; i < 17; i++)
        fprintf(to, "%0*d", 1 << 20, 0);
    ck_assert_int_eq(fclose(to), 0);
    ck_assert(rt_csv_open(&csv, scratch, "a.csv"));
    ck_assert(rt_csv_row(&csv) && !rt_csv_row(&csv));
    is_status(csv.status, RT_IO,
              lasting("%s: line 3 has more than 16777216 bytes", in_scratch("a.csv")));
}

TEST(cells_are_found_by_the_name_of_their_column)
{
    int whole = -1;
    ck_assert(open_text("step,loss,step\n7,0.25,8\n"));
    ck_assert(rt_csv_row(&csv));
    ck_assert_int_eq(rt_csv_column(&csv, "loss"), 1);
    ck_assert_int_eq(rt_csv_column(&csv, "los"), 3);
    ck_assert_str_eq(rt_csv_cell(&csv, "step"), "7");
    ck_assert_str_eq(rt_csv_cell(&csv, "none"), "");
    ck_assert_double_eq(rt_csv_number(&csv, "loss"), 0.25);
    ck_assert(isnan(rt_csv_number(&csv, "none")));
    ck_assert(rt_csv_whole(&csv, "step", &whole));
    ck_assert_int_eq(whole, 7);
    ck_assert(!rt_csv_whole(&csv, "loss", &whole) && !rt_csv_whole(&csv, "none", &whole));
    ck_assert_int_eq(whole, 7);
}

TEST(whole_numbers_are_from_0_to_the_largest)
{
    static const char *const none[] = {"-1",  "2147483648", "9999999999999999999999",
                                       "1.0", "1e2",        " 1",
                                       "1 ",  "0x1"};
    int whole = -1;
    ck_assert(open_text("a\n0\n2147483647\n"));
    ck_assert(rt_csv_row(&csv) && rt_csv_whole(&csv, "a", &whole));
    ck_assert_int_eq(whole, 0);
    ck_assert(rt_csv_row(&csv) && rt_csv_whole(&csv, "a", &whole));
    ck_assert_int_eq(whole, INT32_MAX);
    csv.columns = 1;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        csv.cells[0] = (char *)none[i];
        ck_assert_msg(!rt_csv_whole(&csv, "a", &whole), "%s was read", none[i]);
    }
}

/* Numbers written by "%.9g" are read as the same numbers, and nothing else is read. */
TEST(only_numbers_in_the_format_that_rotor_writes_are_read)
{
    static const double numbers[] = {
        0,         -0.0,     1,        -1.5, 0.1, 1e-30, 4.94065646e-324, 1.79769313e308,
        123456789, INFINITY, -INFINITY};
    static const char *const none[] = {"",    "x",   "1x",       "0x10", "1e999", "1e-999",
                                       " 1",  "1 ",  "infinity", "INF",  "+inf",  "nan(1)",
                                       "--1", "1,5", "nan",      "-nan"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char cell[32];
        snprintf(cell, sizeof cell, "%.9g", numbers[i]);
        ck_assert_msg(rt_csv_value(cell) == numbers[i], "%s is read as %g", cell,
                      rt_csv_value(cell));
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_msg(isnan(rt_csv_value(none[i])), "%s is read", none[i]);
}

TEST(written_cells_are_read_back)
{
    static const char *const cells[] = {"plain", "a,b", "\"", "\"q\"", "", "x\"y", "\xce\xb8 = 1"};
    enum { CELLS = sizeof cells / sizeof *cells };
    rt_writer w = {0};
    for (int line = 0; line < 2; line++)
        for (int i = 0; i < CELLS; i++) {
            rt_csv_put(&w, cells[i]);
            rt_writer_add(&w, i + 1 < CELLS ? "," : "\n");
        }
    ck_assert(open_text(w.bytes));
    ck_assert_int_eq(csv.columns, CELLS);
    ck_assert(rt_csv_row(&csv));
    for (int i = 0; i < CELLS; i++) {
        ck_assert_str_eq(csv.names[i], cells[i]);
        ck_assert_str_eq(csv.cells[i], cells[i]);
    }
    rt_writer_free(&w);
    rt_csv_put(&w, "two\nlines");
    ck_assert_str_eq(w.bytes, "\"two lines\"");
    rt_writer_free(&w);
}

TEST(a_folder_or_pipe_is_an_error_and_an_absent_file_is_not)
{
    ck_assert(!rt_csv_open(&csv, scratch, "none.csv"));
    expect_ok(csv.status);
    ck_assert_int_eq(mkdir(in_scratch("a.csv"), 0777), 0);
    ck_assert(!rt_csv_open(&csv, scratch, "a.csv"));
    is_status(csv.status, RT_IO, lasting("%s: not a regular file", in_scratch("a.csv")));
    rt_csv_close(&csv);
    rmdir(in_scratch("a.csv"));
    ck_assert_int_eq(mkfifo(in_scratch("a.csv"), 0666), 0);
    ck_assert(!rt_csv_open(&csv, scratch, "a.csv")); /* at once */
    ck_assert_int_eq(csv.status.code, RT_IO);
}

static rt_status read_a_row(void)
{
    const bool has_row = rt_csv_open(&csv, scratch, "a.csv") && rt_csv_row(&csv);
    const rt_status status = csv.status;
    ck_assert_int_eq(has_row, status.code == RT_OK);
    rt_csv_close(&csv);
    return status;
}

TEST(an_exhausted_heap_is_an_error_without_a_leak)
{
    put_text("a.csv", "a,b\n1,2\n");
    expect_ok_after_refusals(4, read_a_row());
}
