/* --init: short commented configurations to start from. */

#include "train/commands.h"

#include "templates.h"
#include "train/folder/run_folder.h"
#include "util/durable_file.h"
#include "util/writer.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;    /* word after --init */
    const char *purpose; /* for messages */
    const char *ini;     /* contents of the file */
} templates[] = {
    {"gpt", "a decoder that continues a text", gpt_ini},
    {"classify", "an encoder that labels texts", classify_ini},
    {"tag", "an encoder that labels the words of sentences", tag_ini},
    {"mlm", "an encoder that fills in masked tokens", mlm_ini},
    {"theta", "a sweep that compares a fixed with a learned theta", theta_ini},
};

enum { TEMPLATES = sizeof templates / sizeof *templates };

rt_status rt_init_command(const rt_arguments *arguments)
{
    char names[RT_MESSAGE_SIZE] = "";
    rt_durable_file file;
    int i = 0;
    for (; i < TEMPLATES && strcmp(templates[i].name, arguments->init) != 0; i++) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", templates[i].name);
    }
    if (i == TEMPLATES)
        return rt_error(RT_CONFIG, "--init must be one of %s; got %s", names,
                        RT_QUOTED(arguments->init));
    RT_TRY(rt_output_check(arguments->config, arguments->overwrite));
    rt_status status = rt_durable_open(&file, arguments->config);
    if (!status.code)
        status = rt_durable_write(&file, templates[i].ini, strlen(templates[i].ini));
    status = rt_durable_close(&file, status);
    if (!status.code && !arguments->quiet)
        printf("%s: %s\n", arguments->config, templates[i].purpose);
    return status;
}
