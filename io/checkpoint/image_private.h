#ifndef ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H

/* Shared by the files of an image: image.c, its life; image_list.c, a file that is read, and what
 * HDF5 finds in it; image_values.c, what is put into an image and read from it. */

#include "core/status.h"
#include "core/tensor.h"
#include "io/checkpoint/image.h"

#include <hdf5.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The handles of HDF5 that one call holds. A function of HDF5 that is given a failed
 * handle fails as well, so only the last of a chain is checked. */
typedef struct held {
    hid_t handles[8];
    int count;
} held;

static inline hid_t hold(held *h, hid_t handle)
{
    h->handles[h->count++] = handle;
    return handle;
}

/* False if closing one failed; then something may not have been written. */
static inline bool let_go(held *h)
{
    bool good = true;
    while (h->count > 0) {
        hid_t handle = h->handles[--h->count];
        if (handle >= 0 && H5Idec_ref(handle) < 0)
            good = false;
    }
    return good;
}

/* ---- a list in place of a file ---- */

/* The contents of an HDF5 file as a flat list of bytes. HDF5 makes it, in a child process if the
 * file is untrusted; it is read without HDF5, and nothing in it is trusted.
 *
 * An item is this header, a path, and a value. Path and value are padded with zeros to a
 * multiple of 8 bytes; numbers are those of the processor.
 *
 *   group       "/a/b", no value
 *   attribute   "/a/b@name", of a group or a data set, a single one: an integer, a number or a word
 *   data set    "/a/b/c", with its axes: numbers, bytes, or a text; of another kind, or one
 *               whose bytes are not all in the file, no value */

typedef enum rt_item_kind {
    RT_ITEM_GROUP,
    RT_ITEM_INTEGER,  /* attributes: int64_t */
    RT_ITEM_UNSIGNED, /* uint64_t */
    RT_ITEM_NUMBER,   /* double */
    RT_ITEM_WORD,     /* less than RT_ITEM_WORD_SIZE bytes */
    RT_ITEM_FLOATS,   /* data sets: float */
    RT_ITEM_DOUBLES,  /* double */
    RT_ITEM_BYTES,    /* of one axis */
    RT_ITEM_TEXT,     /* of none */
    RT_ITEM_OTHER
} rt_item_kind;

typedef struct rt_item_header {
    uint64_t kind;
    uint64_t ndim; /* more than RT_MAX_AXES: too many, or none that are simple */
    uint64_t axes[RT_MAX_AXES];
    uint64_t path_size; /* bytes without the padding, with the final zero */
    uint64_t value_size;
} rt_item_header;

enum { RT_ITEM_PATH_SIZE = 1024, RT_ITEM_WORD_SIZE = 64 };

static inline size_t rt_item_padded(uint64_t size)
{
    return (size_t)(size + 7) / 8 * 8;
}

/* The bytes of a file of `size` that a list can have. A data set has more in a file. */
static inline size_t rt_list_limit(size_t size)
{
    return size + (1 << 20);
}

/* A file in memory; `name` begins messages. */
typedef struct rt_listing {
    const char *path, *name;
    const char *without; /* a group of whose data sets no numbers are listed; NULL: all are */
    unsigned char *bytes;
    size_t size;
    bool stays; /* the file is left open, and its floating-point numbers in it: such a data set is
                   in the list without its value */
    hid_t file; /* then: to be closed before the bytes are freed */
} rt_listing;

/* The list of a file in a new block. RT_CHECKPOINT if it is no HDF5 file, or no tree of groups
 * and data sets of a reasonable size: a link to elsewhere, an object with two names, groups
 * within groups without end. The context is an rt_listing. */
rt_status rt_image_list(void *listing, unsigned char **list_new, size_t *size) RT_MUST_CHECK;

/* The file that HDF5 opens in these bytes, to be closed before they are freed; negative if they are
 * no file of HDF5. */
hid_t rt_lend_to_hdf5(unsigned char *bytes, size_t size);

/* HDF5 that cleans up at exit does again what failed before, and crashes; and errors are told
 * by the one who asked. */
void rt_prepare_hdf5(void);

/* ---- an image ---- */

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
