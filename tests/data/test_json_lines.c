/* JSON lines and compressed files: the same sequences as from plain files, and refused input. */

#include "samples.h"

#include "core/memory.h"
#include "data/text_files.h"

#include <zlib.h>

SUITE(.setup = make_scratch, .teardown = remove_scratch)

static const char *pack(const char *name, const char *text)
{
    const char *path = in_folder(name);
    gzFile file = gzopen(path, "wb");
    ck_assert(file && gzputs(file, text) == (int)strlen(text) && gzclose(file) == Z_OK);
    return path;
}

/* Documents as JSON and as a plain text with blank lines between them: a byte order mark, \r\n,
 * escapes, a pair of surrogates, an empty text, other fields with integers that are too large. */
static const char json[] =
    "\xef\xbb\xbf{\"text\": \"first document of the file, long enough\", \"id\": 1e300}\r\n"
    "{\"id\": 99999999999999999999999, \"text\": \"tab\\t, quote \\\", \\u00e9 and "
    "\\ud83d\\ude00\"}\n"
    "\n  \r\n"
    "{\"text\": \"\", \"meta\": {\"text\": \"not this one\"}}\n"
    "{\"t\\u0065xt\": \"two\\nlines, and the last document has no end of line\"}";
static const char plain[] = "first document of the file, long enough\n\n"
                            "tab\t, quote \", \xc3\xa9 and \xf0\x9f\x98\x80\n\n"
                            "two\nlines, and the last document has no end of line";

TEST_ROWS(a_line_is_a_document, 0, 6)
{
    rt_data_options o = options_with("text", "length=24 eval_fraction=0"), other = o;
    o.level = other.level = _i % 2 ? RT_LEVEL_CHAR : RT_LEVEL_BYTE;
    o.cross = other.cross = _i < 2;
    other.documents = "blank";
    other.file = write_text("plain", plain);
    o.file = _i < 4 ? write_text("a.jsonl", json) : pack("a.jsonl.gz", json);
    draw_the_same(&o, &other);
    o.eval_file = o.file;
    other.eval_file = other.file;
    draw_the_same(&o, &other);
    o.cache = in_folder("cache");
    o.cache_from = 1;
    o.threads = 3;
    draw_the_same(&o, &other);
    draw_the_same(&o, &other);
    o.file = lasting("%s*2, %s", o.file, o.file);
    other.file = lasting("%s*2, %s", other.file, other.file);
    draw_the_same(&o, &other);
}

/* The characters of a text are found in all files, of which some are JSON lines. */
TEST(plain_and_json_files_are_joined)
{
    rt_data_options o = options_with("text", "length=24 eval_fraction=0 level=char"), other = o;
    const char *first = write_text("a", "a plain text, with \xce\xb1 in it, and a"),
               *second = write_text("b.jsonl", json);
    o.file = lasting("%s,%s", first, second);
    o.documents = other.documents = "blank";
    other.file = lasting("%s,%s", write_text("c", "a plain text, with \xce\xb1 in it, and a\n\n"),
                         write_text("d", plain));
    draw_the_same(&o, &other);
}

/* More than two parts of 4 MiB, among them a document of 9 MB. */
TEST(long_documents_are_read_in_parts)
{
    rt_data_options o = options_with("text", "length=24 eval_fraction=0"), other = o;
    FILE *a = fopen(in_folder("a.jsonl"), "wb"), *b = fopen(in_folder("b"), "wb");
    ck_assert(a && b);
    for (int i = 0; i < 40; i++) {
        fputs("{\"body\": \"", a);
        for (int k = 0; k < (i == 7 ? 750000 : 9000); k++) {
            fprintf(a, "word %06d\\n", k * (i + 1) % 999983);
            fprintf(b, "word %06d\n", k * (i + 1) % 999983);
        }
        fputs("\"}\n", a);
        fputs("<end>", b);
    }
    ck_assert(!fclose(a) && !fclose(b));
    o.field = "body";
    o.file = in_folder("a.jsonl");
    other.file = in_folder("b");
    other.documents = "<end>";
    o.threads = 3;
    draw_the_same(&o, &other);
}

TEST(a_text_may_hold_a_zero_byte)
{
    rt_data_options o = options_with("text", "length=4 eval_fraction=0");
    o.objective = RT_OBJECTIVE_LM;
    o.file = write_text("a.jsonl", "{\"text\": \"a\\u0000b\"}");
    rt_data *data = source(&o);
    const rt_batch batch = evaluation_of(data, 1, 4);
    static const int bytes[] = {'a', 0, 'b'};
    for (int t = 1; t < 4; t++)
        ck_assert_int_eq(batch.ids[t] - RT_FIRST_SYMBOL, bytes[t - 1]);
}

