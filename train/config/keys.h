#ifndef ROTOR_TRAIN_CONFIG_KEYS_H
#define ROTOR_TRAIN_CONFIG_KEYS_H

/* All keys of the configuration as one list: the tables of models/, data/ and optim/ and the keys
 * of a run. */

#include "text/key_value.h"
#include "train/config/config.h"

/* Returns the i-th key, section by section; NULL past the last. Its offset is that in an rt_config,
 * so the functions of text/key_value.h write, copy and compare its value in a configuration. */
const rt_key *rt_key_at(int i);

/* Returns the name of the key, "section.name". */
const char *rt_key_name(int i);

/* Returns the default with model.kind = decoder; NULL if it is `initial`. */
const char *rt_key_decoder_default(const rt_key *key);

bool rt_key_starts_section(int i);
bool rt_section_exists(const char *section);

/* Returns the number of the key "section.name"; -1 if there is none. */
int rt_key_find(const char *full_name);

/* Returns whether the key decides the result of a run: keys that a resumed run may not change, and
 * the length of the run. */
bool rt_key_decides(const rt_key *key);

/* Sets the key, also from a former name of a value. Returns false, with the reason in `problem` and
 * the configuration unchanged, if the key does not accept the value: "must be a number > 0; got
 * 'x'". */
bool rt_key_read(const rt_key *key, const char *value, rt_config *config, rt_writer *problem);

/* Returns whether the file, the command line or a sweep has set the key. */
bool rt_key_is_written(int key, const rt_config *config);

/* ---- effect: the conditions of a key's row ---- */

/* Returns whether another value of the key would have an effect on the run. */
bool rt_key_counts(int key, const rt_config *config);

/* Writes the condition: "theta.learn = yes", "position.kind = learned, t5 or shaw". */
void rt_key_report_needs(rt_writer *w, int key);

/* Writes "position.scale = 4 has no effect: it needs position.scaling other than none". If
 * position.scaling was written with such a value and has no effect itself, its own condition is
 * named. `written` has the values that were written. */
void rt_key_report_idle(rt_writer *w, int key, const rt_config *config, const rt_config *written);

#endif
