#ifndef ROTOR_TESTS_TRAINING_KEY_REFERENCE_H
#define ROTOR_TESTS_TRAINING_KEY_REFERENCE_H

/* The table of all keys in docs/configuration.md. */

#include "text/key_value.h"
#include "train/config/keys.h"

/* Returns the table, which the caller frees. */
static inline char *key_reference(void)
{
    char values[RT_VALUES_SIZE];
    rt_writer w = {0};
    const rt_key *key;
    rt_writer_add(&w, "| key | default | values | meaning | needs |\n|---|---|---|---|---|\n");
    for (int i = 0; (key = rt_key_at(i)); i++) {
        const char *of_decoder = rt_key_decoder_default(key);
        rt_writer_add(&w, "| `%s` | %s%s%s | %s | %s | ", rt_key_name(i), key->initial,
                      of_decoder ? "; decoder: " : "", of_decoder ? of_decoder : "",
                      rt_key_values(key, values), key->help);
        rt_key_report_needs(&w, i);
        rt_writer_add(&w, "%s|\n", key->needs ? " " : "");
    }
    for (int i = 0; i < RT_SWEEP_SETTINGS; i++) {
        const char *const *row = rt_sweep_settings[i];
        rt_writer_add(&w, "| `%s` | %s | %s | %s | |\n", row[0], row[1], row[2], row[3]);
    }
    return rt_writer_take(&w);
}

#endif
