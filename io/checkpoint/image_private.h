#ifndef ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H

/* Shared by the files of an image: image.c, its life and what is put into it; image_list.c, what
 * HDF5 finds in a file that is read; image_values.c, what is read from that. */

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
 * An item is a header, a path, and a value. Path and value are padded with zeros to a multiple of 8
 * bytes; numbers are those of the processor.
 *
 *   group       "/a/b", no value
 *   attribute   "/a/b@name", of a group or a data set, a single one: an integer, a number or a word
 *   data set    "/a/b/c", with its axes: numbers, bytes, or a text; of another kind, or one
 *               whose bytes are not all in the file, no value
 *
 * Of a file that HDF5 parses in this process numbers have no value either: they are read from the
 * file, which stays open, when they are asked for. */

typedef enum rt_item_kind {
    RT_ITEM_GROUP,
    RT_ITEM_INTEGER,  /* attributes: int64_t */
    RT_ITEM_UNSIGNED, /* uint64_t */
    RT_ITEM_NUMBER,   /* double */
    RT_ITEM_WORD,     /* less than RT_WORD_SIZE bytes */
    RT_ITEM_FLOATS,   /* data sets: float */
    RT_ITEM_DOUBLES,  /* double */
    RT_ITEM_BYTES,    /* of one axis */
    RT_ITEM_TEXT,     /* of none */
    RT_ITEM_OTHER
} rt_item_kind;

typedef struct rt_item {
    uint64_t kind;
    uint64_t ndim; /* more than RT_MAX_AXES: too many, or none that are simple */
    uint64_t axes[RT_MAX_AXES];
    uint64_t path_size; /* bytes without the padding, with the final zero */
    uint64_t value_size;
} rt_item;

enum { RT_ITEM_PATH_SIZE = 1024 };

static inline size_t rt_item_padded(uint64_t size)
{
    return (size_t)(size + 7) / 8 * 8;
}

static inline const char *rt_item_path(const rt_item *item)
{
    return (const char *)(item + 1);
}

static inline const void *rt_item_value(const rt_item *item)
{
    return rt_item_path(item) + rt_item_padded(item->path_size);
}

/* Returns whether a name holds no character that would control a terminal. */
static inline bool rt_item_is_printable(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 127)
            return false;
    return true;
}

/* HDF5 that cleans up at exit does again what failed before, and crashes; and errors are told
 * by the one who asked. */
void rt_prepare_hdf5(void);

/* ---- an image ---- */

struct rt_image {
    rt_status status;
    char name[NAME_MAX + 1]; /* for messages; "" if it is being built */
    hid_t file;              /* that is being built, or was parsed here; else invalid */

    /* of one that is read */
    unsigned char *bytes; /* of the file, if it was parsed here */
    unsigned char *list;
    size_t size;
    const rt_item **items; /* of the list, by path */
    size_t count;
};

/* An image that holds nothing; the name begins messages. NULL when the heap is exhausted. */
rt_image *rt_image_of_nothing(const char *name);

/* Finds the items of the list. */
void rt_image_index(rt_image *image);

#endif
