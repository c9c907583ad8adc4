#ifndef ROTOR_DATA_IMAGES_H
#define ROTOR_DATA_IMAGES_H

/* Images with labels, from two IDX files (idx.h): (N, S, S) gray or (N, S, S, 3) RGB, and (N). The
 * file of labels has the name of the file of images with "labels-idx1" in place of "images-idx3" or
 * "images-idx4", as those of MNIST have.
 *
 * A sequence is [CLS] and the patches of an image, row by row. The numbers of a patch are its
 * pixels, row by row, each with its channels, from -1 (black) to 1. The label is at [CLS]. */

#include "data/idx.h"
#include "data/windows.h"

#include "core/real.h"

/* Id of every patch. */
enum { RT_ID_PATCH = 4, RT_IMAGE_VOCAB };

typedef struct rt_image_file {
    rt_idx images, labels;
    size_t count;
    int side, channels;
} rt_image_file;

/* Reads a file of images and that of their labels. RT_DATA as rt_idx_read, and if the images are
 * not square, have 2 or more than 3 channels, or are not as many as the labels. */
rt_status rt_image_file_read(rt_image_file *file, const char *path) RT_MUST_CHECK;
void rt_image_file_free(rt_image_file *file);

/* Resizes an image by bilinear interpolation whose triangle widens with the reduction, as PyTorch's
 * interpolate(mode="bilinear", antialias=True) does.
 *
 *     from   (side, side, channels), 0 to 255
 *     to     (size, size, channels), -1 to 1
 *     row    scratch memory for 2 side numbers of rt_image_weights */
void rt_image_resize(const unsigned char *from, int side, int channels, real *to, int size);

#endif
