/* Files of text and of ids as one run of tokens: formats, cache, mixtures, documents, refusals. */

#include "samples.h"

#include "data/encode_text.h"
#include "data/files.h"
#include "tokenizer_fixtures.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/wait.h>

enum { LENGTH = 16, ROWS = 64 };

/* Counts the files of the cache whose names end so; `path`, or NULL, takes the last of them. */
static int find_in_cache(const char *ending, char path[RT_PATH_SIZE])
{
    glob_t found;
    const char *pattern = lasting("%s/cache/*%s", scratch, ending);
    const int count = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    if (count && path)
        snprintf(path, RT_PATH_SIZE, "%s", found.gl_pathv[count - 1]);
    globfree(&found);
    return count;
}

/* Expects so many texts in the cache, and nothing that is unfinished. */
static void expect_cached(int texts)
{
    ck_assert_int_eq(find_in_cache(".npy", NULL), texts);
    ck_assert_int_eq(find_in_cache(".lock", NULL) + find_in_cache(".tmp", NULL), 0);
    ck_assert(texts || !find_in_cache(".info", NULL));
}

static rt_data_options options(const char *task, const char *name)
{
    rt_data_options o = options_with(task, "vocab=300 objective=lm cross=yes");
    o.length = LENGTH;
    o.file = in_folder(name);
    return o;
}

enum { COUNT = 500 };

static int32_t id_at(int i)
{
    return 4 + i * 7 % 290;
}

/* Ids of `width` bytes behind a header; `big` in big-endian order. */
static void write_values(const char *name, const void *header, size_t size, int width, bool big)
{
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert(file && fwrite(header, 1, size, file) == size);
    for (int i = 0; i < COUNT; i++)
        for (int b = 0; b < width; b++)
            fputc((int)((uint64_t)id_at(i) >> 8 * (big ? width - 1 - b : b) & 0xff), file);
    ck_assert_int_eq(fclose(file), 0);
}

