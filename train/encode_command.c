#include "train/encode_command.h"

#include "data/encode_file.h"
#include "text/durable_file.h"
#include "train/run/progress.h"
#include "train/run/stop.h"

/* The file must be none of those that the configuration names. */
static rt_status check_output(const rt_config *config, const rt_arguments *arguments)
{
    char path[RT_PATH_SIZE];
    const char *inputs[] = {arguments->config, NULL};
    rt_status status = rt_output_check(arguments->encode, arguments->overwrite, inputs);
    inputs[0] = path;
    for (int i = 0; !status.code && rt_data_file_at(&config->data, i, path); i++)
        status = rt_output_check(arguments->encode, arguments->overwrite, inputs);
    return status;
}

rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments)
{
    rt_data_options o = config->data;
    rt_opening opening;
    size_t count;
    rt_status status = check_output(config, arguments);
    if (status.code)
        return status;
    rt_stop_on_signals();
    rt_opening_begin(&opening, &o, config, NULL, arguments->quiet);
    status = rt_encode_file(&o, arguments->encode, &count);
    rt_opening_end(&opening);
    if (!status.code)
        printf("%s: %zu tokens\n", arguments->encode, count);
    return status;
}
