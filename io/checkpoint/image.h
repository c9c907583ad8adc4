#ifndef ROTOR_IO_CHECKPOINT_IMAGE_H
#define ROTOR_IO_CHECKPOINT_IMAGE_H

/* An HDF5 file in memory: built there and written, or read back if its
 * checksum holds (see io/checkpoint/sealed.h). HDF5 itself never touches the disk and never
 * sees a byte that was not verified. A checksum can be forged, so the file of a stranger is
 * parsed by HDF5 in a child process. The file is an ordinary one for h5py, h5ls and
 * h5dump, and carries no times: the same content gives the same bytes.
 *
 * The first failure sticks: after it every call does nothing and every answer is
 * empty, so that a caller writes or reads its list and asks rt_image_status once.
 * A NULL image stands for an exhausted heap and may be passed anywhere.
 *
 * Paths are absolute ("/model/embeddings/weight"); the groups on the way to what is
 * put are made. Attributes belong to groups, and to datasets that have been put. A
 * failure while reading is RT_CHECKPOINT and begins with the name of the file; also for a
 * file that is not there.
 */

#include "core/status.h"
#include "core/tensor.h"
#include "text/durable_file.h"

#include <stdint.h>

typedef struct rt_image rt_image;

/* An empty image to be filled. NULL when the heap is exhausted. */
rt_image *rt_image_new(void);

/* Process in which HDF5 parses a file. APART: a child process, which must be forked before threads
 * are started (text/process.h). HERE: this process, for files that the program wrote itself. An
 * image parsed here holds the bytes of the file, one parsed apart a copy of its contents; both are
 * about the size of the file. The child, which alone has the bytes then, takes twice that.
 *
 * MODEL: apart, without the numbers below RT_OPTIMIZER_GROUP, for a use of the model or a start
 * from it. The image has their attributes and shapes, and is a third of the size. */
typedef enum rt_parse { RT_PARSE_APART, RT_PARSE_MODEL, RT_PARSE_HERE } rt_parse;
#define RT_OPTIMIZER_GROUP "/optimizer"

/* The image that a file holds; whether that went well is its status. */
rt_image *rt_image_open(const char *path, rt_parse parse);

void rt_image_close(rt_image *image);

/* Bytes that an image that was read takes; 0 of NULL. */
size_t rt_image_size(const rt_image *image);

/* Writes an image that was built with rt_image_new; as rt_sealed_write. */
rt_status rt_image_write(rt_image *image, rt_durable_file *file) RT_MUST_CHECK;

rt_status rt_image_status(const rt_image *image) RT_MUST_CHECK;
bool rt_image_failed(const rt_image *image);

/* Fails the image, with the file's name before the message. */
void rt_image_fail(rt_image *image, rt_code code, const char *format, ...) RT_PRINTF(3, 4);

/* Fails the image with an error of its content, unless that is RT_OK: RT_MEMORY, and RT_CHECKPOINT
 * for everything else. */
void rt_image_fail_as(rt_image *image, rt_status status);

/* ---- attributes ---- */

void rt_image_put_integer(rt_image *image, const char *group, const char *name, int64_t value);
void rt_image_put_unsigned(rt_image *image, const char *group, const char *name, uint64_t value);
void rt_image_put_number(rt_image *image, const char *group, const char *name, double value);
void rt_image_put_word(rt_image *image, const char *group, const char *name, const char *word);

int64_t rt_image_integer(rt_image *image, const char *group, const char *name);
uint64_t rt_image_unsigned(rt_image *image, const char *group, const char *name);
double rt_image_number(rt_image *image, const char *group, const char *name);

/* False if there is no attribute of that name, or after a failure. */
bool rt_image_has_attribute(rt_image *image, const char *group, const char *name);

/* A short text, "" after a failure. */
enum { RT_WORD_SIZE = 64 };
void rt_image_word(rt_image *image, const char *group, const char *name, char word[RT_WORD_SIZE]);

/* ---- datasets ---- */

/* Numbers in the precision of this build; on reading they are converted from the precision
 * of the file. The shape must be that of the dataset. */
void rt_image_put_reals(rt_image *image, const char *path, const real *values, rt_shape shape);
void rt_image_reals(rt_image *image, const char *path, real *values, rt_shape shape);

/* Returns the bytes of a chunk of a dataset of reals: HDF5 reads and writes it as a whole, in
 * memory of its own. */
size_t rt_image_chunk_bytes(rt_shape shape);

/* Put and get numbers in double, whatever the build. */
void rt_image_put_doubles(rt_image *image, const char *path, const double *values, rt_shape shape);
void rt_image_doubles(rt_image *image, const char *path, double *values, rt_shape shape);

/* False if there is no dataset of that path, or after a failure. */
bool rt_image_shape(rt_image *image, const char *path, rt_shape *shape);

/* A text is one string, bytes are an array of uint8. The caller frees what is read;
 * NULL after a failure. A text and the bytes have a 0 behind them in memory. */
void rt_image_put_text(rt_image *image, const char *path, const char *text);
char *rt_image_text(rt_image *image, const char *path);
void rt_image_put_bytes(rt_image *image, const char *path, const void *bytes, size_t size);
unsigned char *rt_image_bytes(rt_image *image, const char *path, size_t *size);

/* Calls `each` with the path of every dataset below a group, relative to it, in the
 * order of their names. */
typedef void rt_image_visitor(void *context, const char *path);
void rt_image_visit(rt_image *image, const char *group, rt_image_visitor *each, void *context);

#endif
