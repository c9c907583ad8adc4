#include "io/huggingface/json.h"

#include "core/memory.h"
#include "io/huggingface/folder_file.h"
#include "text/text_file.h"

rt_status rt_json_read(json_t **object_new, const char *name, char *bytes, size_t size)
{
    rt_status status = rt_json_parse(object_new, RT_JSON_VALUES, name, bytes, size);
    if (status.code == RT_DATA)
        status.code = RT_CHECKPOINT;
    return status;
}

rt_status rt_json_read_file(json_t **object_new, const char *folder, const char *name)
{
    char *text;
    size_t size;
    *object_new = NULL;
    rt_status status = rt_folder_read(&text, &size, folder, name, RT_TEXT_FILE_BYTES);
    if (status.code)
        return status;
    status = rt_json_read(object_new, name, text, size);
    rt_free(text);
    return status;
}
