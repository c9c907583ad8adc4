/* Numbers of tensors in a GGUF file. A block of 32 numbers has a scale, as F16, and in Q4_1 and
 * Q5_1 a minimum. A block of 256 numbers (k-quants) has scales of 6 or 8 bits for parts of it. */

#include "io/gguf/private.h"

enum { SMALL = 32, LARGE = 256, SCALES = 12 };

/* Reads 32 numbers of 4 or 5 bits: scale, minimum if there is one, fifth bits, then the lower four,
 * of which a byte has those of the numbers i and i + 16. Without a minimum, the middle is 0. */
static void read_small(const unsigned char *block, double *values, int bits, bool has_minimum)
{
    const double scale = rt_half_value(block);
    const double minimum = has_minimum ? rt_half_value(block + 2) : -scale * (1 << (bits - 1));
    const unsigned char *high = block + (has_minimum ? 4 : 2), *low = high + (bits > 4 ? 4 : 0);
    for (int i = 0; i < SMALL; i++) {
        const int half = i / (SMALL / 2), byte = low[i % (SMALL / 2)];
        const int fifth = bits > 4 ? high[i / 8] >> i % 8 & 1 : 0;
        const int number = (byte >> 4 * half & 15) | fifth << 4;
        values[i] = (double)(float)(scale * number + minimum);
    }
}

static void read_q8_0(const unsigned char *block, double *values)
{
    const double scale = rt_half_value(block);
    for (int i = 0; i < SMALL; i++)
        values[i] = (double)(float)(scale * (signed char)block[2 + i]);
}

/* Reads the scale and the minimum of a part of 32 numbers, of 6 bits each: those of the first four
 * parts are the lower bits of 8 bytes, whose upper two belong to the others, as 4 more bytes do. */
static void read_scales(const unsigned char *packed, int part, int *scale, int *minimum)
{
    const unsigned char *at = packed + part % 4;
    *scale = part < 4 ? at[0] & 63 : (at[8] & 15) | at[0] >> 6 << 4;
    *minimum = part < 4 ? at[4] & 63 : at[8] >> 4 | at[4] >> 6 << 4;
}

/* Reads 256 numbers of 4 or 5 bits: scales of the scales and the minima, these, fifth bits by part,
 * then the lower four, of which a byte has those of the numbers i and i + 32. */
static void read_large(const unsigned char *block, double *values, int bits)
{
    const double of_scales = rt_half_value(block), of_minima = rt_half_value(block + 2);
    const unsigned char *high = block + 4 + SCALES, *low = high + (bits > 4 ? SMALL : 0);
    int scale, minimum;
    for (int i = 0; i < LARGE; i++) {
        const int part = i / SMALL, within = i % SMALL;
        const int fifth = bits > 4 ? high[within] >> part & 1 : 0;
        const int number = (low[part / 2 * SMALL + within] >> 4 * (part % 2) & 15) | fifth << 4;
        read_scales(block + 4, part, &scale, &minimum);
        values[i] = (double)(float)(of_scales * scale * number - of_minima * minimum);
    }
}

/* Reads 256 numbers of 6 bits: the lower four, the upper two, scales of 16 numbers each, and the
 * scale of the scales. A half of 128 numbers has 64 bytes of lower and 32 of upper bits. */
static void read_q6_k(const unsigned char *block, double *values)
{
    enum { HALF = LARGE / 2, LOW = LARGE / 2, HIGH = LARGE / 4, MIDDLE = 32 };
    const unsigned char *high = block + LOW, *scales = high + HIGH;
    const double of_scales = rt_half_value(scales + LARGE / 16);
    for (int i = 0; i < LARGE; i++) {
        const int half = i / HALF, part = i % HALF / SMALL, within = i % SMALL;
        const int lower = block[half * 64 + part % 2 * SMALL + within] >> part / 2 * 4 & 15;
        const int upper = high[half * SMALL + within] >> 2 * part & 3;
        values[i] = (double)(float)(of_scales * (signed char)scales[i / 16] *
                                    ((lower | upper << 4) - MIDDLE));
    }
}

#define READER(name, ...)                                                                          \
    static void name(const unsigned char *block, double *values)                                   \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
    }
READER(read_q4_0, read_small(block, values, 4, false))
READER(read_q4_1, read_small(block, values, 4, true))
READER(read_q5_0, read_small(block, values, 5, false))
READER(read_q5_1, read_small(block, values, 5, true))
READER(read_q4_k, read_large(block, values, 4))
READER(read_q5_k, read_large(block, values, 5))

/* By the numbers of the format. */
#define TYPE(...) (&(const rt_number_type){__VA_ARGS__})
static const rt_number_type *const types[] = {
    [0] = rt_number_types + RT_DTYPE_F32,       [1] = rt_number_types + RT_DTYPE_F16,
    [2] = TYPE("Q4_0", SMALL, 18, read_q4_0),   [3] = TYPE("Q4_1", SMALL, 20, read_q4_1),
    [6] = TYPE("Q5_0", SMALL, 22, read_q5_0),   [7] = TYPE("Q5_1", SMALL, 24, read_q5_1),
    [8] = TYPE("Q8_0", SMALL, 34, read_q8_0),   [12] = TYPE("Q4_K", LARGE, 144, read_q4_k),
    [13] = TYPE("Q5_K", LARGE, 176, read_q5_k), [14] = TYPE("Q6_K", LARGE, 210, read_q6_k),
    [28] = rt_number_types + RT_DTYPE_F64,      [30] = rt_number_types + RT_DTYPE_BF16,
};

const rt_number_type *rt_gguf_type(uint32_t number)
{
    const uint32_t count = sizeof types / sizeof *types;
    return number < count ? types[number] : NULL;
}
