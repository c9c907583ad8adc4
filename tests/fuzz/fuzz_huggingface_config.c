/* A config.json of any bytes beside the tensors of a small RoFormer, Llama, ModernBERT and ESM: the
 * folder is opened, its configuration is one that rotor loads, and its model is made; or it is
 * refused. */

#include "folder_ini.h"
#include "fuzz.h"
#include "option_words.h"

#include <unistd.h>

enum { FOLDERS = 4 };
static char folders[FOLDERS][40];

static void forget_folders(void)
{
    char line[256];
    for (int n = 0; n < FOLDERS; n++) {
        snprintf(line, sizeof line, "rm -rf '%s'", folders[n]);
        must(!system(line));
    }
}

/* Makes the folders of the smallest models, with theta of their own in config.json, once for all
 * inputs. */
static void make_folders(void)
{
    static const char *const models[FOLDERS] = {
        "roformer model.layers=1", "decoder model.layers=1 model.tie_embeddings=yes",
        "modernbert model.layers=2 model.layer_types=full,sliding position.local_base=100",
        "esm model.layers=1"};
    const rt_huggingface_export how = {.length = 8, .overwrite = true};
    for (int n = 0; n < FOLDERS; n++) {
        char words[256];
        rt_transformer *model;
        snprintf(words, sizeof words,
                 "%s vocab=5 model.dim=4 model.heads=1 model.ffn_dim=4 position.base=10000 "
                 "theta.learn=yes",
                 models[n]);
        const rt_transformer_options o = options_of(words);
        snprintf(folders[n], sizeof folders[n], "%s/rotor-fuzz-%d-%c", fuzz_folder(), (int)getpid(),
                 "abcd"[n]);
        must(!rt_transformer_new(&model, &o, 1, NULL).code);
        must(!rt_huggingface_write(folders[n], model, &how).code);
        rt_transformer_free(model);
    }
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
