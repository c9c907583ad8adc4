/* config.json as it is written. */

#include "io/huggingface/private.h"

#include <stdio.h>

/* ---- for rows of families ---- */

void rt_config_put_tied(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    rt_json_put(&w->object, "tie_word_embeddings",
                json_boolean(o->head != RT_HEAD_LM || o->tie_embeddings));
}

/* Ids alone have no meaning that transformers should know of. */
static json_t *id_of(const rt_vocabulary *v, int id)
{
    return v && id >= 0 ? json_integer(id) : json_null();
}

/* A number, or a list where there are several. */
static json_t *ends_of(const rt_vocabulary *v)
{
    const int count = v ? v->ends.count : 0;
    double ids[RT_MOST_ENDS];
    if (count < 2)
        return id_of(v, count ? v->ends.ids[0] : RT_NO_ID);
    for (int i = 0; i < count; i++)
        ids[i] = v->ends.ids[i];
    return rt_json_numbers(ids, count);
}

void rt_config_put_special_ids(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const rt_special_ids *special = v ? &v->special : &rt_default_special_ids;
    rt_json_put(&w->object, "bos_token_id", id_of(v, special->cls));
    rt_json_put(&w->object, "eos_token_id", ends_of(v));
    rt_json_put(&w->object, "pad_token_id",
                id_of(v, rt_vocabulary_pads(special) ? special->pad : RT_NO_ID));
}

void rt_config_put_encoder_ids(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    const rt_special_ids *special = v ? &v->special : &rt_default_special_ids;
    rt_json_put(&w->object, "bos_token_id", id_of(v, special->cls));
    rt_json_put(&w->object, "cls_token_id", id_of(v, special->cls));
    rt_json_put(&w->object, "eos_token_id", id_of(v, special->sep));
    rt_json_put(&w->object, "sep_token_id", id_of(v, special->sep));
    rt_json_put(&w->object, "pad_token_id",
                id_of(v, rt_vocabulary_pads(special) ? special->pad : RT_NO_ID));
}

void rt_config_put_padding(rt_config_writing *w)
{
    const rt_vocabulary *v = w->export->vocabulary;
    rt_json_put(&w->object, "pad_token_id",
                json_integer(v ? v->special.pad : rt_default_special_ids.pad));
}

/* ---- labels ---- */

static const char *label_of(const rt_huggingface_export *export, int i, char made[24])
{
    snprintf(made, 24, "LABEL_%d", i);
    return export->labels ? export->labels[i] : made;
}

static void put_labels(rt_json_object *to, const rt_transformer_options *o,
                       const rt_huggingface_export *export)
{
    rt_json_object names = rt_json_object_new(), ids = rt_json_object_new();
    char made[24], number[16];
    for (int i = 0; i < o->labels; i++) {
        json_t *name = rt_json_string(label_of(export, i, made));
        snprintf(number, sizeof number, "%d", i);
        rt_json_put(&ids, name ? json_string_value(name) : "", json_integer(i));
        rt_json_put(&names, number, name);
    }
    rt_json_put_object(to, "id2label", &names);
    rt_json_put_object(to, "label2id", &ids);
    if (o->head == RT_HEAD_SEQUENCE)
        rt_json_put(to, "problem_type", json_string("single_label_classification"));
}

/* ---- all ---- */

static void put_own(rt_json_object *to, const rt_huggingface_export *export)
{
    static const char *const levels[] = {RT_LEVELS(RT_CHOICE_WORD)};
    if (export->vocabulary)
        rt_json_put(to, RT_HF_LEVEL, json_string(levels[export->vocabulary->level]));
    if (export->bare)
        rt_json_put(to, RT_HF_BEGIN, json_string("none"));
    if (export->open_ended)
        rt_json_put(to, RT_HF_END, json_string("none"));
    if (export->length)
        rt_json_put(to, RT_HF_LENGTH, json_integer(export->length));
    rt_json_put(to, "dtype", json_string("float32"));
}

rt_status rt_huggingface_config_text(char **text_new, const rt_family *family,
                                     const rt_transformer *model,
                                     const rt_huggingface_export *export)
{
    const rt_transformer_options *o = &model->options;
    rt_export_theta theta;
    rt_status status = rt_export_theta_of(family, model, &theta);
    rt_config_writing w = {rt_json_object_new(), family, o, export, &theta};
    if (!status.code) {
        rt_json_put(&w.object, "architectures",
                    json_pack("[s]", rt_family_class_of(family, o)->name));
        rt_json_put(&w.object, "model_type", json_string(family->type));
        rt_config_rows_put(family->config, &w);
        if (o->head != RT_HEAD_LM)
            put_labels(&w.object, o, export);
        if (o->theta.learn)
            rt_put_theta(&w.object, o, &theta);
        put_own(&w.object, export);
        status = rt_json_text(text_new, &w.object, RT_HF_CONFIG);
    }
    rt_json_object_free(&w.object);
    rt_export_theta_free(&theta);
    return status;
}
