#include "io/huggingface/folder_file.h"

#include "core/memory.h"
#include "core/path.h"
#include "text/text_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool rt_folder_has(const char *folder, const char *name)
{
    char path[RT_PATH_SIZE];
    struct stat facts;
    return !rt_path_join(path, folder, name).code && !stat(path, &facts);
}

rt_status rt_folder_read(char **bytes_new, size_t *size, const char *folder, const char *name,
                         long most)
{
    char path[RT_PATH_SIZE];
    rt_status status = rt_path_join(path, folder, name);
    *bytes_new = NULL;
    if (status.code)
        return status;
    errno = ENOMEM; /* what rt_alloc does not say */
    *bytes_new = rt_read_bytes(path, most, size);
    if (*bytes_new && rt_is_lfs_pointer(*bytes_new, *size)) {
        rt_free(*bytes_new);
        *bytes_new = NULL;
        return rt_error(RT_CHECKPOINT, "%s: " RT_LFS_POINTER, name);
    }
    if (*bytes_new)
        return rt_ok();
    return errno == ENOMEM
               ? rt_out_of_memory(name)
               : rt_error(RT_CHECKPOINT, "%s: cannot be read: %s", path, strerror(errno));
}