TEST(a_malformed_line_of_text_is_refused)
{
    static const struct {
        const char *text, *message;
    } rows[] = {{"{\"text\": \"a\"}\n{\"label\": \"a\"}", ":2: has no field 'text'"},
                {"{\"text\": 3}", ":1: field 'text' must be a string; it is a number"},
                {"\n{\"text\": [\"a\"]}", ":2: field 'text' must be a string; it is an array"},
                {"[\"a\"]", ":1: must be an object, in braces"},
                {"{\"text\": \"a\"}\n\n{\"te",
                 ":3: invalid JSON: 'premature end of input near '\"te''"},
                {"{\"text\": \"a\", \"text\": \"b\"}", NULL},
                {"{\"text\": \"\\ud83d\"}", NULL},
                {"{\"text\": \"\xff\"}", NULL},
                {"{\"text\": \"a\"} {\"text\": \"b\"}", NULL},
                {"{\"text\": \"\"}\n",
                 ": data.file must hold text; the field 'text' of every line is empty"},
                {"\n\n", ": data.file must hold text; the field 'text' of every line is empty"}};
    rt_data_options o = options_with("text", "length=4 eval_fraction=0");
    for (int i = 0; i < ROWS(rows); i++) {
        o.file = write_text("a.jsonl", rows[i].text);
        if (rows[i].message)
            is_data_error(status_of(&o), o.file, rows[i].message);
        else
            is_error(status_of(&o), RT_DATA, lasting("%s:1: invalid JSON: ", o.file));
    }
}

/* Appends a file to another. */
static void append(const char *to, const char *from, size_t skipped)
{
    char bytes[4096];
    FILE *a = fopen(to, "ab"), *b = fopen(from, "rb");
    ck_assert(a && b && !fseek(b, (long)skipped, SEEK_SET));
    const size_t size = fread(bytes, 1, sizeof bytes, b);
    ck_assert(fwrite(bytes, 1, size, a) == size && !fclose(a) && !fclose(b));
}

TEST(a_damaged_compressed_file_is_refused)
{
    static const char *const tasks[][2] = {{"text", "a.txt.gz"}, {"classify", "a.tsv.gz"}};
    for (int i = 0; i < ROWS(tasks); i++) {
        rt_data_options o = options_with(tasks[i][0], "length=24");
        o.file = pack(tasks[i][1], json);
        ck_assert(!truncate(o.file, 60));
        is_error(status_of(&o), RT_DATA, ": unexpected end of file");
        o.file = write_text(tasks[i][1], "\x1f\x8b\x09 is no gzip");
        is_error(status_of(&o), RT_DATA, "unpacked bytes: unknown compression method");
        o.file = write_text(tasks[i][1], "PK\x03\x04 is no gzip");
        is_error(status_of(&o), RT_DATA, "unpacked bytes: incorrect header check");
        o.file = pack(tasks[i][1], plain);
        append(o.file, write_text("garbage", "garbage"), 0);
        is_error(status_of(&o), RT_DATA,
                 lasting("offset %zu of the unpacked bytes: incorrect header", sizeof plain - 1));
        o.file = pack(tasks[i][1], "");
        is_data_error(status_of(&o), o.file, ": data.file must hold text; the file is empty");
    }
}

/* gzip writes several members when it appends. Zeros pad the last one on a tape. */
TEST(members_of_a_compressed_file_follow_each_other)
{
    rt_data_options o = options_with("text", "length=24 eval_fraction=0"), other = o;
    o.file = pack("a.txt.gz", plain);
    append(o.file, pack("b.gz", plain), 0);
    struct stat facts;
    ck_assert(!stat(o.file, &facts) && !truncate(o.file, facts.st_size + 100000));
    other.file = lasting("%s,%s", write_text("a", plain), write_text("b", plain));
    draw_the_same(&o, &other);
    append(o.file, pack("b.gz", plain), 1);
    is_error(status_of(&o), RT_DATA, "of the unpacked bytes: incorrect header check");
}

/* The unpacked size is unknown in advance. Zeros after the compressed bytes are ignored. */
TEST(a_large_compressed_file_is_read)
{
    rt_data_options o = options_with("classify", "length=24 eval_fraction=0");
    o.file = pack("a.tsv.gz", "text\tlabel\ngood day\tp\nbad day\tn\n");
    ck_assert(!truncate(o.file, RT_FILES_LIMIT / 8));
    ck_assert_int_eq(rt_data_evaluation_rows(source(&o), 24), 2);
}

