#ifndef ROTOR_TEXT_PROGRAM_NAME_H
#define ROTOR_TEXT_PROGRAM_NAME_H

/* The name under which the program was started, which its messages begin with: train where it was
 * built, rotor where it is installed; the same in both precisions, without "-f64". */
const char *rt_program_name(void);

#endif
