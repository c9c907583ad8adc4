/* Checkpoints that were changed, among them such as only someone would write who means harm. */

#include "torture/forge.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t odd_integers[] = {-1,        0,         1,
                                       INT64_MAX, INT64_MIN, INT64_C(1) << 40,
                                       INT32_MAX, 7,         99999999,
                                       100000000};
static const double odd_numbers[] = {NAN, INFINITY, -INFINITY, -1, 0, 1e300, -1e300, 5e-324};
static const char long_word[] = "a word that is longer than any that a checkpoint has: more than "
                                "sixty-four bytes, with all of what follows";
static const char *const odd_words[] = {"",        "rotor", "half",   "<torture>",
                                        "`>wren`", "%s%n",  "a\nb",   "\xff\xfe",
                                        "double",  "model", long_word};

static void put_attribute(hid_t group, const char *name, hid_t type, hsize_t count,
                          const void *value)
{
    const hid_t space = count ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    H5Adelete(group, name);
    const hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, value);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void forge_attribute(trial *t, forgery *f, hid_t file)
{
    static const char *const groups[] = {"/", "/", "/model", "/optimizer", "/random", "/data"};
    const int64_t integers[3] = {draw_of(t, odd_integers), 1, 2};
    const double number = draw_of(t, odd_numbers);
    const char *word = draw_of(t, odd_words);
    char name[64] = "";
    H5O_info_t info;
    const hid_t group = H5Gopen2(file, draw_of(t, groups), H5P_DEFAULT);
    if (group < 0 || H5Oget_info2(group, &info, H5O_INFO_NUM_ATTRS) < 0 || !info.num_attrs)
        return;
    H5Aget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC,
                       (hsize_t)draw(t, (int)info.num_attrs), name, sizeof name, H5P_DEFAULT);
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, strlen(word) + 1);
    switch (draw(t, 6)) {
    case 0:
        H5Adelete(group, name);
        break;
    case 1:
        put_attribute(group, name, H5T_NATIVE_INT64, 3, integers);
        break;
    case 2:
        put_attribute(group, name, H5T_NATIVE_DOUBLE, 0, &number);
        break;
    case 3:
        put_attribute(group, name, text, 0, word);
        break;
    default:
        put_attribute(group, name, H5T_NATIVE_INT64, 0, integers);
        /* No training has been there. */
        if ((!strcmp(name, "step") && (*integers < 0 || *integers > 99999999)) ||
            (!strcmp(name, "position") && (*integers < 0 || *integers == INT64_MAX)))
            f->codes = "2 4";
    }
    H5Tclose(text);
    H5Gclose(group);
}

enum { MOST_SETS = 128, SET_NAME = 128 };
typedef struct sets {
    int count;
    char names[MOST_SETS][SET_NAME];
} sets;

static herr_t note_set(hid_t file, const char *name, const H5O_info_t *info, void *context)
{
    sets *s = context;
    (void)file;
    if (info->type == H5O_TYPE_DATASET && s->count < MOST_SETS && strlen(name) < SET_NAME)
        snprintf(s->names[s->count++], SET_NAME, "%s", name);
    return 0;
}

static void put_set(hid_t file, const char *name, hid_t type, int ndim, const hsize_t *shape)
{
    const hid_t space = H5Screate_simple(ndim, shape, NULL);
    H5Ldelete(file, name, H5P_DEFAULT);
    H5Dclose(H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
}

static void put_number_into(trial *t, hid_t file, const char *name)
{
    const hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    const hssize_t size = H5Sget_simple_extent_npoints(space);
    double *values = size > 0 && size < 1 << 20 ? calloc((size_t)size, sizeof *values) : NULL;
    if (values && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0) {
        values[draw(t, (int)size)] = draw_of(t, odd_numbers);
        H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    }
    free(values);
    H5Sclose(space);
    H5Dclose(set);
}

static void put_config(trial *t, hid_t file)
{
    static const char *const texts[] = {"",
                                        "[run]\nname = ../../x\n",
                                        "[model]\ndim = 1000000\nlayers = 1000\n",
                                        "[data]\nlength = 1000000\n",
                                        "no ini at all",
                                        "[run]\nname = <torture>\n[model]\n",
                                        "[data]\ntask = text\nfile = /etc/passwd\n"};
    const char *text = draw_of(t, texts);
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    H5Ldelete(file, "/config", H5P_DEFAULT);
    const hid_t set =
        H5Dcreate2(file, "/config", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
    H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
}

/* Groups in groups. */
static void nest(hid_t file, int depth)
{
    hid_t group = H5Gcreate2(file, "/model/nested", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < depth && group >= 0; i++) {
        const hid_t below = H5Gcreate2(group, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(group);
        group = below;
    }
    H5Gclose(group);
}

static void forge_set(trial *t, hid_t file)
{
    static const hsize_t shapes[][4] = {{3, 1, 1, 1}, {1, 1, 1, 1}, {0, 3, 1, 1}, {8, 8, 8, 8}};
    static sets s;
    s.count = 0;
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, note_set, &s, H5O_INFO_BASIC);
    if (!s.count)
        return;
    const char *name = s.names[draw(t, s.count)];
    switch (draw(t, 10)) {
    case 0:
        H5Ldelete(file, name, H5P_DEFAULT);
        break;
    case 1:
        put_set(file, name, H5T_IEEE_F64LE, 1 + draw(t, 4), draw_of(t, shapes));
        break;
    case 2:
        put_set(file, name, draw(t, 2) ? H5T_STD_I8LE : H5T_C_S1, 1 + draw(t, 2),
                draw_of(t, shapes));
        break;
    case 3:
        H5Ldelete(file, name, H5P_DEFAULT);
        H5Lcreate_soft(name, file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 4:
        H5Ldelete(file, name, H5P_DEFAULT);
        H5Lcreate_external("/etc/passwd", "/x", file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 5:
        H5Lmove(file, name, file, draw(t, 2) ? "/model/a.b" : "/model/..", H5P_DEFAULT,
                H5P_DEFAULT);
        break;
    case 6:
        put_config(t, file);
        break;
    case 7:
        nest(file, draw(t, 4) ? draw(t, 40) : 3000);
        break;
    default:
        put_number_into(t, file, name);
    }
}

static void forge_hdf5(trial *t, forgery *f)
{
    const int count = 1 + draw(t, 3);
    const hid_t file = H5Fopen(f->checkpoint, H5F_ACC_RDWR, H5P_DEFAULT);
    for (int i = 0; i < count && file >= 0; i++) {
        if (chance(t, 45))
            forge_attribute(t, f, file);
        else
            forge_set(t, file);
    }
    H5Fclose(file);
    seal_file(f->checkpoint);
}

void forge_checkpoint(trial *t, forgery *f)
{
    char other[TORTURE_PATH_SIZE];
    switch (draw(t, 8)) {
    case 0:
        damage(t, f->checkpoint, false);
        break;
    case 1:
        damage(t, f->checkpoint, true);
        f->hostile_hdf5 = true;
        break;
    case 2:
        path_in(t, other, "runs/%s/checkpoints/step-%08d.h5", f->name, 7 + draw(t, 1000));
        if (!rename(f->checkpoint, other))
            snprintf(f->checkpoint, sizeof f->checkpoint, "%s", other);
        break;
    default:
        forge_hdf5(t, f);
    }
}