/* The error is that of the file, and not of its incomplete last line. */
TEST(a_file_truncated_while_it_is_read_is_an_error)
{
    rt_text_files text = {.key = "data.file", .field = "text"};
    rt_text_stream stream = {.text = &text};
    unsigned char bytes[1 << 16];
    size_t got;
    FILE *file = fopen(in_folder("a.jsonl"), "wb");
    ck_assert(file);
    for (int i = 0; i < 10000; i++)
        fputs("{\"text\": \"a document\"}\n", file);
    ck_assert(!fclose(file));
    expect_ok(rt_text_files_add(&text, in_folder("a.jsonl")));
    expect_ok(rt_text_read(&stream, bytes, 1, &got));
    ck_assert(!truncate(in_folder("a.jsonl"), 30001));
    is_data_error(rt_text_read(&stream, bytes, sizeof bytes, &got), in_folder("a.jsonl"),
                  ": data.file changed while it was read");
    rt_text_close(&stream);
    rt_text_files_close(&text);
}

/* Names of fields: text, text of a pair, label. */
TEST_ROWS(labelled_lines_are_the_rows_of_a_table, 0, 4)
{
    static const struct {
        const char *task, *name, *table, *json, *fields[2];
    } kinds[] = {
        {"classify",
         "a.tsv",
         "text\tlabel\ngood day\tp\nbad day\tn\nno day\tp\n",
         "{\"label\": \"p\", \"text\": \"good day\"}\n{\"text\": \"bad day\", \"label\": "
         "\"n\"}\n{\"text\": \"no day\", \"label\": \"p\"}\n",
         {"text", "label"}},
        {"classify",
         "a.tsv",
         "text\tlabel\ngood day\t1\nbad day\t0\nno day\t1\n",
         "{\"y\": 1, \"x\": \"good day\"}\n{\"x\": \"bad day\", \"y\": 0}\n"
         "{\"x\": \"no day\", \"y\": 1}",
         {"x", "y"}},
        {"classify",
         "a.csv",
         "text,text_b,label\na,bc,true\nd,ef,false\ng,hi,true\n",
         "{\"q\": \"a\", \"a\": \"bc\", \"label\": true}\n"
         "{\"q\": \"d\", \"a\": \"ef\", \"label\": false}\n"
         "{\"q\": \"g\", \"a\": \"hi\", \"label\": true}\n",
         {"q, a", "label"}},
        {"tag",
         "a.txt",
         "x\tA\nyy\tB\n\nz\tA\n\nyy\tB\n",
         "{\"w\": [\"x\", \"yy\"], \"l\": [\"A\", \"B\"]}\n{\"w\": [\"z\"], \"l\": [\"A\"]}\n"
         "{\"w\": [\"yy\"], \"l\": [\"B\"]}\n",
         {"w", "l"}}};
    rt_data_options o = options_with(kinds[_i].task, "length=24 eval_fraction=0"), other = o;
    o.field = kinds[_i].fields[0];
    o.label_field = kinds[_i].fields[1];
    o.file = write_text("a.jsonl", kinds[_i].json);
    other.file = write_text(kinds[_i].name, kinds[_i].table);
    draw_the_same(&o, &other);
    o.file = pack("b.jsonl.gz", kinds[_i].json);
    other.file = pack(lasting("%s.gz", kinds[_i].name), kinds[_i].table);
    draw_the_same(&o, &other);
    open_with_refusals(&o, 4);
    const rt_labels *one = source(&o)->labels, *two = source(&other)->labels;
    ck_assert_int_eq(one->count, two->count);
    for (int i = 0; i < one->count; i++)
        ck_assert_str_eq(one->names[i], two->names[i]);
}

/* Numbers are labels by the shortest text of the same number. */
TEST(numbers_are_labels)
{
    static const char *const labels[] = {"-1", "0.1", "10.0", "7"};
    rt_data_options o = options_with("classify", "length=8 eval_fraction=0");
    o.file = write_text("a.jsonl",
                        "{\"text\": \"a\", \"label\": 10.0}\n{\"text\": \"b\", \"label\": 1e-1}\n"
                        "{\"text\": \"c\", \"label\": -1}\n{\"text\": \"d\", \"label\": 7}");
    const rt_data *data = source(&o);
    ck_assert_int_eq(data->labels->count, ROWS(labels));
    for (int i = 0; i < ROWS(labels); i++)
        ck_assert_str_eq(data->labels->names[i], labels[i]);
}

