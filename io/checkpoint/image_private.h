#ifndef ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H

/* What the files of an image share: image.c, its life; image_put.c, what is put into one that is
 * built; image_open.c, a file that is read; image_loan.c, its bytes as a file of HDF5;
 * image_list.c, what HDF5 finds in it; image_get.c, what is read of that. */

#include "io/checkpoint/handles.h"
#include "io/checkpoint/image.h"
#include "io/checkpoint/image_list.h"

#include <limits.h>

_Static_assert((int)RT_ITEM_WORD_SIZE == (int)RT_WORD_SIZE,
               "a word of the list is one of the image");

/* A real, for HDF5. */
#ifdef RT_DOUBLE
#define RT_REAL_IN_MEMORY H5T_NATIVE_DOUBLE
#else
#define RT_REAL_IN_MEMORY H5T_NATIVE_FLOAT
#endif

/* An item of the list, in which the path and the value are. */
typedef struct rt_item {
    const char *path;
    const unsigned char *value;
    size_t size;
    uint64_t kind;
    uint64_t ndim;
    uint64_t axes[RT_MAX_AXES];
} rt_item;

struct rt_image {
    rt_status status;
    char name[NAME_MAX + 1]; /* for messages; "" if it is being built */
    hid_t file;              /* that is being built, or was parsed here; else invalid */

    /* of one that is read */
    unsigned char *bytes; /* of the file */
    unsigned char *list;
    size_t size;
    rt_item *items;         /* in the order of the list */
    const rt_item **sorted; /* by path */
    size_t count;
};

/* An image that holds nothing; the name begins messages. NULL when the heap is exhausted. */
rt_image *rt_image_of_nothing(const char *name);

/* Finds the items of the list. */
void rt_image_index(rt_image *image);

#endif
