/* The labels that a checkpoint keeps. */

#include "io/checkpoint/checkpoint.h"

#include "training/forging.h"

static rt_status read_labels(rt_labels **labels)
{
    rt_checkpoint_info info;
    rt_status status = rt_checkpoint_read_info(opened(in_scratch(FILE_NAME)), &info);
    *labels = info.labels;
    info.labels = NULL;
    rt_checkpoint_info_free(&info);
    return status;
}

/* A checkpoint with the labels of a text, one a line; without any for NULL. */
static void save_labels(const char *text)
{
    trained t = new_trained(4, 1);
    rt_checkpoint_info info = some_info(200);
    rt_status status = rt_ok();
    if (text)
        status = rt_labels_read(&info.labels, "labels", text, strlen(text));
    assert_status(status, RT_OK, "");
    status = rt_checkpoint_save(in_scratch(FILE_NAME), model_of(&t), &info);
    assert_status(status, RT_OK, "");
    rt_labels_free(info.labels);
}

SUITE(.setup = make_scratch, .teardown = remove_scratch)

TEST(labels_are_read_as_they_were_saved)
{
    rt_labels *labels, *alone;
    save_labels("B\nb\n\xc3\xa9 e\n");
    assert_status(read_labels(&labels), RT_OK, "");
    ck_assert_int_eq(labels->count, 3);
    ck_assert_str_eq(labels->names[2], "\xc3\xa9 e");
    rt_image *image = opened(in_scratch(FILE_NAME));
    assert_status(rt_checkpoint_labels(image, &alone), RT_OK, "");
    ck_assert(rt_labels_equal(labels, alone));
    rt_image_close(image);
    rt_labels_free(labels);
    rt_labels_free(alone);
}

TEST(data_without_labels_has_none)
{
    rt_labels *labels;
    save_labels(NULL);
    assert_status(read_labels(&labels), RT_OK, "");
    ck_assert_ptr_null(labels);
}

TEST_ROWS(forged_labels_are_refused, 0, 4)
{
    static const unsigned char forged[][5] = {"aa\nb", "b\na\n", "a\na\n", "a\n\x1b\n"};
    static const char message[] = FILE_NAME ": /labels:2: must be a label, after the one before it";
    const bool sound = _i == 0;
    rt_labels *labels;
    save_labels("a\nb\n");
    hid_t file = begin_forging(in_scratch(FILE_NAME));
    hid_t set = H5Dopen2(file, "/labels", H5P_DEFAULT);
    ck_assert(H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, forged[_i]) >= 0);
    H5Dclose(set);
    end_forging(file, in_scratch(FILE_NAME));
    assert_status(read_labels(&labels), sound ? RT_OK : RT_CHECKPOINT, sound ? "" : message);
    ck_assert((labels != NULL) == sound);
    rt_labels_free(labels);
}

TEST(a_failed_allocation_is_a_status)
{
    rt_labels *labels;
    rt_code code = RT_MEMORY;
    save_labels("a\nb\n");
    for (size_t n = 1; code != RT_OK; n++) {
        rt_memory_fail_at(n);
        code = read_labels(&labels).code;
        rt_memory_fail_at(0);
        ck_assert(code == RT_OK || code == RT_MEMORY);
        ck_assert((labels != NULL) == (code == RT_OK));
    }
    rt_labels_free(labels);
}
