#include "train/huggingface/json.h"

#include "core/memory.h"
#include "core/path.h"
#include "train/text/text_file.h"

#include <errno.h>
#include <string.h>

rt_status rt_json_read(json_t **object_new, const char *name, char *bytes, size_t size)
{
    rt_status status = rt_json_parse(object_new, RT_JSON_VALUES, name, bytes, size);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    return status;
}

rt_status rt_json_read_file(json_t **object_new, const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    *object_new = NULL;
    rt_status status = rt_path_join(path, folder, name);
    if (status.code)
        return status;
    size_t size;
    errno = ENOMEM; /* what rt_alloc does not say */
    char *text = rt_read_bytes(path, &size);
    if (!text && errno == ENOMEM)
        return rt_out_of_memory(name);
    if (!text)
        return rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", path, strerror(errno));
    status = rt_json_read(object_new, name, text, size);
    rt_free(text);
    return status;
}
