/* No positions: a causal model still sees how many tokens are behind one. */

#include "models/encodings/encoding.h"

const rt_encoding rt_encoding_none = {.word = "none"};
