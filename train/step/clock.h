#ifndef ROTOR_TRAIN_STEP_CLOCK_H
#define ROTOR_TRAIN_STEP_CLOCK_H

/* Seconds of a clock that never goes back. Its zero means nothing: only differences do. */
double rt_seconds(void);

#endif