TEST(a_malformed_labelled_line_is_refused)
{
    static const struct {
        const char *task, *text, *message;
    } rows[] = {
        {"classify", "{\"text\": \"a\"}", ":1: has no field 'label'"},
        {"classify", "{\"text\": \"\", \"label\": \"x\"}", ":1: field text is empty"},
        {"classify", "\n{\"text\": \"a\", \"label\": \"\"}", ":2: field label is empty"},
        {"classify", "{\"text\": \"a\\u0000\", \"label\": \"x\"}",
         ":1: field text has a zero byte"},
        {"classify", "{\"text\": \"a\", \"label\": null}",
         ":1: field 'label' must be a label: a string, a number, true or false; it is null"},
        {"classify", "{\"text\": \"a\", \"label\": 18446744073709551616}",
         ":1: field 'label' must be a label: a string, a number below 2^63, true or false; it is "
         "larger: write it as a string"},
        {"classify", "\n", ": has no line with a text"},
        {"tag", "{\"text\": \"a\", \"label\": [\"x\"]}",
         ":1: fields 'text' and 'label' must be arrays"},
        {"tag", "{\"text\": [\"a\", \"b\"], \"label\": [\"x\"]}",
         ":1: field 'text' has 2 values and field 'label' has 1"},
        {"tag", "{\"text\": [\"a\", 1], \"label\": [\"x\", \"y\"]}",
         ":1: field 'text' must be a string; it is a number"},
        {"tag",
         "{\"text\": [\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"], \"label\": "
         "[1e9,2e9,3e9,4e9,5e9,6e9,7e9,8e9]}",
         ":1: field label has numbers that are longer in full; write strings"},
        {"tag", "{\"text\": [], \"label\": []}", ": has no token"}};
    for (int i = 0; i < ROWS(rows); i++) {
        rt_data_options o = options_with(rows[i].task, "length=8 eval_fraction=0");
        o.file = write_text("a.jsonl", rows[i].text);
        is_data_error(status_of(&o), o.file, rows[i].message);
    }
}

TEST(fields_are_as_many_as_the_texts_of_a_row)
{
    static const char *const rows[][3] = {{"text", "a, b", "for text, and"},
                                          {"tag", "a, b", "for tag, and"},
                                          {"classify", "a, b, c",
                                           "for classify, or two for a pair"},
                                          {"classify", "a,", "for classify, or two for a pair"}};
    for (int i = 0; i < ROWS(rows); i++) {
        rt_data_options o = options_with(rows[i][0], "length=8");
        o.file = "a.jsonl";
        o.field = rows[i][1];
        is_error(status_of(&o), RT_CONFIG, rows[i][2]);
    }
}

/* Each field of a file has its own entry in the cache. */
TEST(fields_have_their_own_tokens_in_the_cache)
{
    rt_data_options o = options_with("text", "length=4 eval_fraction=0");
    o.objective = RT_OBJECTIVE_LM;
    o.file = write_text("a.jsonl", "{\"a\": \"aaaa\", \"b\": \"bbbb\"}");
    o.cache = in_folder("cache");
    o.cache_from = 1;
    static const char *const fields[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        o.field = fields[i];
        const rt_batch batch = evaluation_of(source(&o), 1, 4);
        ck_assert_int_eq(batch.ids[1] - RT_FIRST_SYMBOL, *fields[i]);
    }
}

TEST(every_allocation_may_fail)
{
    rt_data_options o = options_with("text", "length=4 eval_fraction=0 level=char");
    o.file = pack("a.jsonl.gz", json);
    open_with_refusals(&o, 8);
    rt_data_options labelled = options_with("classify", "length=8 eval_fraction=0");
    labelled.file = write_text("b.jsonl", "{\"seldom\": \"a\", \"rare\": 1}\n"
                                          "{\"seldom\": \"b\", \"rare\": 2}\n");
    labelled.field = "seldom"; /* names that nothing has used yet */
    labelled.label_field = "rare";
    open_with_refusals(&labelled, 6);
    unsigned char *bytes;
    size_t count;
    rt_code code = RT_MEMORY;
    FOR_EACH_REFUSAL(code, 2)
    {
        code = rt_text_read_whole("a key", "text", o.file, &bytes, &count).code;
        rt_free(bytes);
    }
    ck_assert_int_eq(code, RT_OK);
}
