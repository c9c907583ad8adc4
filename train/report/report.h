#ifndef ROTOR_TRAIN_REPORT_REPORT_H
#define ROTOR_TRAIN_REPORT_REPORT_H

/* report.html of a run: verdicts, figures, configuration, in one file that needs nothing else.
 * It is made of what the run left in its folder; the attention maps need the model as well. */

#include "train/report/figures.h"
#include "train/step/trainer.h"

/* Writes the report and its figures. `trainer` may be NULL: then there are no attention maps. The
 * page of a run that is still `watched` is reloaded by a browser every few seconds.
 * A failure is told but costs nothing else: the report is written without what is missing. */
rt_status rt_report_write(const char *folder, const rt_config *config, rt_trainer *trainer,
                          bool watched) RT_MUST_CHECK;

/* Figures of what a trained model attends to: the probabilities of every layer and head for the
 * first sequence of the evaluation set; in attention_maps.c. */
void rt_report_attention(rt_figures *f, const rt_config *config, rt_trainer *trainer);

/* Whether the user has switched reports off: ROTOR_NO_REPORT is set. */
bool rt_reports_are_off(void);

#endif
