/* --init: short commented configurations to start from. In their comments, @train@, @file@ and
 * @run@ stand for the program, the file and the folder of its run, as words of a shell. */

#include "train/commands.h"

#include "core/memory.h"
#include "templates.h"
#include "train/config/sweep.h"
#include "train/folder/run_folder.h"
#include "util/durable_file.h"
#include "util/writer.h"

#include <stdio.h>
#include <string.h>

#define TEMPLATE(name, purpose) {purpose, name##_ini},
static const struct {
    const char *purpose; /* for messages */
    const char *ini;     /* contents of the file */
} templates[] = {RT_TEMPLATES(TEMPLATE)};

/* Adds a word of a shell, in quotes if it needs them. */
static void add_word(rt_writer *w, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.,+:@%/";
    const char *quote = word[strspn(word, plain)] ? "'" : "";
    rt_writer_add(w, "%s", quote);
    for (; *word; word++)
        rt_writer_add(w, *word == '\'' ? "'\\''" : "%c", (unsigned char)*word < ' ' ? '?' : *word);
    rt_writer_add(w, "%s", quote);
}

/* Writes a template for the file of --init, with the words that @train@, @file@ and @run@ stand
 * for. */
static rt_status write_template(rt_writer *w, const char *ini, const rt_arguments *arguments)
{
    rt_config config; /* names the folder of the run */
    rt_sweep sweep = {0};
    const rt_config_source source = {.path = rt_path_name(arguments->config),
                                     .text = ini,
                                     .sweep = &sweep}; /* its folder may be missing */
    size_t length;
    RT_TRY(rt_config_load(&config, &source, NULL));
    const char *run = RT_PRINTED(2 * RT_PATH_SIZE, "%s/%s", config.run.dir, config.run.name);
    for (bool is_name = false; *ini; ini += length + (ini[length] == '@'), is_name = !is_name) {
        length = strcspn(ini, "@");
        if (is_name)
            add_word(w, *ini == 't' ? arguments->argv[0] : *ini == 'f' ? arguments->config : run);
        else
            rt_writer_add(w, "%.*s", (int)length, ini);
    }
    return w->failed ? rt_out_of_memory("a configuration") : rt_ok();
}

rt_status rt_init_command(const rt_arguments *arguments)
{
    rt_durable_file file;
    RT_CLOSED_BY(rt_writer_free) rt_writer w = {0};
    RT_TRY(rt_output_check(arguments->config, arguments->overwrite));
    RT_TRY(write_template(&w, templates[arguments->init].ini, arguments));
    RT_TRY(rt_durable_open(&file, arguments->config));
    RT_TRY(rt_durable_close(&file, rt_durable_write(&file, w.bytes, w.length)));
    if (!arguments->quiet)
        printf("%s: %s\n", arguments->config, templates[arguments->init].purpose);
    return rt_ok();
}
