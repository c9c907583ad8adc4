#include "core/memory.h"
#include "core/path.h"
#include "data/child.h"
#include "train/checkpoint/image_private.h"
#include "train/checkpoint/sealed.h"

/* What HDF5 may take to read a file: its two copies, a list, and a chunk as it is and decoded,
 * beside what it takes for itself. */
static size_t memory_for(size_t size)
{
    return 4 * size + ((size_t)256 << 20);
}

/* The list is made by HDF5 in a child, which has a copy of the bytes. */
static rt_status list_apart(rt_image *image, rt_listing *file)
{
    const rt_child_limits limits = {.memory = memory_for(file->size),
                                    .answer = rt_list_limit(file->size),
                                    .seconds = rt_child_seconds(file->size),
                                    .keep = -1};
    rt_status status = rt_child_run(rt_image_list, file, &limits, &image->list, &image->size);
    rt_free(file->bytes);
    if (status.code == RT_IO)
        status = rt_error(RT_IO, "%s: %s", file->name, status.message);
    if (status.code == RT_CHECK)
        status = rt_error(RT_CHECKPOINT, "%s: it is damaged: %s", file->name, status.message);
    return status;
}

rt_image *rt_image_open(const char *path, rt_parse parse)
{
    rt_image *image = rt_image_of_nothing(rt_path_name(path));
    if (!image)
        return NULL;
    rt_listing file = {.name = image->name};
    image->status = rt_sealed_read(path, &file.bytes, &file.size);
    if (image->status.code == RT_IO) /* what somebody named must be there */
        image->status.code = RT_CHECKPOINT;
    if (image->status.code == RT_OK)
        image->status = parse == RT_PARSE_APART ? list_apart(image, &file)
                                                : rt_image_list(&file, &image->list, &image->size);
    if (image->status.code == RT_OK)
        rt_image_index(image);
    return image;
}