static size_t npy(char *to, const char *type, const char *shape)
{
    const int length =
        sprintf(to + 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", type, shape);
    memcpy(to, "\x93NUMPY\1\0", 8);
    to[8] = (char)length;
    to[9] = 0;
    return (size_t)length + 10;
}

static void holds_ids(const char *name)
{
    rt_data_options o = options("tokens", name);
    o.eval_fraction = 0;
    rt_data *data = source(&o);
    const int rows = COUNT / (LENGTH - 1);
    ck_assert_int_eq(rt_data_evaluation_rows(data, LENGTH), rows);
    rt_batch batch = evaluation_of(data, rows, LENGTH);
    for (int i = 0; i < rows * LENGTH; i++)
        if (i % LENGTH)
            ck_assert_int_eq(batch.ids[i], id_at(i / LENGTH * (LENGTH - 1) + i % LENGTH - 1));
    ck_assert_int_eq(rt_data_status(data).code, RT_OK);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch, .timeout = 300)

TEST(every_format_reads_back_the_written_ids)
{
    static const struct {
        const char *type;
        int width;
        bool big;
    } types[] = {{"<u2", 2, false}, {">u2", 2, true}, {"<u4", 4, false}, {">u4", 4, true},
                 {"<i4", 4, false}, {">i4", 4, true}, {"<i8", 8, false}};
    static const struct {
        int32_t header[256];
        int size, width;
    } bins[] = {{{0}, 0, 2}, {{20240520, 1, COUNT}, 1024, 2}, {{20240801, 7, COUNT}, 1024, 4}};
    char header[1024];
    for (int i = 0; i < ROWS(bins); i++) {
        write_values("a.bin", bins[i].header, (size_t)bins[i].size, bins[i].width, false);
        holds_ids("a.bin");
    }
    for (int i = 0; i < ROWS(types); i++) {
        const size_t size = npy(header, types[i].type, "(500,)");
        write_values("a.npy", header, size, types[i].width, types[i].big);
        holds_ids("a.npy");
    }
}

/* A .bin with a magic number of llm.c is never read as ids without a header. */
TEST(files_that_are_damaged_are_named)
{
    static const struct {
        int32_t magic, version, count;
        const char *message;
    } headers[] = {
        {20240520, 2, COUNT,
         "(magic number 20240520) of version 2; rotor reads version 1 (data.file)"},
        {20240520, 0, COUNT,
         "(magic number 20240520) of version 0; rotor reads version 1 (data.file)"},
        {20240801, 1, COUNT,
         "(magic number 20240801) of version 1; rotor reads version 7 (data.file)"},
        {20240326, 3, COUNT, "the file is a model of llm.c and holds no token ids (data.file)"},
        {20240328, 2, COUNT, "the file is a tokenizer of llm.c and holds no token ids (data.file)"},
        {20240520, 1, COUNT + 1, "the header says 501 ids of 2 bytes; 1000 bytes follow it"}};
    static const struct {
        const char *type, *shape;
        int byte; /* that is 9 instead, if above 0 */
        const char *message;
    } arrays[] = {
        {"<f4", "(500,)", 0,
         "must be of uint16, uint32, int32 or int64; its type is '<f4' (data.file)"},
        {"<c16", "(500,)", 0, "its type is '<c16' (data.file)"},
        {"<u2", "(50, 10)", 0, "must have one dimension"},
        {"<u2", "()", 0, "must have one dimension"},
        {"<u2", "(501,)", 0, "the file is cut short: of 501 ids it holds 500"},
        {"<u2", "(0,)", 0, "the file holds no id"},
        {"<u2", "(500,)", 6,
         "a .npy file of version 9.0; rotor reads versions 1.0 to 3.0 (data.file)"},
        {"<u2", "(500,)", 7,
         "a .npy file of version 1.9; rotor reads versions 1.0 to 3.0 (data.file)"},
    };
    rt_data_options o = options("tokens", "a.npy"), bin = options("tokens", "a.bin");
    for (int i = 0; i < ROWS(arrays); i++) {
        char header[1024];
        const size_t size = npy(header, arrays[i].type, arrays[i].shape);
        header[arrays[i].byte] = arrays[i].byte ? 9 : header[0];
        write_values("a.npy", header, size, 2, false);
        is_error(status_of(&o), RT_DATA, arrays[i].message);
    }
    write_text("a.npy", "x");
    is_error(status_of(&o), RT_DATA, "is not a .npy file of NumPy");
    for (int i = 0; i < ROWS(headers); i++) {
        const int32_t header[256] = {headers[i].magic, headers[i].version, headers[i].count};
        write_values("a.bin", header, sizeof header, 2, false);
        is_error(status_of(&bin), RT_DATA, headers[i].message);
    }
    write_bytes(bin.file, (int32_t[]){20240520, 1, COUNT}, 12);
    is_error(status_of(&bin), RT_DATA,
             "cut short: a header of llm.c has 1024 bytes, the file has 12 (data.file)");
    write_text("a.bin", "12345");
    is_error(status_of(&bin), RT_DATA, "it has an odd number of bytes, 5 (data.file)");
    bin.vocab = 100;
    write_values("a.bin", "", 0, 2, false);
    is_error(status_of(&bin), RT_DATA,
             "must hold ids from 0 to 99 (data.vocab 100); got 102 at index 14");
}

/* Watches the opening of a source: counts the lines with some words, or meddles with the text. */
typedef struct watching {
    const char *words;
    int lines;
    bool meddles, done, keeps_time;
} watching;

static void count_line(void *context, const char *line)
{
    watching *w = context;
    w->lines += w->words && strstr(line, w->words);
}

static void set_time(const char *path, struct timespec time)
{
    const struct timespec times[2] = {time, time};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Writes other letters over the end of the text once, at the same size. */
static void meddle(void *context, const char *what, double share)
{
    watching *w = context;
    struct stat facts;
    (void)what;
    if (!w->meddles || w->done || share <= 0)
        return;
    w->done = true;
    FILE *file = fopen(in_folder("a"), "r+b");
    ck_assert(file && !fstat(fileno(file), &facts));
    fseek(file, -2000000, SEEK_END);
    for (int i = 0; i < 2000000; i++)
        fputc('Z', file);
    ck_assert_int_eq(fclose(file), 0);
    set_time(in_folder("a"), w->keeps_time ? facts.st_mtim : (struct timespec){1, 0});
}

static bool never(void *context)
{
    (void)context;
    return false;
}

/* The file holds the ids of 2 bytes, or those of 4, which are read as 2 ids each. */
TEST(a_bin_file_of_ids_of_4_bytes_is_warned_of)
{
    for (int width = 2; width <= 8; width *= 2) {
        watching c = {.words = "a .bin file without a header holds ids of 2 bytes"};
        const rt_data_watch watch = {&c, count_line, meddle, never};
        rt_data_options o = options("tokens", "a.bin");
        write_values("a.bin", "", 0, width, false);
        o.watch = &watch;
        source(&o);
        ck_assert_int_eq(c.lines, width > 2);
    }
}

TEST(a_file_that_is_replaced_or_written_again_is_an_error_of_the_next_read)
{
    static const char *const messages[] = {"was replaced or removed", "was changed",
                                           "became shorter"};
    for (int i = 0; i < 3; i++) {
        write_values("a.bin", "", 0, 2, false);
        rt_data_options o = options("tokens", "a.bin");
        rt_data *data = source(&o);
        rt_batch batch = batch_of(2, LENGTH);
        rt_data_training(data, 1, 0, 0, &batch);
        ck_assert_int_eq(rt_data_status(data).code, RT_OK);
        if (i == 0) {
            write_values("b.bin", "", 0, 2, false);
            ck_assert_int_eq(rename(in_folder("b.bin"), in_folder("a.bin")), 0);
        } else if (i == 1) {
            set_time(in_folder("a.bin"), (struct timespec){1, 0});
        } else {
            ck_assert_int_eq(truncate(in_folder("a.bin"), 2 * COUNT - 2), 0);
        }
        rt_data_training(data, 1, 1, 0, &batch);
        is_error(rt_data_status(data), RT_DATA, messages[i]);
        ck_assert_int_eq(batch.mask[0], 0);
    }
}

/* Lines that begin and end with characters of one to three bytes, and all kinds of blanks between
 * them; `seed` makes them other ones. */
static size_t write_lines(const char *name, int lines, int seed)
{
    static const char *const between[] = {"\n\n", "\r\n\r\n", "\n \n", "\t\n\n", "\r\n"};
    static const char *const start[] = {"The", "l\xc3\xa9", "7", "\"So", "\xe3\x81\x82"};
    static const char *const last[] = {"fox", "dog.", "1999", "\xe3\x80\x82", "said:\""};
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert(file != NULL);
    for (int i = 0; i < lines; i++)
        fprintf(file, "%s%d quick brown fox of line %d and a %s%s", start[i % 5], seed,
                i * 7919 % 1000, last[i / 5 % 5], between[i / 25 % 5]);
    const long size = ftell(file);
    ck_assert_int_eq(fclose(file), 0);
    return (size_t)size;
}

static void cached(rt_data_options *o, int threads)
{
    o->cache = in_folder("cache");
    o->cache_from = 1;
    o->threads = threads;
}

/* More than two parts of 4 MiB, at each level; the vocabularies of GPT-2's and LLaMA 3's kind. */
SAMPLED_ROWS(a_text_in_the_cache_has_the_tokens_that_it_has_in_memory, 0, 10, 3)
{
    static const struct {
        rt_level level;
        const char *vocabulary, *documents;
    } kinds[] = {{RT_LEVEL_BYTE, "", "none"},
                 {RT_LEVEL_CHAR, "", "none"},
                 {RT_LEVEL_BPE, TEST_SOURCES "/fixtures/bpe/gpt2/tokenizer.json", "none"},
                 {RT_LEVEL_BPE, TEST_SOURCES "/fixtures/bpe/llama3/tokenizer.json", "none"},
                 {RT_LEVEL_BPE, TEST_SOURCES "/fixtures/bpe/qwen2/tokenizer.json", "none"},
                 {RT_LEVEL_BPE, TEST_SOURCES "/fixtures/bpe/digits/tokenizer.json", "none"},
                 {RT_LEVEL_BPE, TEST_SOURCES "/fixtures/bpe/space/tokenizer.json", "none"},
                 {RT_LEVEL_CHAR, "", "line"},
                 {RT_LEVEL_BYTE, "", "blank"},
                 {RT_LEVEL_BYTE, "", "fox"}};
    rt_data_options o = options("text", "a");
    o.level = kinds[_i].level;
    o.vocab_file = lasting("%s", kinds[_i].vocabulary);
    o.documents = lasting("%s", kinds[_i].documents);
    write_lines("a", 250000, 1);
    rt_data_options other = o;
    cached(&other, 3);
    draw_the_same(&o, &other);
    expect_cached(1);
    draw_the_same(&o, &other);
    expect_cached(1);
}

typedef struct taken {
    int32_t *ids;
    size_t count;
    int parts;
} taken;

static void take_id(void *context, int32_t id)
{
    taken *t = context;
    if (!(t->count & (t->count - 1))) /* 0 or a power of two: the memory is full */
        t->ids = realloc(t->ids, (t->count ? 2 * t->count : 1) * sizeof *t->ids);
    t->ids[t->count++] = id;
}

static rt_status take_part(void *context, rt_id_list *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        take_id(context,
                ids->width == 2 ? ((const uint16_t *)ids->ids)[i] : ((const int32_t *)ids->ids)[i]);
    ((taken *)context)->parts++;
    return rt_ok();
}

/* Expects `least` parts or more with the ids of the documents, encoded one by one. */
static void expect_parts(const rt_data_options *o, const rt_vocabulary *v, int least)
{
    rt_text_files text = {.key = "data.file"};
    taken parts = {0}, whole = {0};
    rt_unknown unknown;
    size_t size, at = 0;
    const unsigned char *bytes = file_bytes(o->file, &size);
    rt_document_span span = {0, size};
    const bool cut = rt_documents_are_cut(o);
    expect_ok(rt_text_files_add(&text, o->file));
    rt_text_encoding e = {
        .text = &text, .vocabulary = v, .options = o, .take = take_part, .context = &parts};
    expect_ok(rt_text_encode(&e));
    ck_assert_int_ge(parts.parts, least);
    while (cut ? rt_document_next(o->documents, bytes, size, &at, &span) : !at++) {
        expect_ok(rt_vocabulary_encode_to(v, (const char *)bytes + span.start,
                                          span.end - span.start, o->special, take_id, &whole,
                                          &unknown));
        if (cut)
            take_id(&whole, v->special.sep);
    }
    ck_assert_uint_eq(parts.count, whole.count);
    ck_assert_mem_eq(parts.ids, whole.ids, whole.count * sizeof *whole.ids);
    free(parts.ids);
    free(whole.ids);
    rt_text_files_close(&text);
}

/* Blanks of several bytes between paragraphs are places to cut at, and change no id. */
TEST_ROWS(paragraphs_are_tokenized_in_parts, 0, 3)
{
    static const char *const kinds[] = {"gpt2", "llama3", "qwen2"};
    const char *path = lasting(TEST_SOURCES "/fixtures/bpe/%s/tokenizer.json", kinds[_i]);
    const rt_data_options o = options("text", "a");
    const size_t size = write_lines("a", 250000, 1);
    expect_parts(&o, read_vocabulary((rt_vocabulary_kind){.level = RT_LEVEL_BPE}, path),
                 (int)(size >> 22));
}

/* At the border of two parts stand a special token, a character or separators that overlap, each
 * begun 1 to 9 bytes before it. The fast set has every border, and each distance once at least. */
SAMPLED_ROWS(a_text_of_several_parts_has_the_ids_of_the_whole, 0, 72, 7)
{
    static const struct {
        rt_level level;
        const char *documents, *border;
        bool special;
    } rows[] = {
        {RT_LEVEL_BYTE, "none", "[MASK]", true},      {RT_LEVEL_CHAR, "none", "[SEP]", true},
        {RT_LEVEL_BYTE, "none", "[MASK]", false},     {RT_LEVEL_CHAR, "none", "\xe3\x80\x82", true},
        {RT_LEVEL_BYTE, "---", "a-----b", false},     {RT_LEVEL_BYTE, "line", "a\r\n\nb", false},
        {RT_LEVEL_CHAR, "blank", "a\n \n\nb", false}, {RT_LEVEL_BYTE, "fox", "afoxfoxb", false}};
    enum { PART = 1 << 22 };
    const int row = _i / 9, before = 1 + _i % 9;
    rt_data_options o = options("text", "a");
    rt_vocabulary *v;
    size_t size;
    o.documents = rows[row].documents;
    o.special = rows[row].special;
    FILE *file = fopen(o.file, "wb");
    ck_assert(file != NULL);
    fprintf(file, "fox\n\n---%*s%s and more of it", PART - before - 8, "", rows[row].border);
    ck_assert_int_eq(fclose(file), 0);
    const unsigned char *bytes = file_bytes(o.file, &size);
    expect_ok(rows[row].level == RT_LEVEL_BYTE ? rt_vocabulary_of_bytes(&v)
                                               : rt_vocabulary_of_text(&v, "a", bytes, size));
    expect_parts(&o, owned(v, release_vocabulary), 2);
}

/* The same text with another time is digested and not tokenized again. */
TEST(a_changed_text_or_tokenizer_does_not_use_the_cache)
{
    char path[RT_PATH_SIZE];
    struct stat facts, after;
    rt_data_options o = options("text", "a"), other = o;
    write_lines("a", 2000, 1);
    cached(&other, 1);
    draw_the_same(&o, &other);
    ck_assert(find_in_cache(".npy", path) == 1 && !stat(path, &facts));
    set_time(in_folder("a"), (struct timespec){1, 0});
    draw_the_same(&o, &other);
    ck_assert(!stat(path, &after) && facts.st_ino == after.st_ino);
    expect_cached(1);
    o.level = other.level = RT_LEVEL_CHAR;
    draw_the_same(&o, &other);
    expect_cached(2);
    o.documents = lasting("line");
    other.documents = lasting("line");
    draw_the_same(&o, &other);
    expect_cached(3);
    ck_assert_int_eq(stat(in_folder("a"), &facts), 0);
    write_lines("a", 2000, 2);
    set_time(in_folder("a"), (struct timespec){facts.st_mtim.tv_sec + 1, 0});
    draw_the_same(&o, &other);
    expect_cached(4);
    /* an edit in place that keeps size and time */
    ck_assert_int_eq(stat(in_folder("a"), &facts), 0);
    FILE *file = fopen(in_folder("a"), "r+b");
    ck_assert(file && fwrite("Z1Z2Z3Z4", 1, 8, file) == 8 && !fclose(file));
    set_time(in_folder("a"), facts.st_mtim);
    draw_the_same(&o, &other);
    expect_cached(5);
}

/* A byte behind which the file is cut short. */
enum { CUT = 1500 };

/* Damages a cached file without changing its time: flips a byte (30: of an unused word of the
 * header), zeros all bytes after the header, or truncates the file. */
static void damage(const char *ending, int byte, bool all)
{
    char path[RT_PATH_SIZE] = "";
    struct stat facts;
    find_in_cache(ending, path);
    FILE *file = fopen(path, "r+b");
    ck_assert(file && !fstat(fileno(file), &facts));
    const long from = all ? 128 : byte < facts.st_size ? byte : facts.st_size - 1;
    for (long i = from; i < (all ? facts.st_size : from + 1); i++) {
        fseek(file, i, SEEK_SET);
        const int was = fgetc(file);
        fseek(file, i, SEEK_SET);
        fputc(all ? 0 : was ^ 1, file);
    }
    ck_assert_int_eq(fclose(file), 0);
    set_time(path, facts.st_mtim);
    if (byte == CUT)
        ck_assert_int_eq(truncate(path, CUT), 0);
}

TEST_ROWS(a_damaged_file_of_the_cache_is_rebuilt, 0, 13)
{
    static const struct {
        const char *ending;
        int byte;
        bool all, told;
    } files[] = {{".npy", 22, false, true},        {".npy", 30, false, false},
                 {".npy", 1000, false, true},      {".npy", 90000, false, true},
                 {".npy", CUT, false, true},       {".npy", 0, true, true},
                 {".info", 1000, false, true},     {".info", 3, false, true},
                 {".info", 40, false, true},       {".digest", 2, false, false},
                 {".digest", 1000, false, false},  {".vocabulary", 0, false, false},
                 {".vocabulary", 36, false, false}};
    watching c = {.words = "are damaged: they are made again"};
    const rt_data_watch watch = {&c, count_line, meddle, never};
    rt_data_options o = options("text", "a"), other = o;
    write_lines("a", 5000, 1);
    o.level = other.level = RT_LEVEL_CHAR;
    cached(&other, 1);
    other.watch = &watch;
    draw_the_same(&o, &other);
    ck_assert_int_eq(c.lines, 0);
    damage(files[_i].ending, files[_i].byte, files[_i].all);
    draw_the_same(&o, &other);
    ck_assert_int_eq(c.lines, files[_i].told);
    draw_the_same(&o, &other);
    ck_assert_int_eq(c.lines, files[_i].told);
}

TEST_ROWS(a_text_that_changes_while_it_is_tokenized_leaves_no_tokens_of_another, 0, 2)
{
    watching m = {.meddles = true, .keeps_time = _i};
    const rt_data_watch watch = {&m, count_line, meddle, never};
    rt_data_options o = options("text", "a"), other = o;
    write_lines("a", 250000, 1);
    cached(&other, 1);
    rt_data_options meddled = other;
    meddled.watch = &watch;
    const rt_status status = status_of(&meddled);
    ck_assert(m.done);
    is_data_error(status, in_folder("a"), ": data.file changed while it was read");
    expect_cached(0);
    write_lines("a", 250000, 1);
    draw_the_same(&o, &other);
}

TEST(a_full_disk_leaves_no_file_in_the_cache)
{
    rt_data_options o = options("text", "a");
    write_lines("a", 20000, 1);
    cached(&o, 2);
    is_error(status_on_full_disk(&o, 100000), RT_IO, "File too large (data.cache = ");
    expect_cached(0);
}

TEST(processes_that_start_at_once_tokenize_once)
{
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    rt_data_options o = options("text", "a"), other = o;
    write_lines("a", 100000, 1);
    cached(&other, 1);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (!children[i])
            _exit(status_of(&other).code != RT_OK);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how;
        ck_assert_int_eq(waitpid(children[i], &how, 0), children[i]);
        ck_assert_int_eq(how, 0);
    }
    expect_cached(1);
    draw_the_same(&o, &other);
}

TEST(a_byte_that_is_not_utf8_is_named_with_its_file)
{
    const size_t size = write_lines("a", 200000, 1);
    char text[2101];
    memset(text, 'w', 2100);
    text[2100] = (char)0xff;
    write_bytes(in_folder("b"), text, sizeof text);
    rt_data_options o = options("text", "a");
    o.file = lasting("%s,%s", o.file, in_folder("b"));
    o.level = RT_LEVEL_CHAR;
    cached(&o, 2);
    ck_assert_uint_gt(size, 4 << 20);
    is_error(status_of(&o), RT_DATA,
             lasting("%s: data.level = char needs UTF-8; byte 0xff at offset 2100 is not",
                     in_folder("b")));
}

static void mix(rt_data_options *o, const char *first, const char *second)
{
    o->file = lasting("%s%s, %s%s", in_folder("a"), first, in_folder("b.bin"), second);
}

TEST(windows_of_a_mixture_come_as_often_as_the_weights_say)
{
    enum { DRAWS = 20000 };
    rt_data_options o = options("text", "a");
    int counts[2] = {0};
    write_text("a", lasting("%01000d", 0));
    uint16_t ids[COUNT];
    for (int i = 0; i < COUNT; i++)
        ids[i] = (uint16_t)(4 + i % 200);
    write_bytes(in_folder("b.bin"), ids, sizeof ids);
    mix(&o, "*3", "*1");
    rt_data *data = source(&o);
    rt_batch batch = batch_of(1, LENGTH);
    for (int i = 0; i < DRAWS; i++) {
        rt_data_training(data, 1, (uint32_t)i, 0, &batch);
        int of_text = 0;
        for (int t = 1; t < LENGTH; t++)
            of_text += batch.ids[t] == 4 + '0';
        ck_assert_msg(of_text < 3 || of_text == LENGTH - 1, "a window of two files");
        counts[of_text == LENGTH - 1]++;
    }
    ck_assert_double_lt(fabs(counts[1] / (double)DRAWS - 0.75), 0.02);
}

TEST(a_weight_out_of_range_is_refused)
{
    static const char *const wrong[] = {"*0",      "*-1",    "*0.0",    "*-0",     "*1e999",
                                        "*1e-999", "*1e308", "*1e-101", "* 1e400", "*1-2"};
    rt_data_options o = options("text", "a");
    for (int i = 0; i < ROWS(wrong); i++) {
        mix(&o, wrong[i], "");
        is_error(status_of(&o), RT_CONFIG, "a must be a number from 1e-100 to 1e+100");
    }
    mix(&o, "", "");
    o.eval_file = lasting("%s*2", in_folder("a"));
    is_error(status_of(&o), RT_CONFIG, "data.eval_file takes no weights");
}

TEST(spaces_around_the_star_of_a_weight_do_not_count)
{
    static const char *const written[] = {"*3", " *3", "* 3", "  *  3"};
    rt_data_options o = options("text", "a*b");
    for (int i = 0; i < ROWS(written); i++) {
        o.file = lasting("a.txt%s, b.txt", written[i]);
        rt_data_files files = rt_data_files_of(&o);
        ck_assert_uint_eq(files.count, 2);
        ck_assert_str_eq(files.list[0].path, "a.txt");
        ck_assert_double_eq(files.list[0].weight, 3);
        ck_assert_str_eq(files.list[1].path, "b.txt");
        rt_data_files_free(&files);
    }
    /* a star in a name is part of it */
    o = options("text", "a*b");
    write_text("a*b", lasting("%01000d", 0));
    source(&o);
    o.file = lasting("%s*2", o.file);
    source(&o);
}

TEST(each_document_ends_with_the_token_that_ends_a_text)
{
    static const struct {
        const char *documents, *text, *tokens;
    } cases[] = {{"none", "ab\n\ncd", "ab\n\ncd"},
                 {"line", "ab\n\ncd\r\ne", "ab|cd|e|"},
                 {"blank", "ab\nc\n \n\nd\n", "ab\nc|d|"},
                 {"blank", "ab\r\nc\r\n\r\nd\r\n \r\ne\r", "ab\r\nc|d|e|"},
                 {"<end>", "ab<end>c<end><end>", "ab|c|"}};
    for (int i = 0; i < ROWS(cases); i++) {
        rt_data_options o = options("text", "a");
        write_text("a", cases[i].text);
        o.documents = lasting("%s", cases[i].documents);
        o.eval_fraction = 0;
        o.length = 1 + (int)strlen(cases[i].tokens);
        rt_data *data = source(&o);
        rt_batch batch = batch_of(1, o.length);
        rt_data_evaluation(data, 0, &batch);
        for (int t = 1; t < o.length; t++) {
            const char c = cases[i].tokens[t - 1];
            ck_assert_int_eq(batch.ids[t], c == '|' ? RT_ID_SEP : 4 + (unsigned char)c);
        }
    }
}

/* Documents of one letter each, shorter and longer than a window. */
TEST(no_sequence_crosses_the_end_of_a_document)
{
    static char text[4000];
    size_t size = 0;
    rt_data_options o = options("text", "a");
    for (int i = 0; size + 60 < sizeof text; i++) {
        memset(text + size, 'a' + i % 26, (size_t)(1 + i * 11 % 50));
        size += (size_t)(1 + i * 11 % 50);
        text[size++] = '\n';
    }
    write_bytes(in_folder("a"), text, size);
    o.documents = lasting("line");
    o.cross = false;
    rt_data *data = source(&o);
    rt_batch batch = batch_of(ROWS, LENGTH);
    int short_rows = 0, full_rows = 0;
    ck_assert(data->varies);
    for (uint32_t step = 0; step < 40; step++) {
        if (step % 4)
            rt_data_training(data, 1, step, 0, &batch);
        else
            rt_data_evaluation(data, step * ROWS, &batch);
        for (int r = 0; r < ROWS; r++) {
            const int32_t *ids = batch.ids + r * LENGTH;
            int t = 2;
            ck_assert_int_eq(ids[0], RT_ID_CLS);
            while (t < LENGTH && ids[t] == ids[1])
                t++;
            if (t < LENGTH && ids[t] == RT_ID_SEP)
                t++;
            short_rows += t < LENGTH;
            full_rows += t == LENGTH;
            for (; t < LENGTH; t++) {
                ck_assert_int_eq(ids[t], RT_ID_PAD);
                ck_assert_int_eq(batch.mask[r * LENGTH + t], 0);
                ck_assert_int_eq(batch.labels[r * LENGTH + t], RT_NO_LABEL);
            }
        }
    }
    ck_assert_int_gt(short_rows, 100);
    ck_assert_int_gt(full_rows, 100);
}

TEST(a_text_that_was_written_as_ids_has_the_same_sequences)
{
    static const char *const names[] = {"o.npy", "o.bin", "o.h5"};
    size_t count;
    rt_data_options o = options("text", "a");
    const size_t bytes = write_lines("a", 300, 1);
    for (int i = 0; i < 3; i++) {
        rt_data_options other = options("text", names[i]);
        expect_ok(rt_encode_file(&o, in_folder(names[i]), &count));
        ck_assert_uint_eq(count, bytes);
        if (i == 2)
            other.file = lasting("%s:/train", other.file);
        draw_the_same(&o, &other);
    }
    ck_assert_int_eq(rt_encode_file(&o, in_folder("o.txt"), &count).code, RT_CONFIG);
    ck_assert_int_ne(access(in_folder("o.txt"), F_OK), 0);
}
