#ifndef ROTOR_DATA_IMAGES_H
#define ROTOR_DATA_IMAGES_H

/* Images with labels, from two IDX files: images (N, S, S), gray, or (N, S, S, 3), RGB, and
 * labels (N). The file of labels has the name of the file of images with "labels-idx1" in place of
 * "images-idx3" or "images-idx4", as those of MNIST have; with a dot, "labels.idx1".
 *
 * A sequence is [CLS] and the patches of an image, row by row. The numbers of a patch are its
 * pixels, row by row, each with its channels, from -1 (black) to 1. The label is at [CLS]. The
 * length of a sequence decides the size of its image, to which the image of the file is resized. */

/* Id of every patch, and number of ids. */
enum { RT_ID_PATCH = 4, RT_IMAGE_VOCAB };

/* Resizes one channel of an image by bilinear interpolation whose triangle widens with the
 * reduction, as interpolate(mode="bilinear", antialias=True) of PyTorch does, and returns the value
 * at (x, y) of the new image, from 0 to 255. `from` is (side, side, channels). */
double rt_image_resized(const unsigned char *from, int side, int channels, int channel, int size,
                        int x, int y);

#endif
