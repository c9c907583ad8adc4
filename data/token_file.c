#include "data/token_file.h"

#include "core/memory.h"
#include "data/files.h"
#include "data/token_dataset.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

/* Ids that are checked at a time. */
enum { BLOCK = 1 << 16 };

struct rt_token_file {
    char name[800]; /* file:dataset, for messages */
    int vocab;
    rt_token_dataset set;
    off_t size;       /* of the file when it was opened */
    rt_status status; /* the first failure of a read */
};

/* HDF5 has one state for the whole process. */
static pthread_mutex_t hdf5 = PTHREAD_MUTEX_INITIALIZER;

/* HDF5 that may clean up at exit does again what failed before, and crashes. What it prints
 * is set for one thread only. */
static void enter_hdf5(void)
{
    pthread_mutex_lock(&hdf5);
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void leave_hdf5(void)
{
    pthread_mutex_unlock(&hdf5);
}

static rt_status changed(const rt_token_file *f)
{
    return rt_error(RT_DATA, "%s: data.file became shorter while it was in use", f->name);
}

/* HDF5 reads zeros past the end of a file: one that was cut short must not pass for ids. */
static bool is_cut(const rt_token_file *f)
{
    struct stat facts;
    void *descriptor = NULL;
    return H5Fget_vfd_handle(f->set.file, H5P_DEFAULT, &descriptor) < 0 ||
           fstat(*(int *)descriptor, &facts) || facts.st_size < f->size;
}

/* `type` is that of `to`; what does not fit becomes its smallest or largest value. */
static rt_status read_ids(const rt_token_file *f, size_t first, size_t count, hid_t type, void *to)
{
    hsize_t start = first, extent = count;
    hid_t memory = H5Screate_simple(1, &extent, NULL);
    bool read =
        memory >= 0 &&
        H5Sselect_hyperslab(f->set.space, H5S_SELECT_SET, &start, NULL, &extent, NULL) >= 0 &&
        H5Dread(f->set.ids, type, memory, f->set.space, H5P_DEFAULT, to) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    if (is_cut(f))
        return changed(f);
    if (!read)
        return rt_error(RT_DATA, "%s: data.file cannot be read from id %zu to %zu", f->name, first,
                        first + count - 1);
    return rt_ok();
}

static rt_status no_id(const rt_token_file *f, size_t index, int64_t value)
{
    return rt_error(RT_DATA,
                    "%s: data.file must hold ids from 0 to %d (data.vocab %d); got %lld at index "
                    "%zu",
                    f->name, f->vocab - 1, f->vocab, (long long)value, index);
}

static rt_status scan(const rt_token_file *f)
{
    int64_t *block = rt_alloc(BLOCK, sizeof *block);
    if (!block)
        return rt_out_of_memory("a block of token ids");
    rt_status status = rt_ok();
    for (size_t first = 0; first < f->set.count && !status.code; first += BLOCK) {
        size_t n = f->set.count - first < BLOCK ? f->set.count - first : BLOCK;
        status = read_ids(f, first, n, H5T_NATIVE_INT64, block);
        for (size_t i = 0; i < n && !status.code; i++)
            if (block[i] < 0 || block[i] >= f->vocab)
                status = no_id(f, first + i, block[i]);
    }
    rt_free(block);
    return status;
}

/* The size is taken before HDF5 reads anything of the file. */
static rt_status open_and_scan(rt_token_file *f, const char *path, const char *dataset)
{
    rt_status status = rt_file_measure(path, &f->size);
    if (status.code)
        return status;
    enter_hdf5();
    status = rt_token_dataset_open(&f->set, f->name, path, dataset);
    if (!status.code)
        status = scan(f);
    leave_hdf5();
    return status;
}

rt_status rt_token_file_open(rt_token_file **file_new, const char *path, const char *dataset,
                             int vocab)
{
    *file_new = NULL;
    rt_token_file *f = rt_alloc(1, sizeof *f);
    if (!f)
        return rt_out_of_memory("a file of token ids");
    f->vocab = vocab;
    f->status = rt_ok();
    snprintf(f->name, sizeof f->name, "%.500s:%.200s", path, dataset);
    rt_status status = open_and_scan(f, path, dataset);
    if (status.code)
        rt_token_file_close(f);
    else
        *file_new = f;
    return status;
}

void rt_token_file_close(rt_token_file *file)
{
    if (!file)
        return;
    enter_hdf5();
    rt_token_dataset_close(&file->set);
    leave_hdf5();
    rt_free(file);
}

size_t rt_token_file_count(const rt_token_file *file)
{
    return file->set.count;
}

/* The file can have been written again since it was scanned. */
static rt_status read_window(const rt_token_file *f, size_t first, size_t count, int32_t *ids)
{
    rt_status status = read_ids(f, first, count, H5T_NATIVE_INT32, ids);
    for (size_t i = 0; i < count && !status.code; i++)
        if (ids[i] < 0 || ids[i] >= f->vocab)
            status = no_id(f, first + i, ids[i]);
    return status;
}

bool rt_token_file_read(rt_token_file *file, size_t first, size_t count, int32_t *ids)
{
    enter_hdf5();
    rt_status status = read_window(file, first, count, ids);
    if (status.code && !file->status.code)
        file->status = status;
    leave_hdf5();
    return !status.code;
}

rt_status rt_token_file_status(const rt_token_file *file)
{
    pthread_mutex_lock(&hdf5);
    rt_status status = file->status;
    pthread_mutex_unlock(&hdf5);
    return status;
}
