#ifndef ROTOR_TESTS_CONFIG_LOADING_H
#define ROTOR_TESTS_CONFIG_LOADING_H

/* Loads configurations from texts, and compares errors. */

#include "suite.h"

#include "train/config/keys.h"

/* Overrides up to a NULL; NULL for none. */
#define OVERRIDES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Loads a source with overrides. Returns the errors, for the caller to free, or NULL if the
 * configuration is sound. */
static inline char *load_source(rt_config *config, rt_config_source source,
                                const char *const *overrides)
{
    char *errors;
    source.overrides = overrides;
    while (overrides && overrides[source.override_count])
        source.override_count++;
    const rt_status status = rt_config_load(config, &source, &errors);
    ck_assert_msg(status.code == (errors ? RT_CONFIG : RT_OK), "code %d: %s", status.code,
                  status.message);
    if (errors)
        ck_assert_msg(!strncmp(errors, status.message, strlen(status.message)),
                      "the message '%s' is not the first of the errors", status.message);
    return errors;
}

static inline char *load(rt_config *config, const char *path, const char *text,
                         const char *const *overrides)
{
    return load_source(config, (rt_config_source){.path = path, .text = text}, overrides);
}

static inline void load_sound(rt_config *config, const char *text, const char *const *overrides)
{
    char *errors = load(config, "theta.ini", text, overrides);
    ck_assert_msg(!errors, "not loaded: %s", errors);
}

static inline void expect_text(char *got, const char *expected)
{
    ck_assert_ptr_nonnull(got);
    ck_assert_msg(!strcmp(got, expected), "expected:\n%s\ngot:\n%s", expected, got);
    rt_free(got);
}

static inline void expect_errors(const char *text, const char *const *overrides,
                                 const char *expected)
{
    rt_config config;
    char *errors = load(&config, "theta.ini", text, overrides);
    ck_assert_msg(errors != NULL, "accepted, instead of: %s\n%s", expected, text);
    expect_text(errors, expected);
}

#endif
