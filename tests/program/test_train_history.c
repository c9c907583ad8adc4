/* A checkpoint that was not made by the run that is to go on, though all of it is good by itself.
 */

#include "train_program.h"

#include "training/forged_attribute.h"

#define NEWEST "runs/tiny/checkpoints/step-00000020.h5"

SUITE(PROGRAM_OPTIONS)

TEST_ROWS(a_run_goes_on_from_its_own_past_alone, 0, 2)
{
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet train.steps=20");
    if (_i)
        forge_integer(NEWEST, "/", "seed", 5);
    else
        forge_integer(NEWEST, "/data", "position", 152);
    expect_exit(w, 4, "$TRAIN tiny.ini --quiet --resume");
    expect_text(w->err, _i ? NEWEST ": seed is 5, 1 expected\n"
                           : NEWEST ": position is 152, 160 expected\n");
    expect_exit(w, 0, "$TRAIN tiny.ini --quiet --eval"); /* which has no future */
}
