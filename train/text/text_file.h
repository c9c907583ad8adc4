#ifndef ROTOR_TRAIN_TEXT_TEXT_FILE_H
#define ROTOR_TRAIN_TEXT_TEXT_FILE_H

/* The whole of a small text file, at most 16 MiB, which the caller frees (rt_free); NULL if it
 * cannot be read. */
char *rt_read_text(const char *path);

#endif
