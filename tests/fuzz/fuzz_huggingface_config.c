/* A config.json of any bytes beside the tensors of a small model: the folder is opened, its
 * configuration is one that rotor loads, and its model is made; or it is refused. */

#include "fuzz.h"

#include "core/memory.h"
#include "train/config/config.h"
#include "train/huggingface/huggingface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], config[96];

static void forget_folder(void)
{
    char path[128];
    static const char *const names[] = {"config.json", "model.safetensors", "README.md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

/* The smallest RoFormer, with theta of its own in config.json, once for all inputs. */
static void make_folder(void)
{
    const rt_roformer_options o = {.vocab = 5,
                                   .layers = 1,
                                   .dim = 4,
                                   .heads = 1,
                                   .ffn_dim = 4,
                                   .norm_eps = 1e-12,
                                   .tie_embeddings = true,
                                   .position = {.frequencies = {.base = 10000, .scale = 1},
                                                .fraction = 1},
                                   .theta = {.learn = true, .scope = RT_THETA_LAYER}};
    rt_roformer *model;
    snprintf(folder, sizeof folder, "/tmp/rotor-fuzz-%ld-folder", (long)getpid());
    snprintf(config, sizeof config, "%s/config.json", folder);
    if (rt_roformer_new(&model, &o, 1, NULL).code ||
        rt_huggingface_write(folder, model,
                             &(rt_huggingface_export){.length = 8, .overwrite = true})
            .code)
        abort();
    rt_roformer_free(model);
    atexit(forget_folder);
}

static void write_config(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(config, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    rt_huggingface *there;
    rt_roformer *model = NULL;
    if (!*folder)
        make_folder();
    write_config(bytes, size);
    rt_status status = rt_huggingface_open(&there, folder);
    if ((status.code == RT_OK) != (there != NULL) || (status.code && status.code != RT_CHECKPOINT))
        abort();
    if (!there)
        return 0;
    status = rt_huggingface_model(there, &model);
    if ((status.code == RT_OK) != (model != NULL) || (status.code && status.code != RT_CHECKPOINT))
        abort();
    char *ini = rt_huggingface_ini(there), *errors;
    rt_config loaded;
    const rt_config_source source = {.path = "import.ini", .text = ini};
    if (!ini || rt_config_load(&loaded, &source, &errors).code)
        abort();
    rt_free(ini);
    rt_roformer_free(model);
    rt_huggingface_close(there);
    return 0;
}
