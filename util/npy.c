#include "util/npy.h"

#include "util/writer.h"

#include <string.h>

const char rt_npy_magic[] = "\x93NUMPY";

void rt_npy_header(unsigned char header[RT_NPY_HEADER], const char *type, size_t rows,
                   size_t columns)
{
    const int size = RT_NPY_HEADER - RT_NPY_START;
    const char *text =
        RT_PRINTED(RT_NPY_HEADER, "{'descr': '%c%s', 'fortran_order': False, 'shape': (%zu,%s), }",
                   __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>', type, rows,
                   columns ? RT_PRINTED(24, " %zu", columns) : "");
    memset(header, ' ', RT_NPY_HEADER);
    memcpy(header, rt_npy_magic, RT_NPY_MAGIC);
    header[RT_NPY_MAGIC] = 1;
    header[RT_NPY_MAGIC + 1] = 0;
    header[8] = (unsigned char)size;
    header[9] = 0;
    memcpy(header + RT_NPY_START, text, strlen(text));
    header[RT_NPY_HEADER - 1] = '\n';
}
