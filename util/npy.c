#include "util/npy.h"

#include <stdio.h>
#include <string.h>

const char rt_npy_magic[] = "\x93NUMPY";

void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns)
{
    char text[RT_NPY_HEADER], second[24] = "";
    const int size = RT_NPY_HEADER - RT_NPY_START;
    if (columns)
        snprintf(second, sizeof second, " %zu", columns);
    const int length =
        snprintf(text, sizeof text,
                 "{'descr': '%c%s', 'fortran_order': False, 'shape': (%zu,%s), }",
                 __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>', type, rows, second);
    memset(header, ' ', RT_NPY_HEADER);
    memcpy(header, rt_npy_magic, RT_NPY_MAGIC);
    header[RT_NPY_MAGIC] = 1;
    header[RT_NPY_MAGIC + 1] = 0;
    header[8] = (unsigned char)size;
    header[9] = 0;
    memcpy(header + RT_NPY_START, text, (size_t)length);
    header[RT_NPY_HEADER - 1] = '\n';
}
