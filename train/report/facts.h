#ifndef ROTOR_TRAIN_REPORT_FACTS_H
#define ROTOR_TRAIN_REPORT_FACTS_H

/* The tables at the end of a run's page. */

#include "train/config/config.h"
#include "train/text/writer.h"

/* Every key, section by section; those that are not at their defaults stand out. */
void rt_report_configuration(rt_writer *w, const rt_config *config);

/* How long the run took, and what made the report. */
void rt_report_machine(rt_writer *w, const char *folder);

#endif
