#ifndef ROTOR_TRAIN_REPORT_CLASS_TABLE_H
#define ROTOR_TRAIN_REPORT_CLASS_TABLE_H

/* How well a run tells each class from the others, and which it takes for which, from its
 * classes.csv and confusion.csv. */

#include "text/writer.h"

/* Nothing if the folder has no such tables, or none whose labels ascend as a run writes them. Of
 * many classes the table has those with the lowest F1, the matrix those with the most errors. */
void rt_report_classes(rt_writer *w, const char *folder);

#endif
