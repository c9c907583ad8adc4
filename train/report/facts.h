#ifndef ROTOR_TRAIN_REPORT_FACTS_H
#define ROTOR_TRAIN_REPORT_FACTS_H

/* The tables at the end of a run's page. */

#include "text/writer.h"
#include "train/config/config.h"
#include "train/report/sweep_runs.h"
#include "train/step/trainer.h"

/* The keys that are shown, all if that is NULL, and not at their defaults; nothing if there are
 * none. */
void rt_report_keys(rt_writer *w, const char *heading, const rt_config *config,
                    const bool shown[RT_MAX_KEYS]);

/* The same of all, and folded behind them every key, section by section. */
void rt_report_configuration(rt_writer *w, const rt_config *config);

/* The size of the model, unless `trainer` is NULL; how long the run took, when, where and by which
 * commands; and what made the report. */
void rt_report_machine(rt_writer *w, const char *folder, rt_trainer *trainer);

/* The same of a sweep in FOLDER: its runs together, and the first of them for when and where. */
void rt_report_sweep_machine(rt_writer *w, const char *folder, const rt_sweep_runs *runs);

#endif
