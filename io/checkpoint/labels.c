#include "io/checkpoint/private.h"

#include "core/memory.h"

#include <string.h>

static const char path[] = "/labels";

void rt_checkpoint_put_labels(rt_image *image, const rt_labels *labels)
{
    char *text;
    rt_status status = rt_labels_write(labels, &text);
    if (!status.code)
        rt_image_put_bytes(image, path, text, strlen(text));
    rt_image_fail_as(image, status);
    rt_free(text);
}

rt_labels *rt_checkpoint_get_labels(rt_image *image)
{
    rt_labels *labels = NULL;
    rt_shape shape;
    size_t size;
    if (!rt_image_shape(image, path, &shape))
        return NULL;
    unsigned char *bytes = rt_image_bytes(image, path, &size);
    if (!rt_image_failed(image))
        rt_image_fail_as(image, rt_labels_read(&labels, path, (const char *)bytes, size));
    rt_free(bytes);
    return labels;
}
