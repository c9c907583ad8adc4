/* A checkpoint that was not made by the run that is to go on, though all of it is good by itself.
 */

#include "train_program.h"

#include "sealing.h"

#include <hdf5.h>

#define NEWEST "runs/tiny/checkpoints/step-00000020.h5"

static void forge(hid_t file, const char *group, const char *name, int64_t value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    ck_assert(H5Adelete_by_name(file, group, name, H5P_DEFAULT) >= 0);
    const hid_t attribute = H5Acreate_by_name(file, group, name, H5T_NATIVE_INT64, space,
                                              H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT64, &value) >= 0);
    ck_assert(H5Aclose(attribute) >= 0 && H5Sclose(space) >= 0);
}

/* Whoever can write a file can write its checksum. */
static void seal_again(const char *path)
{
    const size_t room = 1 << 22;
    unsigned char *bytes = rt_alloc(room, 1);
    FILE *from = fopen(path, "rb");
    ck_assert(bytes && from);
    const size_t size = fread(bytes, 1, room, from);
    fclose(from);
    ck_assert(size > RT_SEAL_SIZE && size < room);
    ck_assert_int_eq(write_sealed(path, bytes + RT_SEAL_SIZE, size - RT_SEAL_SIZE).code, RT_OK);
    rt_free(bytes);
}

START_TEST(a_run_goes_on_from_its_own_past_alone)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet train.steps=20");
    const hid_t file = H5Fopen(NEWEST, H5F_ACC_RDWR, H5P_DEFAULT);
    ck_assert(file >= 0);
    if (_i) {
        forge(file, "/", "seed", 5);
        forge(file, "/random", "seed", 5);
    } else {
        forge(file, "/data", "position", 152);
    }
    ck_assert(H5Fclose(file) >= 0);
    seal_again(NEWEST);
    expect_exit(w, 4, "$TRAIN tiny.ini --quiet --resume");
    expect_text(w->err, _i ? NEWEST ": seed is 5, 1 expected\n"
                           : NEWEST ": position is 152, 160 expected\n");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet --eval"); /* which has no future */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train: history");
    TCase *tests = program_case(suite);
    tcase_add_loop_test(tests, a_run_goes_on_from_its_own_past_alone, 0, 2);
    return run_suite(suite);
}
