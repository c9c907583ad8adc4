#include "bench/options.h"

#include "text/number.h"

#include <stdint.h>
#include <string.h>

enum { MOST_THREADS = 256, LARGEST_SIZE = 1 << 26 };

/* ---- options ---- */

static const char *const engines[] = {RT_ENGINES(RT_CHOICE_WORD) NULL};
static const char *const maths[] = {RT_MATHS(RT_CHOICE_WORD) NULL};

static bool takes_value(const char *name)
{
    static const char *const all[] = {"--threads", "--seconds", "--since", "--engine", "--math"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i]))
            return true;
    return false;
}

static int choice_of(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    return -1;
}

static bool set_value(bench_options *o, const char *name, const char *text)
{
    int64_t whole;
    const int engine = choice_of(text, engines), math = choice_of(text, maths);
    if (!strcmp(name, "--engine")) {
        o->engine = (rt_engine)engine;
        return engine >= 0;
    }
    if (!strcmp(name, "--math")) {
        o->math = (rt_math)math;
        return math >= 0;
    }
    if (!strcmp(name, "--seconds"))
        return rt_number_read(text, &o->seconds) && o->seconds > 0;
    if (!strcmp(name, "--since"))
        return rt_number_read(text, &o->since) && o->since > 0;
    if (!rt_whole_read(text, &whole) || whole < 1 || whole > MOST_THREADS)
        return false;
    o->threads = (int)whole;
    return true;
}

static const char *wanted_by(const char *name)
{
    return !strcmp(name, "--engine") ? "openblas or onednn"
           : !strcmp(name, "--math") ? "float or bf16"
                                     : "a number above 0";
}

rt_status bench_options_take(bench_options *o, int *argc, char **argv)
{
    int left = 0;
    for (int i = 0; i < *argc; i++) {
        const char *name = argv[i];
        if (strncmp(name, "--", 2))
            argv[left++] = argv[i];
        else if (!strcmp(name, "--csv"))
            o->csv = true;
        else if (!strcmp(name, "--cpu"))
            o->cpu = true;
        else if (!takes_value(name))
            return rt_error(RT_CONFIG, "unknown option '%s'; bench --help lists them", name);
        else if (++i == *argc || !set_value(o, name, argv[i]))
            return rt_error(RT_CONFIG, "%s needs %s; got '%s'", name, wanted_by(name),
                            i < *argc ? argv[i] : "");
    }
    *argc = left;
    if (o->cpu && o->threads > 1)
        return rt_error(RT_CONFIG, "--cpu measures one thread; got --threads %d", o->threads);
    return rt_ok();
}

/* ---- sizes ---- */

static int place_of(const char *argument, const char *const *names)
{
    const size_t length = strcspn(argument, "=");
    int i = 0;
    while (names[i] && (strlen(names[i]) != length || strncmp(names[i], argument, length)))
        i++;
    return argument[length] && names[i] ? i : -1;
}

rt_status bench_sizes(int argc, char **argv, const char *const *names, int *values)
{
    for (int a = 0; a < argc; a++) {
        const int i = place_of(argv[a], names);
        int64_t whole;
        if (i < 0)
            return rt_error(RT_CONFIG,
                            "'%s' is no NAME=NUMBER of this benchmark; bench --help lists them",
                            argv[a]);
        if (!rt_whole_read(strchr(argv[a], '=') + 1, &whole) || whole < 1 || whole > LARGEST_SIZE)
            return rt_error(RT_CONFIG, "%s must be a whole number from 1 to %d; got '%s'", names[i],
                            LARGEST_SIZE, strchr(argv[a], '=') + 1);
        values[i] = (int)whole;
    }
    return rt_ok();
}

rt_status bench_one_thread(const bench_options *o)
{
    if (o->threads > 1)
        return rt_error(RT_CONFIG, "this benchmark has one thread; --threads is for peak and step");
    return rt_ok();
}
