/* A text of any bytes, by byte and by character, masked and not. */

#include "fuzz_data.h"

FUZZ(text)
{
    rt_data_options o = options_of("text");
    o.file = fuzz_file(bytes, size);
    for (int n = 0; n < 4; n++) {
        o.level = n % 2 ? RT_LEVEL_CHAR : RT_LEVEL_BYTE;
        o.objective = n / 2 ? RT_OBJECTIVE_LM : RT_OBJECTIVE_MLM;
        open_and_draw(&o);
    }
    return 0;
}
