#ifndef ROTOR_TRAIN_RUN_CLASS_OUTCOME_H
#define ROTOR_TRAIN_RUN_CLASS_OUTCOME_H

/* What a model of labelled data took each class for. */

#include "data/data.h"
#include "data/labels.h"
#include "text/writer.h"
#include "train/step/scores.h"

/* Starts zeroed, and stays so where the data has no labels. */
typedef struct rt_class_outcome {
    const rt_labels *labels; /* of the data, which must be open as long */
    int64_t *confusion;      /* (classes, classes), as rt_trainer_confusion */
    rt_class_score *scores;  /* of each class */
    rt_macro_score macro;
} rt_class_outcome;

/* Makes room for a confusion matrix, which is then filled in. To be freed in any case. */
rt_status rt_class_outcome_new(rt_class_outcome *o, const rt_data *data) RT_MUST_CHECK;
void rt_class_outcome_free(rt_class_outcome *o);

/* Finds the scores; adds the line of the macro F1 and the table of the classes that occur or are
 * predicted, or of those with the lowest F1. */
void rt_class_outcome_report(rt_writer *w, rt_class_outcome *o);

/* The table of all classes, and the matrix as a list of the pairs that occur. */
void rt_class_outcome_classes(rt_writer *w, const rt_class_outcome *o);
void rt_class_outcome_confusion(rt_writer *w, const rt_class_outcome *o);

#endif
