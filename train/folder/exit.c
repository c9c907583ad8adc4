#include "train/folder/exit.h"

rt_exit rt_exit_of(rt_code code)
{
    switch (code) {
    case RT_OK:
        return RT_EXIT_DONE;
    case RT_CONFIG:
        return RT_EXIT_CONFIG;
    case RT_DATA:
        return RT_EXIT_DATA;
    case RT_CHECKPOINT:
        return RT_EXIT_CHECKPOINT;
    case RT_NONFINITE:
        return RT_EXIT_NONFINITE;
    case RT_CHECK:
        return RT_EXIT_CHECK;
    case RT_MEMORY:
    case RT_SHAPE:
    case RT_ARGUMENT:
    case RT_IO:
        break;
    }
    return RT_EXIT_FAILURE;
}
