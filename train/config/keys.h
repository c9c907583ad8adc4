#ifndef ROTOR_TRAIN_CONFIG_KEYS_H
#define ROTOR_TRAIN_CONFIG_KEYS_H

/* The keys of the configuration, for the files that read and write it. */

#include "train/config/config.h"
#include "text/writer.h"

#include <stddef.h>

typedef enum rt_key_type {
    RT_KEY_WHOLE,   /* int */
    RT_KEY_SEED,    /* uint64_t, 0 ... 2^63-1 */
    RT_KEY_NUMBER,  /* double */
    RT_KEY_YES_NO,  /* bool */
    RT_KEY_CHOICE,  /* an enumeration that counts from 0 */
    RT_KEY_LENGTHS, /* rt_lengths */
    RT_KEY_FACTORS, /* rt_factors */
    RT_KEY_TEXT     /* an array of char */
} rt_key_type;

typedef struct rt_range {
    double low, high;
    bool above, below; /* low, high themselves are excluded */
} rt_range;

/* Whether a run that is resumed may have another value: what decides its result may not, but for
 * how long it is, and the schedule of the learning rate, which a run that has taken all its steps
 * can be given anew for more of them. */
typedef enum rt_change { RT_FIXED, RT_WHEN_EXTENDED, RT_HOW_LONG, RT_MAY_DIFFER } rt_change;

typedef struct rt_key {
    const char *section;
    const char *name;
    rt_key_type type;
    size_t offset; /* in rt_config */
    size_t size;
    rt_range range;
    const char *(*word)(int value); /* of a choice; NULL past the last */
    const char *initial;
    const char *help;
    rt_change change;
    const char *needs; /* when another value has an effect, see effect.h; NULL: always */
} rt_key;

enum { RT_KEY_NAME_SIZE = 64, RT_VALUE_SIZE = RT_FILE_LIST_SIZE, RT_VALUES_SIZE = 160 };

/* The i-th key, section by section; NULL past the last. */
const rt_key *rt_key_at(int i);

/* The key's default with model.kind = decoder; NULL if it is `initial`. */
const char *rt_key_decoder_default(const rt_key *key);

bool rt_key_starts_section(int i);
bool rt_section_exists(const char *section);

/* The key's number; -1 if there is none. */
int rt_key_find(const char *section, const char *name);

/* The same for "section.name". */
int rt_key_find_full(const char *full_name);

/* Whether the key decides the result of a run: all that a resumed run may not change, and how long
 * it is. */
bool rt_key_decides(const rt_key *key);

/* "section.name" in `text`; returns it. */
const char *rt_key_full_name(const rt_key *key, char text[RT_KEY_NAME_SIZE]);

/* Whether the key is one of those names, "section.name"; NULL ends them. */
bool rt_key_is_one_of(const rt_key *key, const char *const *names);

/* What the key accepts: "from 1 to 64", "> 0 and < 1", "yes, no", "post, pre". */
const char *rt_key_values(const rt_key *key, char text[RT_VALUES_SIZE]);

/* Sets the key. False, with the reason in `problem` and the configuration unchanged, if
 * it does not accept the value: "must be a number > 0; got 'x'". */
bool rt_key_read(const rt_key *key, const char *value, rt_config *config, rt_writer *problem);

/* Gives the key the value that it has in another configuration. */
void rt_key_copy(const rt_key *key, rt_config *to, const rt_config *from);

/* The key's value as rt_key_read accepts it; returns `text`. */
const char *rt_key_write(const rt_key *key, const rt_config *config, char text[RT_VALUE_SIZE]);

#endif
