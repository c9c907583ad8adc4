#include "train/encode_command.h"

#include "data/encode_file.h"
#include "train/run/opening.h"
#include "train/run/stop.h"

rt_status rt_encode_command(const rt_config *config, const rt_arguments *arguments)
{
    rt_data_options o = config->data;
    rt_opening opening;
    size_t count;
    rt_stop_on_signals();
    rt_opening_begin(&opening, &o, config, NULL, arguments->quiet);
    const rt_status status = rt_encode_file(&o, arguments->encode, &count);
    rt_opening_end(&opening);
    if (!status.code)
        printf("%s: %zu tokens\n", arguments->encode, count);
    return status;
}
