#ifndef ROTOR_TRAIN_FOLDER_EVENT_FILE_H
#define ROTOR_TRAIN_FOLDER_EVENT_FILE_H

/* A file of scalars for TensorBoard: records of a length, a protocol buffers message
 * (tensorflow.Event), and a CRC-32C of each. A truncated file keeps its complete records. */

#include "core/path.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Name of the folder of event files in a run folder. */
#define RT_EVENTS_FOLDER "tensorboard"

typedef struct rt_scalar {
    const char *tag; /* at most 63 bytes */
    double value;    /* stored as a float; omitted if not finite */
} rt_scalar;

typedef struct rt_event_file {
    FILE *file;
    bool failed; /* a record could not be written */
} rt_event_file;

/* Creates the folder and a new events.out.tfevents.SECONDS.HOST.PID.N in it, for steps after
 * `finished_steps`: a reader drops such steps of earlier files. Returns RT_IO if the file cannot be
 * created, RT_CONFIG if the path is too long. */
rt_status rt_event_file_open(rt_event_file *f, const char *folder,
                             int64_t finished_steps) RT_MUST_CHECK;

/* Adds a record with at most RT_MOST_SCALARS values of a step, and flushes the file. */
enum { RT_MOST_SCALARS = 16 };
void rt_event_file_add(rt_event_file *f, int64_t step, const rt_scalar *values, int count);

/* Closes the file if it is open. */
void rt_event_file_close(rt_event_file *f);

/* Removes the event files of a folder, and the folder if it is then empty. */
void rt_event_files_clear(const char *folder);

#endif
