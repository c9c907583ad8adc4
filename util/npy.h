#ifndef ROTOR_UTIL_NPY_H
#define ROTOR_UTIL_NPY_H

/* Headers of .npy files (NumPy). */

#include <stddef.h>

/* Start of a header: rt_npy_magic, of RT_NPY_MAGIC bytes, two of the version and, in version 1, two
 * of the size of the text that follows. */
enum { RT_NPY_HEADER = 128, RT_NPY_MAGIC = 6, RT_NPY_START = 10 };
extern const char rt_npy_magic[];

/* Writes a .npy header in native byte order, whose size does not depend on the shape: a vector of
 * `rows` numbers or, with columns > 0, a matrix. The type is NumPy's, such as "f4". */
void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns);

#endif
