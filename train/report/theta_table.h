#ifndef ROTOR_TRAIN_REPORT_THETA_TABLE_H
#define ROTOR_TRAIN_REPORT_THETA_TABLE_H

/* The table of a learned theta, pair by pair, from the theta_final.csv of a run. */

#include "text/writer.h"

/* Nothing if the folder has no such table. Of a long one the beginning. */
void rt_report_theta_table(rt_writer *w, const char *folder);

#endif
