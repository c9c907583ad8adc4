#ifndef ROTOR_TESTS_TORTURE_FORGE_H
#define ROTOR_TESTS_TORTURE_FORGE_H

/* Forgeries: changes of the files of a run. */

#include "torture/torture.h"

typedef struct forgery {
    const char *name;                   /* of the template */
    char checkpoint[TORTURE_PATH_SIZE]; /* the newest */
    bool table;                         /* it is a table that was changed */
    bool hostile_hdf5; /* its structure was changed bit by bit, with a right seal */
    const char *codes; /* of whoever opens the checkpoint */
} forgery;

/* Damages, replaces or renames the newest checkpoint, with a right seal or not. */
void forge_checkpoint(trial *t, forgery *f);

/* Changes cells, columns, lines or bytes of one of the tables. */
void forge_table(trial *t, const forgery *f);

/* Flips some bits, or overwrites bytes, or cuts, at random from a place on. */
void damage_bytes(trial *t, char *bytes, size_t *size, size_t from);

/* Damages a file; `sealed`: behind its seal, whose checksum is then corrected. */
void damage(trial *t, const char *path, bool sealed);
void seal_file(const char *path);

#endif
