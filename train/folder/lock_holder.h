#ifndef ROTOR_TRAIN_FOLDER_LOCK_HOLDER_H
#define ROTOR_TRAIN_FOLDER_LOCK_HOLDER_H

/* Who holds the lock (flock) of a file or folder. */

#include <sys/types.h>

/* The id of another process that holds it; 0 if there is none to be seen: processes of other users,
 * containers and hosts are not. */
pid_t rt_lock_holder(const char *path);

#endif
