#include "train/checkpoint.h"

#include "core/memory.h"
#include "train/image.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1 };

static const char *const pairing_words[] = {RT_PAIRINGS(RT_CHOICE_WORD) NULL};
static const char *const form_words[] = {RT_THETA_FORMS(RT_CHOICE_WORD) NULL};
static const char *const scope_words[] = {RT_THETA_SCOPES(RT_CHOICE_WORD) NULL};

/* A block of the model and the group of its datasets; `of` begins its name in messages. */
typedef struct block {
    const char *group;
    const char *of;
    real *values; /* NULL: not there, or not wanted */
} block;

enum { BLOCKS = 3 };

static void list_blocks(const rt_checkpoint_model *model, block blocks[BLOCKS])
{
    blocks[0] = (block){"/model", "", model->parameters->values};
    blocks[1] = (block){"/optimizer/first_moment", "first moment of ", model->first_moment};
    blocks[2] = (block){"/optimizer/second_moment", "second moment of ", model->second_moment};
}

enum { DATASET_SIZE = RT_NAME_SIZE + 32 };

/* Group "/model" and parameter "a.b" make "/model/a/b". */
static void write_dataset_path(char path[DATASET_SIZE], const char *group, const char *parameter)
{
    size_t start = strlen(group) + 1;
    snprintf(path, DATASET_SIZE, "%s/%s", group, parameter);
    for (char *c = path + start; *c; c++)
        if (*c == '.')
            *c = '/';
}

static const rt_parameter *first_nonfinite(const rt_parameters *p, const real *values)
{
    for (int i = 0; i < p->count; i++) {
        const real *value = values + p->list[i]->offset;
        size_t size = rt_size(&p->list[i]->tensor);
        for (size_t k = 0; k < size; k++)
            if (!isfinite(value[k]))
                return p->list[i];
    }
    return NULL;
}

/* ---- saving ---- */

static void put_info(rt_image *image, const rt_checkpoint_info *info)
{
    rt_image_put_word(image, "/", "format", "rotor");
    rt_image_put_integer(image, "/", "version", VERSION);
    rt_image_put_integer(image, "/", "step", info->step);
    rt_image_put_word(image, "/", "precision", RT_PRECISION);
    rt_image_put_unsigned(image, "/", "seed", info->seed);
    rt_image_put_number(image, "/", "best_eval_loss", info->best_eval_loss);
    rt_image_put_integer(image, "/", "best_eval_step", info->best_eval_step);
    rt_image_put_text(image, "/config", info->config ? info->config : "");
    rt_image_put_integer(image, "/optimizer", "schedule_steps", info->schedule_steps);
    rt_image_put_word(image, "/random", "generator", "philox4x32-10");
    rt_image_put_unsigned(image, "/random", "seed", info->seed);
    rt_image_put_integer(image, "/random", "step", info->step);
    rt_image_put_integer(image, "/data", "position", info->position);
    rt_image_put_bytes(image, "/data/alphabet", info->alphabet, info->alphabet_size);
}

static void put_layout(rt_image *image, const rt_checkpoint_model *model)
{
    rt_image_put_word(image, "/model", "pairing", pairing_words[model->pairing]);
    rt_image_put_number(image, "/model", "base", model->base);
    rt_image_put_integer(image, "/model", "head_dim", model->head_dim);
    rt_image_put_word(image, "/model", "theta_form", form_words[model->theta_form]);
    rt_image_put_word(image, "/model", "theta_scope", scope_words[model->theta_scope]);
}

static void put_block(rt_image *image, const rt_parameters *p, const block *b)
{
    for (int i = 0; i < p->count; i++) {
        const rt_parameter *parameter = p->list[i];
        char path[DATASET_SIZE];
        write_dataset_path(path, b->group, parameter->name);
        rt_image_put_reals(image, path, b->values + parameter->offset,
                           rt_tensor_shape(&parameter->tensor));
    }
}

rt_status rt_checkpoint_save(const char *path, const rt_checkpoint_model *model,
                             const rt_checkpoint_info *info)
{
    const rt_parameters *p = model->parameters;
    block blocks[BLOCKS];
    list_blocks(model, blocks);
    for (const block *b = blocks; b < blocks + BLOCKS; b++) {
        const rt_parameter *bad = b->values ? first_nonfinite(p, b->values) : NULL;
        if (bad)
            return rt_error(RT_NONFINITE, "%s%s is not finite: it is not saved", b->of, bad->name);
    }
    rt_image *image = rt_image_new();
    put_info(image, info);
    put_layout(image, model);
    for (const block *b = blocks; b < blocks + BLOCKS; b++)
        if (b->values)
            put_block(image, p, b);
    rt_status status = rt_image_write(image, path);
    rt_image_close(image);
    return status;
}

/* ---- reading ---- */

static void get_info(rt_image *image, rt_checkpoint_info *info)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, "/", "format", word);
    int64_t version = rt_image_integer(image, "/", "version");
    if (strcmp(word, "rotor"))
        rt_image_fail(image, RT_CHECKPOINT, "format is '%s', 'rotor' expected", word);
    if (version != VERSION)
        rt_image_fail(image, RT_CHECKPOINT, "version is %" PRId64 ", %d expected", version,
                      VERSION);
    info->step = rt_image_integer(image, "/", "step");
    info->seed = rt_image_unsigned(image, "/", "seed");
    info->best_eval_loss = rt_image_number(image, "/", "best_eval_loss");
    info->best_eval_step = rt_image_integer(image, "/", "best_eval_step");
    info->config = rt_image_text(image, "/config");
    info->schedule_steps = rt_image_integer(image, "/optimizer", "schedule_steps");
    info->position = rt_image_integer(image, "/data", "position");
    info->alphabet = rt_image_bytes(image, "/data/alphabet", &info->alphabet_size);
}

