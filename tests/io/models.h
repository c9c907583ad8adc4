#ifndef ROTOR_TESTS_IO_MODELS_H
#define ROTOR_TESTS_IO_MODELS_H

/* Models of librotor-io, and what a call is expected to say. */

#include "io/rotor-io.h"
#include "suite.h"

#include <string.h>

static inline void expect_refusal(rt_status status, rt_code code, const char *part)
{
    ck_assert_msg(status.code == code, "code %d, expected %d: '%s'", status.code, code,
                  status.message);
    ck_assert_msg(strstr(status.message, part) != NULL, "no '%s' in '%s'", part, status.message);
}

static inline rt_model *open_model(const char *path)
{
    rt_model *model;
    expect_ok(rt_model_open(&model, path));
    return model;
}

#endif
