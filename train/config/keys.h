#ifndef ROTOR_TRAIN_CONFIG_KEYS_H
#define ROTOR_TRAIN_CONFIG_KEYS_H

/* All keys of the configuration as one list: keys of models/, data/ and optim/, and of a run. */

#include "train/config/config.h"
#include "util/key_value.h"

/* Returns the i-th key, in the order of sections; NULL past the last. Its offset is within
 * rt_config, so that util/key_value.h can write, copy and compare its value in a configuration. */
const rt_key *rt_key_at(int i);

/* Returns the name of the key, "section.name". */
const char *rt_key_name(int i);

bool rt_key_starts_section(int i);
bool rt_section_exists(const char *section);

/* Returns the number of the key "section.name"; -1 if there is no such key. */
int rt_key_find(const char *full_name);

/* Parses a value, or a former name of one, and sets the key. Returns false, with the reason in
 * `problem`, if the key does not accept the value: "must be a number > 0; got 'x'". The
 * configuration is unchanged then. */
bool rt_key_read(const rt_key *key, const char *value, rt_config *config, rt_writer *problem);

/* Returns whether the file, the command line or a sweep has set the key. */
bool rt_key_is_written(int key, const rt_config *config);

/* Returns whether the command line has set the key "section.name". */
bool rt_on_command_line(const rt_config *config, const char *full_name);

/* Returns whether the key has an effect: its conditions are met. */
bool rt_key_has_effect(int key, const rt_config *config);

/* Returns the file or folder that a key names and that is read; NULL if the key is of another kind,
 * has no effect or is empty. data.file and data.eval_file are lists (data/files.h). */
const char *rt_key_input(int key, const rt_config *config);

/* Returns what the evaluations of two configurations differ in ("lengths"), so that their losses
 * are not comparable; NULL if no key asks another question. Vocabularies of texts are not compared.
 */
const char *rt_config_asks_other(const rt_config *a, const rt_config *b);

/* Writes the conditions of a key: "theta.learn = yes", "position.kind = learned, t5 or shaw". */
void rt_key_report_needs(rt_writer *w, int key);

/* Writes "position.scale = 4 has no effect: it needs position.scaling other than none". If
 * position.scaling is set to such a value and has no effect itself, its own conditions are written.
 * `written` has the values as they were set. */
void rt_key_report_idle(rt_writer *w, int key, const rt_config *config, const rt_config *written);

#endif