static void expect_word(rt_image *image, const char *name, const char *wanted)
{
    char word[RT_WORD_SIZE];
    rt_image_word(image, "/model", name, word);
    if (strcmp(word, wanted))
        rt_image_fail(image, RT_CHECKPOINT,
                      "%s is '%s' in the checkpoint, '%s' in the configuration", name, word,
                      wanted);
}

static void expect_layout(rt_image *image, const rt_checkpoint_model *model)
{
    expect_word(image, "pairing", pairing_words[model->pairing]);
    double base = rt_image_number(image, "/model", "base");
    if (base != model->base)
        rt_image_fail(image, RT_CHECKPOINT,
                      "base is %.15g in the checkpoint, %.15g in the configuration", base,
                      model->base);
    int64_t head_dim = rt_image_integer(image, "/model", "head_dim");
    if (head_dim != model->head_dim)
        rt_image_fail(image, RT_CHECKPOINT,
                      "head_dim is %" PRId64 " in the checkpoint, %d in the configuration",
                      head_dim, model->head_dim);
    expect_word(image, "theta_form", form_words[model->theta_form]);
    expect_word(image, "theta_scope", scope_words[model->theta_scope]);
}

static void expect_shape(rt_image *image, const block *b, const rt_parameter *parameter)
{
    char path[DATASET_SIZE];
    rt_shape there, here = rt_tensor_shape(&parameter->tensor);
    write_dataset_path(path, b->group, parameter->name);
    if (!rt_image_shape(image, path, &there)) {
        rt_image_fail(image, RT_CHECKPOINT, "%s%s is not in the checkpoint", b->of,
                      parameter->name);
        return;
    }
    bool same = there.ndim == here.ndim;
    for (int i = 0; same && i < here.ndim; i++)
        same = there.axis[i] == here.axis[i];
    if (!same)
        rt_image_fail(image, RT_CHECKPOINT, "%s%s is %s in the checkpoint, %s in the model", b->of,
                      parameter->name, rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, there),
                      rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, here));
}

typedef struct comparison {
    rt_image *image;
    const rt_parameters *parameters;
    const block *block;
} comparison;

/* `path` is below the block's group: "a/b" for the parameter "a.b". */
static void expect_in_model(void *context, const char *path)
{
    comparison *c = context;
    char name[RT_NAME_SIZE];
    snprintf(name, sizeof name, "%s", path);
    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '.';
    if (!rt_parameters_find(c->parameters, name))
        rt_image_fail(c->image, RT_CHECKPOINT, "the checkpoint has %s%s, which the model lacks",
                      c->block->of, name);
}

static void expect_block(rt_image *image, const rt_parameters *p, const block *b)
{
    comparison c = {image, p, b};
    for (int i = 0; i < p->count; i++)
        expect_shape(image, b, p->list[i]);
    rt_image_visit(image, b->group, expect_in_model, &c);
}

/* A block as it will be, read beside the one in use. */
static real *read_block(rt_image *image, const rt_parameters *p, const block *b)
{
    if (rt_image_failed(image))
        return NULL;
    real *values = rt_alloc(p->block_size, sizeof *values);
    if (!values) {
        rt_image_fail(image, RT_MEMORY, "out of memory for %s", b->group);
        return NULL;
    }
    for (int i = 0; i < p->count; i++) {
        char path[DATASET_SIZE];
        write_dataset_path(path, b->group, p->list[i]->name);
        rt_image_reals(image, path, values + p->list[i]->offset,
                       rt_tensor_shape(&p->list[i]->tensor));
    }
    const rt_parameter *bad = first_nonfinite(p, values);
    if (bad)
        rt_image_fail(image, RT_CHECKPOINT, "%s%s is not finite in " RT_PRECISION " precision",
                      b->of, bad->name);
    return values;
}

rt_status rt_checkpoint_load(const char *path, const rt_checkpoint_model *model,
                             rt_checkpoint_info *info)
{
    const rt_parameters *p = model->parameters;
    rt_checkpoint_info read = {0};
    block blocks[BLOCKS];
    real *fresh[BLOCKS] = {NULL};
    list_blocks(model, blocks);
    rt_image *image = rt_image_open(path);
    get_info(image, &read);
    expect_layout(image, model);
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].values)
            expect_block(image, p, &blocks[i]);
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].values)
            fresh[i] = read_block(image, p, &blocks[i]);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    for (int i = 0; i < BLOCKS; i++) {
        if (status.code == RT_OK && blocks[i].values)
            memcpy(blocks[i].values, fresh[i], p->block_size * sizeof(real));
        rt_free(fresh[i]);
    }
    if (status.code == RT_OK)
        *info = read;
    else
        rt_checkpoint_info_free(&read);
    return status;
}

rt_status rt_checkpoint_read_info(const char *path, rt_checkpoint_info *info)
{
    *info = (rt_checkpoint_info){0};
    rt_image *image = rt_image_open(path);
    get_info(image, info);
    rt_status status = rt_image_status(image);
    rt_image_close(image);
    if (status.code != RT_OK)
        rt_checkpoint_info_free(info);
    return status;
}

void rt_checkpoint_info_free(rt_checkpoint_info *info)
{
    rt_free(info->config);
    rt_free(info->alphabet);
    *info = (rt_checkpoint_info){0};
}
