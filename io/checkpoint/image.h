#ifndef ROTOR_IO_CHECKPOINT_IMAGE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_H

/* An HDF5 file in memory: built and written, or read if its checksum is right
 * (io/checkpoint/checksummed.h). HDF5 never touches the disk and never sees an unverified byte.
 * Since a checksum can be forged, HDF5 parses untrusted files in a child process first. The file is
 * readable by h5py, h5ls and h5dump. It stores no times: equal content gives equal bytes.
 *
 * The first failure sticks: later calls do nothing and return empty values, so callers check
 * rt_image_status once. NULL stands for an image that could not be allocated and may be passed to
 * every function.
 *
 * Paths are absolute ("/model/embeddings/weight"). Missing groups of a path are created by the
 * functions that put. An attribute belongs to a group or to an existing dataset. A failure while
 * reading is RT_CHECKPOINT and begins with the name of the file, also if it does not exist. */

#include "core/status.h"
#include "core/tensor.h"
#include "util/durable_file.h"

#include <stdint.h>

typedef struct rt_image rt_image;

/* Creates an empty image to be filled, NULL if memory is exhausted. */
rt_image *rt_image_new(void);

/* Process in which HDF5 parses a file first. HERE: this process, for files that this program wrote.
 * APART: a child process reads all of the file, and this process then reads the same bytes. The
 * child must be forked before threads are started (util/process.h). MODEL: as APART, without the
 * numbers below RT_OPTIMIZER_GROUP, which cannot be read then, to use a model or start from it. The
 * image holds the bytes of the file. */
typedef enum rt_parse { RT_PARSE_APART, RT_PARSE_MODEL, RT_PARSE_HERE } rt_parse;
#define RT_OPTIMIZER_GROUP "/optimizer"

/* Reads a file. Errors are in the status of the image. */
rt_image *rt_image_open(const char *path, rt_parse parse);

void rt_image_close(rt_image *image);

/* Returns the size in bytes of a file that was read; 0 for NULL. */
size_t rt_image_size(const rt_image *image);

/* Writes an image from rt_image_new to an open file. Errors as rt_checksummed_write. */
rt_status rt_image_write(rt_image *image, rt_durable_file *file) RT_MUST_CHECK;

rt_status rt_image_status(const rt_image *image) RT_MUST_CHECK;
bool rt_image_failed(const rt_image *image);

/* Fails the image, unless status is RT_OK; the message gets the file's name as prefix. */
void rt_image_fail_with(rt_image *image, rt_status status);
#define rt_image_fail(image, code, ...) rt_image_fail_with(image, rt_error(code, __VA_ARGS__))

/* Fails the image with an error in its content: its code is RT_CHECKPOINT, except RT_MEMORY. */
void rt_image_fail_as(rt_image *image, rt_status status);

void rt_image_put_integer(rt_image *image, const char *group, const char *name, int64_t value);
void rt_image_put_unsigned(rt_image *image, const char *group, const char *name, uint64_t value);
void rt_image_put_number(rt_image *image, const char *group, const char *name, double value);
void rt_image_put_word(rt_image *image, const char *group, const char *name, const char *word);

int64_t rt_image_integer(rt_image *image, const char *group, const char *name);
uint64_t rt_image_unsigned(rt_image *image, const char *group, const char *name);
double rt_image_number(rt_image *image, const char *group, const char *name);

/* Returns false if the attribute is missing, or after a failure. */
bool rt_image_has_attribute(rt_image *image, const char *group, const char *name);

/* Reads a short text; "" after a failure. */
enum { RT_WORD_SIZE = 64 };
void rt_image_word(rt_image *image, const char *group, const char *name, char word[RT_WORD_SIZE]);

/* Writes and reads numbers in the precision of this build. Reading converts from the precision of
 * the file; the shapes must agree. */
void rt_image_put_reals(rt_image *image, const char *path, const real *values, rt_shape shape);
void rt_image_reals(rt_image *image, const char *path, real *values, rt_shape shape);

/* Returns the bytes of a chunk of a dataset of reals, which HDF5 reads and writes as a whole in
 * memory of its own. */
size_t rt_image_chunk_bytes(rt_shape shape);

/* Writes and reads numbers in double precision in every build. */
void rt_image_put_doubles(rt_image *image, const char *path, const double *values, rt_shape shape);
void rt_image_doubles(rt_image *image, const char *path, double *values, rt_shape shape);

/* Reads the shape of a dataset. Returns false if it is missing, or after a failure. */
bool rt_image_shape(rt_image *image, const char *path, rt_shape *shape);

/* Writes and reads a text (one string) or bytes (an array of uint8). The caller frees what is read,
 * which has a zero appended in memory; NULL after a failure. */
void rt_image_put_text(rt_image *image, const char *path, const char *text);
char *rt_image_text(rt_image *image, const char *path);
void rt_image_put_bytes(rt_image *image, const char *path, const void *bytes, size_t size);
unsigned char *rt_image_bytes(rt_image *image, const char *path, size_t *size);

/* Calls `each` for every dataset below a group in the order of names, with its path relative to the
 * group. */
typedef void rt_image_visitor(void *context, const char *path);
void rt_image_visit(rt_image *image, const char *group, rt_image_visitor *each, void *context);

#endif
