#ifndef ROTOR_DATA_IMAGES_H
#define ROTOR_DATA_IMAGES_H

/* Images with labels, from two IDX files (idx.h): images (N, S, S), gray, or (N, S, S, 3), RGB, and
 * labels (N). The file of labels has the name of the file of images with "labels-idx1" in place of
 * "images-idx3" or "images-idx4", as those of MNIST have.
 *
 * A sequence is [CLS] and the patches of an image, row by row. The numbers of a patch are its
 * pixels, row by row, each with its channels, from -1 (black) to 1. The label is at [CLS]. The
 * length of a sequence decides the size of its image, to which the image of the file is resized. */

#include "data/data.h"
#include "data/examples.h"
#include "data/idx.h"

#include "core/real.h"

/* Id of every patch, and number of ids. */
enum { RT_ID_PATCH = 4, RT_IMAGE_VOCAB };

typedef struct rt_images {
    int side, channels;
    rt_idx files[RT_PARTS]; /* images of each part; those of an evaluation follow in numbers */
} rt_images;

/* Functions of the task. Opening returns RT_DATA as rt_idx_read, and if the images are not square,
 * have another size or other channels than those of data.file or of the model, or are not as many
 * as their labels, or if a label is unknown. RT_CONFIG for another data.patch than the model's. */
rt_status rt_images_open(rt_data *data) RT_MUST_CHECK;
void rt_images_check(const rt_data_options *o, rt_rule_sink to);
void rt_images_draw(const rt_data *data, struct rt_draw draw, struct rt_sequence row);
void rt_images_free(rt_images *images);

/* Writes the path of the labels of a file of images. Returns false if its name has no
 * "images-idx3" or "images-idx4", or is too long. */
bool rt_image_labels_path(char path[RT_PATH_SIZE], const char *images);

/* Resizes one channel of an image by bilinear interpolation whose triangle widens with the
 * reduction, as interpolate(mode="bilinear", antialias=True) of PyTorch does, and returns the value
 * at (x, y) of the new image, from 0 to 255. `from` is (side, side, channels). */
double rt_image_resized(const unsigned char *from, int side, int channels, int channel, int size,
                        int x, int y);

#endif
