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
} files[] = {
    {"hf_roformer_tiny.h5", check_model_file},
    {"hf_roformer_rotary_value.h5", check_model_file},
    {"hf_roformer_heads.h5", check_heads_file},
    {"rope_vectors.h5", check_rope_file},
    {"pos_vectors.h5", check_position_file},
    {"attention_vectors.h5", check_attention_file},
    {"linear_attention_vectors.h5", check_linear_attention_file},
    {"layers_vectors.h5", check_layer_file},
    {"adamw_vectors.h5", check_optimizer_file},
    {"lion_muon.h5", check_lion_muon_file},
};

TEST_ROWS(values_and_gradients_are_those_of_public_implementations, 0,
          (sizeof(real) == sizeof(double) ? (int)(sizeof files / sizeof *files) : 3))
{
    reference r = reference_open(files[_i].name);
    files[_i].check(&r);
    reference_close(&r);
    fflush(stdout);
}
