#include "data/alphabet.h"

#include "data/batch.h"

#include <string.h>

rt_alphabet rt_alphabet_of(const uint8_t *text, size_t bytes)
{
    rt_alphabet alphabet;
    uint8_t occurs[RT_BYTE_VALUES] = {0};
    memset(&alphabet, 0, sizeof alphabet);
    for (size_t i = 0; i < bytes; i++)
        occurs[text[i]] = 1;
    for (int byte = 0; byte < RT_BYTE_VALUES; byte++) {
        if (!occurs[byte])
            continue;
        alphabet.ids[byte] = RT_FIRST_SYMBOL + alphabet.count;
        alphabet.units[alphabet.count++] = (uint8_t)byte;
    }
    return alphabet;
}

rt_status rt_alphabet_encode(const rt_alphabet *alphabet, const char *text, size_t bytes,
                             int32_t *ids)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t byte = (uint8_t)text[i];
        ids[i] = alphabet->ids[byte];
        if (ids[i] != RT_ID_PAD)
            continue;
        if (byte >= ' ' && byte <= '~')
            return rt_error(RT_ARGUMENT, "'%c' at byte %zu does not occur in the training text",
                            byte, i);
        return rt_error(RT_ARGUMENT, "byte 0x%02x at byte %zu does not occur in the training text",
                        byte, i);
    }
    return rt_ok();
}

int rt_alphabet_decode(const rt_alphabet *alphabet, int32_t id)
{
    if (id < RT_FIRST_SYMBOL || id - RT_FIRST_SYMBOL >= alphabet->count)
        return -1;
    return alphabet->units[id - RT_FIRST_SYMBOL];
}
