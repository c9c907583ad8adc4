#include "core/parameters.h"

#include "core/memory.h"
#include "core/random.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BOUNDARY = 64 / sizeof(real) };

static rt_tensor *refuse(rt_parameters *p, rt_status why)
{
    if (!p->status.code)
        p->status = why;
    return NULL;
}

rt_tensor *rt_parameters_add(rt_parameters *p, rt_role role, rt_init init, rt_shape shape,
                             const char *name_format, ...)
{
    char name[RT_NAME_SIZE];
    va_list arguments;
    va_start(arguments, name_format);
    int length = vsnprintf(name, sizeof name, name_format, arguments);
    va_end(arguments);
    if (length >= RT_NAME_SIZE || rt_parameters_find(p, name))
        return refuse(p, rt_error(RT_ARGUMENT, "the name %s is %s", name,
                                  length >= RT_NAME_SIZE ? "too long" : "taken"));
    if (!rt_shape_size(shape))
        return refuse(p, rt_error(RT_ARGUMENT, "%s would have %s elements", name,
                                  rt_shape_write((char[RT_SHAPE_TEXT_SIZE]){0}, shape)));
    const bool grown = rt_grow(&p->list, &p->capacity, (size_t)p->count + 1, sizeof *p->list);
    rt_parameter *added = grown ? rt_alloc(1, sizeof *added) : NULL;
    if (!added)
        return refuse(p, rt_out_of_memory("a list of parameters"));
    memcpy(added->name, name, (size_t)length + 1);
    added->component = p->component;
    added->layer = p->component == RT_COMPONENT_LAYER ? p->layer : -1;
    added->joins = p->joins;
    added->tensor = rt_tensor_of(NULL, NULL, shape);
    added->role = role;
    added->init = init;
    added->init_std = p->init_std > 0 ? p->init_std : RT_INIT_STD;
    added->offset = p->block_size;
    p->list[p->count++] = added;
    p->block_size += (rt_shape_size(shape) + BOUNDARY - 1) / BOUNDARY * BOUNDARY;
    return &added->tensor;
}

/* The hash of its name (FNV-1a, 32 bits) selects the random stream of a parameter. */
void rt_parameter_draw(const rt_parameters *p, rt_parameter *parameter)
{
    uint32_t hash = 2166136261u;
    for (const char *c = parameter->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    const rt_random random = {p->seed, hash, RT_STREAM_PARAMETER};
    real *value = parameter->tensor.data;
    const size_t size = rt_size(&parameter->tensor);
    for (size_t i = 0; parameter->init == RT_INIT_NORMAL && i < size; i++)
        value[i] = (real)(parameter->init_std * rt_random_normal(random, i));
    for (size_t i = 0; parameter->init == RT_INIT_ONE && i < size; i++)
        value[i] = 1;
}

rt_status rt_parameters_allocate(rt_parameters *p, uint64_t seed, const rt_parameters *values_of)
{
    if (p->status.code)
        return p->status;
    p->seed = seed;
    p->borrows_values = values_of != NULL;
    p->values = values_of
                    ? values_of->values
                    : rt_account_alloc(p->account, RT_FOR_VALUES, p->block_size, sizeof(real));
    p->grads = rt_account_alloc(p->account, RT_FOR_GRADIENTS, p->block_size, sizeof(real));
    if (!p->values || !p->grads)
        return rt_error(RT_MEMORY, "out of memory for %zu parameters", rt_parameters_count(p));
    for (int i = 0; i < p->count; i++) {
        rt_parameter *parameter = p->list[i];
        parameter->tensor.data = p->values + parameter->offset;
        parameter->tensor.grad = p->grads + parameter->offset;
        parameter->tensor.wants_grad = true;
    }
    for (int i = 0; !values_of && !p->blank && i < p->count && rt_memory_is_present(p->values); i++)
        rt_parameter_draw(p, p->list[i]);
    return rt_ok();
}

void rt_parameters_free(rt_parameters *p)
{
    for (int i = 0; i < p->count; i++)
        rt_free(p->list[i]);
    rt_free(p->list);
    if (!p->borrows_values)
        rt_free(p->values);
    rt_free(p->grads);
    *p = (rt_parameters){0};
}

rt_parameter *rt_parameters_find(const rt_parameters *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->list[i]->name, name))
            return p->list[i];
    return NULL;
}

size_t rt_parameters_count(const rt_parameters *p)
{
    size_t count = 0;
    for (int i = 0; i < p->count; i++)
        count += rt_size(&p->list[i]->tensor);
    return count;
}

void rt_parameters_zero_grads(rt_parameters *p)
{
    if (p->block_size)
        memset(p->grads, 0, p->block_size * sizeof(real));
}
