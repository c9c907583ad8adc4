#include "core/memory.h"
#include "core/path.h"
#include "io/checkpoint/image_private.h"
#include "io/checkpoint/sealed.h"
#include "text/child.h"

/* What it may take to read a file: its bytes, a list, and a chunk as it is and decoded, beside what
 * HDF5 takes for itself. */
static size_t memory_for(size_t size)
{
    return 3 * size + ((size_t)256 << 20);
}

/* In the child. */
static rt_status read_and_list(void *listing, unsigned char **list_new, size_t *size)
{
    rt_listing *file = listing;
    rt_status status = rt_sealed_read(file->path, &file->bytes, &file->size);
    return status.code ? status : rt_image_list(file, list_new, size);
}

/* The file is read and the list is made in a child: this process never has the bytes. */
static rt_status list_apart(rt_image *image, rt_listing *file)
{
    size_t bytes;
    rt_status status = rt_sealed_look(file->path, &bytes);
    if (status.code)
        return status;
    const rt_child_limits limits = {.memory = memory_for(bytes),
                                    .answer = rt_list_limit(bytes),
                                    .seconds = rt_child_seconds(bytes),
                                    .keep = -1};
    status = rt_child_run(read_and_list, file, &limits, &image->list, &image->size);
    if (status.code == RT_IO)
        status = rt_error(RT_IO, "%s: %s", file->name, status.message);
    if (status.code == RT_CHECK)
        status = rt_error(RT_CHECKPOINT, "%s: it is damaged: %s", file->name, status.message);
    return status;
}

/* The bytes are the image's, and so is the file, from which numbers are read when they are asked
 * for. */
static rt_status list_here(rt_image *image, rt_listing *file)
{
    file->stays = true;
    rt_status status = rt_sealed_read(file->path, &file->bytes, &file->size);
    image->bytes = file->bytes;
    if (!status.code)
        status = rt_image_list(file, &image->list, &image->size);
    image->file = file->file;
    return status;
}

rt_image *rt_image_open(const char *path, rt_parse parse)
{
    rt_image *image = rt_image_of_nothing(rt_path_name(path));
    if (!image)
        return NULL;
    rt_listing file = {.path = path,
                       .name = image->name,
                       .without = parse == RT_PARSE_MODEL ? RT_OPTIMIZER_GROUP : NULL,
                       .file = H5I_INVALID_HID};
    image->status = parse == RT_PARSE_HERE ? list_here(image, &file) : list_apart(image, &file);
    if (image->status.code == RT_IO) /* what somebody named must be there */
        image->status.code = RT_CHECKPOINT;
    if (image->status.code == RT_OK)
        rt_image_index(image);
    return image;
}
