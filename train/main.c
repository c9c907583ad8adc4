#include "core/memory.h"
#include "train/arguments.h"
#include "train/config.h"
#include "train/decay.h"
#include "train/model_check.h"
#include "train/run.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Prints a text that the caller owns, and frees it. */
static rt_exit print_text(FILE *to, char *text)
{
    if (text)
        fputs(text, to);
    rt_free(text);
    return text ? RT_EXIT_DONE : RT_EXIT_FAILURE;
}

static rt_exit print_help(void)
{
    printf("%s\nconfiguration keys, with their defaults:\n\n", rt_arguments_usage());
    return print_text(stdout, rt_config_help());
}

static rt_exit check(const rt_config *config)
{
    rt_data *data = NULL;
    rt_status status = rt_data_open(&data, &config->data);
    rt_data_close(data);
    if (status.code)
        fprintf(stderr, "train: %s\n", status.message);
    else
        printf("%s: configuration and data are good\n", config->file);
    return rt_exit_of(status.code);
}

/* The exit code of a status, whose message is printed. */
static rt_exit conclude(rt_status status)
{
    if (status.code)
        fprintf(stderr, "train: %s\n", status.message);
    return rt_exit_of(status.code);
}

static rt_exit load(rt_config *config, const rt_arguments *arguments)
{
    const rt_config_source source = {.path = arguments->config,
                                     .overrides = arguments->overrides,
                                     .override_count = arguments->override_count};
    char *errors = NULL;
    rt_status status = rt_config_load(config, &source, &errors);
    if (errors)
        fputs(errors, stderr);
    else if (status.code)
        fprintf(stderr, "train: %s\n", status.message);
    rt_free(errors);
    return rt_exit_of(status.code);
}

static rt_exit obey(const rt_arguments *arguments)
{
    rt_config config;
    rt_exit code = load(&config, arguments);
    if (code)
        return code;
    if (arguments->command == RT_COMMAND_PRINT_CONFIG)
        return print_text(stdout, rt_config_print(&config));
    if (!arguments->quiet && arguments->override_count)
        print_text(stderr, rt_config_overrides(&config));
    if (arguments->command == RT_COMMAND_CHECK)
        return check(&config);
    if (arguments->command == RT_COMMAND_GRADCHECK)
        return conclude(rt_model_check(stdout, &config));
    if (arguments->command == RT_COMMAND_DECAY)
        return conclude(rt_decay_print(stdout, &config, arguments->checkpoint));
    if (arguments->command == RT_COMMAND_EVAL)
        return rt_run_evaluate(&config, arguments);
    return rt_run_train(&config, arguments);
}

/* A file that is opened while a standard stream is closed would take its place, and get what
 * is printed. */
static void occupy_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Results that could not be printed are a failure. */
static rt_exit end(rt_exit code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    fprintf(stderr, "train: the results could not be printed\n");
    return code ? code : RT_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    rt_arguments arguments;
    occupy_standard_streams();
    rt_status status = rt_arguments_parse(&arguments, argc, argv);
    if (status.code) {
        fprintf(stderr, "train: %s\n", status.message);
        return RT_EXIT_CONFIG;
    }
    if (arguments.command == RT_COMMAND_HELP)
        return end(print_help());
    if (arguments.command == RT_COMMAND_VERSION) {
        printf("rotor %s (%s)\n", ROTOR_VERSION, RT_PRECISION);
        return end(RT_EXIT_DONE);
    }
    return end(obey(&arguments));
}
