#include "io/huggingface/private.h"

#include "text/writer.h"

#include <string.h>

/* ---- reading ---- */

/* The type of layer l as config.json says it, in a list or, in older folders, by a rule. */
static int read_type(rt_reading *r, const json_t *types, int l, bool by_rule)
{
    char quoted[RT_QUOTE_SIZE];
    const char *type = json_string_value(json_array_get(types, (size_t)l));
    if (!types)
        return by_rule ? RT_LAYER_SLIDING : RT_LAYER_FULL;
    if (type && !strcmp(type, "sliding_attention"))
        return RT_LAYER_SLIDING;
    if (!type || strcmp(type, "full_attention") != 0)
        rt_reading_refuse(r,
                          "layer_types must have full_attention or sliding_attention for each of "
                          "%d layers: rotor has no other; that of layer %d is %s",
                          (int)json_array_size(types), l,
                          rt_quote(quoted, type ? type : "something else"));
    return RT_LAYER_FULL;
}

const json_t *rt_layer_list(rt_reading *r, const char *key, int layers)
{
    const json_t *list = rt_reading_find(r, key);
    if (list && json_array_size(list) != (size_t)layers)
        rt_reading_refuse(r, "%s must be a list of %d, num_hidden_layers", key, layers);
    return list;
}

/* Layers that all have a window, or none of which has one, need no list. */
static void take_window(rt_transformer_options *o, const rt_layer_words *types, int sliding,
                        int window)
{
    o->window = sliding ? window : 0;
    if (sliding && sliding < o->layers)
        o->layer_types = *types;
}

void rt_layer_types_read(rt_reading *r, rt_huggingface *there, int window, const bool *by_rule)
{
    rt_transformer_options *o = &there->options;
    const json_t *list = rt_layer_list(r, "layer_types", o->layers);
    rt_layer_words types = {.count = o->layers};
    int sliding = 0;
    for (int l = 0; l < o->layers; l++) {
        const int type = read_type(r, list, l, by_rule[l]);
        types.at[l] = (unsigned char)type;
        sliding += type == RT_LAYER_SLIDING;
    }
    if (sliding && !window)
        rt_reading_refuse(r, "layer_types has sliding_attention, but use_sliding_window and "
                             "sliding_window give no window");
    take_window(o, &types, sliding, window);
}

/* ---- writing ---- */

bool rt_layer_slides(const rt_transformer_options *o, int layer)
{
    return rt_layer_row_of(o, layer).window > 0;
}

void rt_layer_types_put(rt_config_writing *w)
{
    const rt_transformer_options *o = w->options;
    json_t *types = json_array();
    bool failed = !types;
    for (int l = 0; l < o->layers && !failed; l++)
        failed = json_array_append_new(types,
                                       json_string(rt_layer_slides(o, l) ? "sliding_attention"
                                                                         : "full_attention")) != 0;
    if (failed) {
        json_decref(types);
        types = NULL;
    }
    rt_json_put(&w->object, "layer_types", types);
}
