#include "io/import.h"

#include "io/gguf/gguf.h"

bool rt_is_import(const char *path)
{
    return rt_is_huggingface(path) || rt_is_gguf(path);
}

rt_status rt_import(rt_huggingface **there_new, const char *path)
{
    return rt_is_gguf(path) ? rt_gguf_import(there_new, path)
                            : rt_huggingface_import(there_new, path);
}

rt_status rt_import_chat_template(char **template_new, const char *path)
{
    return rt_is_gguf(path) ? rt_gguf_chat_template(template_new, path)
                            : rt_huggingface_chat_template(template_new, path);
}
