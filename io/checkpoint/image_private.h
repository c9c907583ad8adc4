#ifndef ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_PRIVATE_H

/* Private declarations of an image: image.c (creation and writing), image_list.c (listing the
 * contents of a file by HDF5), image_values.c (reading values from the list). */

#include "core/status.h"
#include "core/tensor.h"
#include "io/checkpoint/image.h"

#include <hdf5.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Step in bytes by which memory of the HDF5 core driver grows. */
enum { RT_HDF5_GROWTH = 1 << 20 };

/* HDF5 handles to be released at the end of a call. A function of HDF5 fails if it gets a failed
 * handle, so only the last of a chain is checked. */
typedef struct hdf5_handles {
    hid_t handles[8];
    int count;
} hdf5_handles;

static inline hid_t keep_handle(hdf5_handles *h, hid_t handle)
{
    h->handles[h->count++] = handle;
    return handle;
}

/* Releases the handles. Returns false if one could not be closed; data may then be unwritten. */
static inline bool release_handles(hdf5_handles *h)
{
    bool good = true;
    while (h->count > 0) {
        hid_t handle = h->handles[--h->count];
        if (handle >= 0 && H5Idec_ref(handle) < 0)
            good = false;
    }
    return good;
}

/* The contents of an HDF5 file as a flat list of bytes. HDF5 makes the list, in a child process if
 * the file is untrusted. The list is read without HDF5, and nothing in it is trusted.
 *
 * An item is a header, a path and a value. Path and value are padded with zeros to a multiple of 8
 * bytes. Numbers are in native byte order.
 *
 *   group       "/a/b", no value
 *   attribute   "/a/b@name" of a group or dataset: one integer, number or word
 *   dataset     "/a/b/c" with its axes: numbers, bytes or a text. No value if it is of another
 *               kind or not stored completely in the file
 *
 * For a file parsed in this process numbers have no value either: they are read from the file,
 * which stays open, on demand. */

typedef enum rt_item_kind {
    RT_ITEM_GROUP,
    RT_ITEM_INTEGER,  /* attributes: int64_t */
    RT_ITEM_UNSIGNED, /* uint64_t */
    RT_ITEM_NUMBER,   /* double */
    RT_ITEM_WORD,     /* shorter than RT_WORD_SIZE */
    RT_ITEM_FLOATS,   /* datasets: float */
    RT_ITEM_DOUBLES,  /* double */
    RT_ITEM_BYTES,    /* one axis */
    RT_ITEM_TEXT,     /* no axis */
    RT_ITEM_OTHER
} rt_item_kind;

typedef struct rt_item {
    uint64_t kind;
    uint64_t ndim; /* above RT_MAX_AXES: too many axes, or a dataspace that is not simple */
    uint64_t axes[RT_MAX_AXES];
    uint64_t path_size; /* with the final zero, without padding */
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

/* Returns whether a name is free of control characters. */
static inline bool rt_item_is_printable(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 127)
            return false;
    return true;
}

/* Switches off HDF5's cleanup at exit, which would repeat failed work and crash, and its printing
 * of errors, which callers report. */
void rt_prepare_hdf5(void);

struct rt_image {
    rt_status status;
    char name[NAME_MAX + 1]; /* prefix of messages; "" while being built */
    hid_t file;              /* being built or parsed in this process; else invalid */

    /* of an image that was read */
    unsigned char *bytes; /* bytes of a file parsed in this process */
    unsigned char *list;
    size_t size;
    const rt_item **items; /* items of the list, sorted by path */
    size_t count;
};

/* Creates an image without a file; `name` is the prefix of messages. NULL if memory is exhausted.
 */
rt_image *rt_image_of_nothing(const char *name);

/* Validates the list and fills `items`. */
void rt_image_index(rt_image *image);

#endif
