/* Holds rotor against values and gradients from public implementations.
 *
 *     build/tests/test_reference                        the files of tests/vectors
 *     ROTOR_VECTORS=DIR build/tests/test_reference      another folder of the same layout
 *
 * In the float build only the models are checked, to 1e-4.
 */

#include "reference.h"
#include "suite.h"

static const struct {
    const char *name;
    void (*check)(reference *r);
    void (*check_case)(reference *r, const char *name);
} files[] = {
    {"hf_roformer_tiny.h5", check_model_file, NULL},
    {"hf_roformer_rotary_value.h5", check_model_file, NULL},
    {"hf_roformer_heads.h5", NULL, check_heads_case},
    {"rope_vectors.h5", NULL, check_rope_case},
    {"pos_vectors.h5", check_position_file, NULL},
    {"attention_vectors.h5", NULL, check_attention_case},
    {"linear_attention_vectors.h5", NULL, check_linear_attention_case},
    {"content_vectors.h5", NULL, check_content_case},
    {"layers_vectors.h5", check_layer_file, NULL},
    {"adamw_vectors.h5", NULL, check_optimizer_case},
    {"lion_muon.h5", NULL, check_lion_muon_case},
};

TEST_ROWS(values_and_gradients_are_those_of_public_implementations, 0,
          (sizeof(real) == sizeof(double) ? ROWS(files) : 3))
{
    reference r = reference_open(files[_i].name);
    const name_list cases = reference_members(&r, "/");
    if (files[_i].check)
        files[_i].check(&r);
    for (int i = 0; i < cases.count && files[_i].check_case; i++)
        files[_i].check_case(&r, cases.names[i]);
    reference_close(&r);
    fflush(stdout);
}
