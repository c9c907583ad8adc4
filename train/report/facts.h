#ifndef ROTOR_TRAIN_REPORT_FACTS_H
#define ROTOR_TRAIN_REPORT_FACTS_H

/* The tables at the end of a run's page. */

#include "train/config/config.h"
#include "train/text/writer.h"

/* The keys that are shown, all if that is NULL, and not at their defaults. */
void rt_report_keys(rt_writer *w, const char *heading, const rt_config *config,
                    const bool shown[RT_MAX_KEYS]);

/* The same of all, and folded behind them every key, section by section. */
void rt_report_configuration(rt_writer *w, const rt_config *config);

/* How long the run took, and what made the report. */
void rt_report_machine(rt_writer *w, const char *folder);

#endif
