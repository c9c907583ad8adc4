#ifndef ROTOR_MODELS_ENCODINGS_CLASSES_H
#define ROTOR_MODELS_ENCODINGS_CLASSES_H

/* The state of encodings that sort distances into classes. */

#include "core/memory.h"
#include "models/encodings/encoding.h"
#include "models/positions.h"

typedef struct rt_distance_classes {
    rt_distances distances; /* refers to class_of */
    int16_t class_of[RT_MAX_CLASSES_OF];
} rt_distance_classes;

#endif
