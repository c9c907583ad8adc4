/* One command of each kind, for sanitizer builds. Results are tested elsewhere. */

#include "train_program.h"

SUITE(PROGRAM_OPTIONS)

static void make_files(void)
{
    run("for i in $(seq 60); do echo \"line $i of a small text, whose words come again\"; done "
        ">text.txt; printf 'text\\tlabel\\n' >rows.tsv; for i in $(seq 40); do printf \"good "
        "$i\\tyes\\nbad $i\\tno\\n\"; done >>rows.tsv");
}

#define SHORT   "tiny.ini --quiet train.steps=4 train.eval_every=2 optimizer.schedule_steps=4 "
#define TEXT    SHORT "theta.learn=no data.task=text data.file=text.txt data.length=16 "
#define MASKED  TEXT "data.vocab=32 "
#define DECODER TEXT "model.kind=decoder model.ffn_dim=24 data.vocab=32 "

/* Commands, of which the last must say something. */
static const char *const rows[][2] = {
    {"$TRAIN " SHORT, "theta: max relative drift"},
    {"$TRAIN " SHORT "theta.scope=head theta.tolerances=yes theta.check=unmoved",
     "theta: reset to init"},
    {"$TRAIN " SHORT
     "train.shards=4 --threads 2 train.recompute=layers model.dropout=0.1 optimizer.kind=muon",
     "steps: 4, "},
    {"$TRAIN " SHORT "model.attention=linear_elu optimizer.kind=lion", "steps: 4, "},
    {"$TRAIN " SHORT "theta.learn=no position.kind=t5 train.eval_lengths=20", "steps: 4, "},
    {"$TRAIN " SHORT "theta.learn=no position.kind=alibi model.causal=yes", "steps: 4, "},
    {"$TRAIN " SHORT "&& $TRAIN tiny.ini --quiet --resume train.steps=6 train.eval_every=2 "
     "optimizer.schedule_steps=6",
     "steps: 6, "},
    {"$TRAIN " SHORT "sweep.run.seed=1,2,3", "runs"},
    {"$TRAIN " MASKED "&& $TRAIN --checkpoint runs/tiny --predict 'a small [MASK]'", "mask 1: "},
    {"$TRAIN " DECODER
     "&& $TRAIN --checkpoint runs/tiny --predict 'line' --tokens 8 --temperature 1 --top-k 5",
     "line"},
    {"$TRAIN " DECODER "&& $TRAIN --checkpoint runs/tiny --export out && $TRAIN --checkpoint out "
     "--eval data.file=text.txt --quiet",
     "eval: "},
    {"$TRAIN " DECODER "model.kv_heads=1 && $TRAIN --checkpoint runs/tiny --export out.gguf", ""},
    {"$TRAIN " SHORT "theta.learn=no data.task=classify data.file=rows.tsv data.vocab=32 && $TRAIN "
     "--checkpoint runs/tiny --predict 'good 3'",
     "yes"},
    {"$TRAIN " DECODER "&& $TRAIN --checkpoint runs/tiny --embed text.txt --output v.h5", ""},
    {"$TRAIN " DECODER "&& $TRAIN --checkpoint runs/tiny --usage", "layer,head,i,theta"},
    {"$TRAIN --train-tokenizer 280 text.txt >bpe.json && sed -i /vocab/d tiny.ini && $TRAIN " TEXT
     "data.level=bpe data.vocab_file=bpe.json data.objective=lm model.causal=yes",
     "steps: 4, "},
};

TEST_ROWS(each_kind_of_command_succeeds, 0, ROWS(rows))
{
    make_files();
    expect_stdout(rows[_i][1], "%s", rows[_i][0]);
}
