/* A config.json of any bytes beside the tensors of a small RoFormer, Llama, ModernBERT and ESM: the
 * folder is opened, its configuration is one that rotor loads, and its model is made; or it is
 * refused. */

#include "folder_ini.h"
#include "fuzz.h"

#include <unistd.h>

enum { FOLDERS = 4 };
static char folders[FOLDERS][40];

static void forget_folders(void)
{
    char path[256];
    static const char *const names[] = {"config.json", "model.safetensors", "README.md"};
    for (int n = 0; n < FOLDERS; n++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            snprintf(path, sizeof path, "%s/%s", folders[n], names[i]);
            remove(path);
        }
        rmdir(folders[n]);
    }
}

/* The smallest model, with theta of its own in config.json. */
static void make_folder(int n, const rt_transformer_options *o)
{
    rt_transformer *model;
    snprintf(folders[n], sizeof folders[n], "%s/rotor-fuzz-%d-%c", fuzz_folder(), (int)getpid(),
             "abcd"[n]);
    const rt_huggingface_export how = {.length = 8, .overwrite = true};
    must(!rt_transformer_new(&model, o, 1, NULL).code);
    must(!rt_huggingface_write(folders[n], model, &how).code);
    rt_transformer_free(model);
}

/* Once for all inputs. */
static void make_folders(void)
{
    static const rt_transformer_options smallest = {
        .vocab = 5,
        .layers = 1,
        .dim = 4,
        .heads = 1,
        .ffn_dim = 4,
        .norm_eps = 1e-12,
        .tie_embeddings = true,
        .position = {.frequencies = {.base = 10000, .scale = 1}, .fraction = 1},
        .theta = {.learn = true, .scope = RT_THETA_LAYER}};
    rt_transformer_options o = smallest;
    make_folder(0, &o);
    o.kind = RT_KIND_DECODER;
    o.norm = RT_NORM_PRE;
    o.norm_kind = RT_NORM_RMS;
    o.ffn = RT_FFN_SWIGLU;
    o.bias = RT_BIAS_NONE;
    o.causal = true;
    o.position.pairing = RT_HALF;
    make_folder(1, &o);
    o.kind = RT_KIND_ROFORMER;
    o.norm_kind = RT_NORM_LAYER;
    o.causal = false;
    o.bias = RT_BIAS_OUTPUT;
    o.norm_bias = o.first_norm = RT_WITHOUT;
    o.ffn = RT_FFN_GEGLU;
    o.layers = 2;
    o.window = 3;
    o.layer_types = (rt_layer_words){2, {RT_LAYER_FULL, RT_LAYER_SLIDING}};
    o.position.local_base = 100;
    make_folder(2, &o);
    o = smallest;
    o.norm = RT_NORM_PRE;
    o.norm_eps = 1e-5;
    o.token_dropout = true;
    o.embedding_norm = RT_EMBEDDING_NORM_NO;
    o.position.pairing = RT_HALF;
    make_folder(3, &o);
    atexit(forget_folders);
}

static void try_folder(const char *folder, const uint8_t *bytes, size_t size)
{
    rt_huggingface *there;
    rt_transformer *model = NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/config.json", folder);
    fuzz_write(path, bytes, size);
    rt_status status = rt_huggingface_open(&there, folder);
    must((status.code == RT_OK) == (there != NULL));
    must(!status.code || status.code == RT_CHECKPOINT);
    if (!there)
        return;
    status = rt_huggingface_model(there, NULL, &model, NULL);
    must((status.code == RT_OK) == (model != NULL));
    must(!status.code || status.code == RT_CHECKPOINT);
    char *ini = ini_of(there), *errors;
    rt_config loaded;
    const rt_config_source source = {.path = "import.ini", .text = ini};
    must(ini && !rt_config_load_model(&loaded, &source, true, &errors).code);
    rt_free(ini);
    rt_transformer_free(model);
    rt_huggingface_close(there);
}

FUZZ(huggingface_config)
{
    if (!*folders[0])
        make_folders();
    for (int n = 0; n < FOLDERS; n++)
        try_folder(folders[n], bytes, size);
    return 0;
}
