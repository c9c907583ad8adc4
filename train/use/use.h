#ifndef ROTOR_TRAIN_USE_USE_H
#define ROTOR_TRAIN_USE_USE_H

/* Commands that use a trained model, or what a run left in its folder. Messages go to stderr. */

#include "train/folder/results.h"
#include "train/run/state.h"

/* Uses a trained model: --eval, --usage, --distances, --gradient, --predict, --embed, --export.
 * With a CONFIG.ini, the checkpoint is used with its own configuration and the overrides of the
 * command line; without one, `config` is its configuration. Takes ownership of the contents of
 * `found`. */
rt_exit rt_use_model(const rt_config *config, rt_trained_model *found,
                     const rt_arguments *arguments);

/* Prints, for --decay, as CSV how much theta can prefer near keys, by distance (rt_decay), with the
 * decay of xPos if position.xpos is set. Columns are r; C, of the initial theta of the configured
 * run (rt_run_initial_theta); C_sliding, of sliding layers with another base; and, with
 * --checkpoint or --best, C_layer_0, C_layer_0_head_1 or C_all for each learned theta. Without a
 * configuration or key of the command line, C is of the initial theta in the checkpoint. If layers
 * or heads start at different values, C_initial_layer_0 and so on are in place of C. Rows are 0 to
 * 256, or to the longest sequence. `found` may have an open checkpoint, which is closed. Returns
 * RT_CONFIG if C(r) does not describe the model. */
rt_status rt_print_decay(const rt_config *config, rt_trained_model *found,
                         const rt_arguments *arguments) RT_MUST_CHECK;

/* Draws, for --report and --watch, the report of a run, of a sweep with its runs, or of several. */
rt_exit rt_report_command(const rt_arguments *arguments);

/* ---- private to train/use: what rt_use_model does with the loaded model ---- */

/* Exports the loaded model to the path of --export, with its length of training, results and
 * changes of theta in the model card: a file FILE.gguf or a folder of Hugging Face. Returns
 * RT_CONFIG if the path is a run, or if the format cannot represent an option of the model. */
rt_status rt_export_model(const rt_run *r) RT_MUST_CHECK;

/* Prints, for --embed, a vector for each line below a heading v0, v1, ..., or writes all vectors as
 * the dataset /embeddings of --output or as .npy. Warns of truncated lines.
 *
 * Returns RT_DATA for a line that cannot be read or has no token, and for a file without a line;
 * RT_CONFIG for a layer that the model does not have, and for data without texts. */
rt_status rt_embed_lines(rt_run *r) RT_MUST_CHECK;

/* Prints, for --eval --per-line, the loss of each line of the evaluation data in nats, as CSV.
 *
 *     labelled data   line,loss,label,predicted: of each text of the task classify, of each token
 *                     of the task tag
 *     text            line,loss,tokens: of each line of data.eval_file as a text of its own, the
 *                     mean loss of its tokens and their number. With data.objective = lm each token
 *                     is predicted from those before it, with mlm from all others, by masking one
 *                     after the other (the pseudo-log-likelihood of Salazar et al. 2020). A line
 *                     without tokens has no loss. The tokens that begin and end a text are input,
 *                     but have no loss.
 *
 * Warns of truncated lines. Returns RT_CONFIG for a text without data.eval_file or with several,
 * and for data that has no lines; RT_DATA for a line that is not text. */
rt_status rt_print_line_losses(rt_run *r) RT_MUST_CHECK;

#endif
