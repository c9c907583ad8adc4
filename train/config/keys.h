#ifndef ROTOR_TRAIN_CONFIG_KEYS_H
#define ROTOR_TRAIN_CONFIG_KEYS_H

/* All keys of the configuration as one list: the tables of models/, data/ and optim/ and the keys
 * of a run. */

#include "text/key_value.h"
#include "train/config/config.h"

/* Returns the i-th key, section by section; NULL past the last. */
const rt_key *rt_key_at(int i);

/* Returns the default with model.kind = decoder; NULL if it is `initial`. */
const char *rt_key_decoder_default(const rt_key *key);

bool rt_key_starts_section(int i);
bool rt_section_exists(const char *section);

/* Return the number of the key, by section and name or by "section.name"; -1 if there is none. */
int rt_key_find(const char *section, const char *name);
int rt_key_find_full(const char *full_name);

/* Returns whether the key decides the result of a run: keys that a resumed run may not change, and
 * the length of the run. */
bool rt_key_decides(const rt_key *key);

/* Sets the key. Returns false, with the reason in `problem` and the configuration unchanged, if the
 * key does not accept the value: "must be a number > 0; got 'x'". */
bool rt_key_read(const rt_key *key, const char *value, rt_config *config, rt_writer *problem);

/* Sets the key to a constant of the program, as rt_key_value_set. */
void rt_key_set(const rt_key *key, const char *value, rt_config *config);

/* Copies the value of the key from another configuration. */
void rt_key_copy(const rt_key *key, rt_config *to, const rt_config *from);

/* Returns the member of the configuration that the key sets, of the type of the key. */
const void *rt_key_member(const rt_key *key, const rt_config *config);

/* Returns whether the key has the same value in both configurations. */
bool rt_key_equal(const rt_key *key, const rt_config *a, const rt_config *b);

/* Writes the value as rt_key_read accepts it; returns `text`. */
const char *rt_key_write(const rt_key *key, const rt_config *config, char text[RT_VALUE_SIZE]);

/* ---- effect ----
 *
 * The row of a key says under which condition the key has an effect:
 *
 *     theta.learn = yes
 *     position.scaling = yarn, longrope          one of these values
 *     optimizer.schedule != constant             none of these values
 *     train.patience > 0
 *     data.eval_file =                           not set
 *     A & B | C                                  both A and B, or C
 *
 * A condition holds only if the key that it names has an effect itself. */

/* Returns whether another value of the key would have an effect on the run. */
bool rt_key_counts(int key, const rt_config *config);

/* Writes the condition: "theta.learn = yes", "position.kind = learned, t5 or shaw". */
void rt_key_report_needs(rt_writer *w, int key);

/* Writes "position.scale = 4 has no effect: it needs position.scaling other than none". If
 * position.scaling was written with such a value and has no effect itself, its own condition is
 * named. `written` has the values that were written. */
void rt_key_report_idle(rt_writer *w, int key, const rt_config *config, const rt_config *written);

/* Marks the written keys that differ from their default and have no effect, in config->idle. */
void rt_config_find_idle(rt_config *config, const rt_config *written, const rt_config *defaults);

#endif
