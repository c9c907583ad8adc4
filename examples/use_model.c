/* use_model.c: what a trained model makes of a text. A language model continues it: with its most
 * likely tokens, or at a temperature as the program rotor draws them. A model of labelled texts
 * gives the probability of each class. The model is a checkpoint, a folder of Hugging Face or a
 * GGUF file.
 *
 *     cc -std=c11 use_model.c -o use_model $(pkg-config --cflags --libs rotor-io)
 *     ./use_model MODEL TEXT [TEMPERATURE] */

#include <rotor/rotor-io.h>
#include <rotor/rotor.h>

#include <stdio.h>
#include <stdlib.h>

static rt_status classify(rt_model *model, const char *text)
{
    double *p = malloc((size_t)model->labels->count * sizeof *p);
    rt_status status =
        p ? rt_model_classify(model, text, NULL, p) : rt_out_of_memory("probabilities");
    for (int i = 0; !status.code && i < model->labels->count; i++)
        printf("%s\t%.4f\n", model->labels->names[i], p[i]);
    free(p);
    return status;
}

static rt_status generate(const rt_vocabulary *v, rt_session *session, rt_sampler *sampler,
                          const rt_row *row, real *logits)
{
    const int most = rt_session_capacity(session);
    RT_TRY(rt_session_feed(session, row->ids, row->length, 1, logits));
    for (uint32_t n = 0; rt_session_count(session) < most; n++) {
        int32_t id;
        rt_vocabulary_mask_logits(v, true, logits); /* [MASK] and the like are no text */
        RT_TRY(rt_sampler_draw(sampler, logits, n, &id));
        if (rt_vocabulary_is_end(v, id)) /* of Hugging Face's models */
            break;
        const rt_spelling s = rt_vocabulary_spell(v, id);
        printf("%s%.*s", s.space ? " " : "", (int)s.size, s.bytes);
        fflush(stdout);
        RT_TRY(rt_session_feed(session, &id, 1, 1, logits));
    }
    printf("\n");
    return rt_ok();
}

static rt_status continue_text(rt_model *model, const char *text, double temperature)
{
    const rt_sampling sampling = {.temperature = temperature,
                                  .top_k = 40,
                                  .top_p = 0.95,
                                  .seed = 1};
    rt_session *session = NULL;
    rt_sampler *sampler = NULL;
    real *logits = NULL;
    rt_row row;
    rt_status status = rt_model_encode(model, text, NULL, &row);
    if (!status.code)
        status = rt_session_new(&session, model->transformer, model->length);
    if (!status.code)
        status = rt_sampler_new(&sampler, &sampling, model->vocabulary->count);
    if (!status.code) {
        logits = malloc((size_t)model->transformer->options.vocab * sizeof *logits);
        status = logits ? rt_ok() : rt_out_of_memory("logits");
    }
    if (!status.code) {
        printf("%s", text);
        status = generate(model->vocabulary, session, sampler, &row, logits);
    }
    free(logits);
    rt_sampler_free(sampler);
    rt_session_free(session);
    rt_row_free(&row);
    return status;
}

int main(int argc, char **argv)
{
    rt_model *model;
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: use_model MODEL TEXT [TEMPERATURE]\n");
        return 2;
    }
    rt_status status = rt_model_open(&model, argv[1]);
    if (!status.code)
        fprintf(stderr, "%s", model->warnings);
    if (!status.code)
        status = model->labels ? classify(model, argv[2])
                               : continue_text(model, argv[2], argc > 3 ? atof(argv[3]) : 0);
    if (status.code)
        fprintf(stderr, "%s\n", status.message);
    rt_model_close(model);
    return status.code != RT_OK;
}

/* With what save_model.c made, ./use_model shells.h5 'she sells ' prints:
 *
 *     she sells sea shells by the sea shore, the shel
 */
