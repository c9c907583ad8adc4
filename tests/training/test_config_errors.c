#include "config_loading.h"

#include "text/suggest.h"
#include "text/writer.h"

#define FROM_1_TO_1000 "must be a whole number from 1 to 1000"
#define LR             "theta.ini:2: optimizer.lr must be a number >= 0; got "

/* Values that no key takes, contradictions between keys, which name the later line, and bad
 * overrides. */
enum { TEXT, ERRORS, OVERRIDE, COLUMNS };
static const char *const bad[][COLUMNS] = {
    {"[optimizer]\nlearnig_rate = 1\n",
     "theta.ini:2: unknown key 'learnig_rate' in [optimizer]; did you mean 'lr'?\n"},
    {"[optimizer]\nlearning-rate = 1\n",
     "theta.ini:2: unknown key 'learning-rate' in [optimizer]; did you mean 'lr'?\n"},
    {"[train]\nlearning_rate = 1\n",
     "theta.ini:2: unknown key 'learning_rate' in [train]; did you mean 'lr' in [optimizer]?\n"},
    {"[theta]\nlora_rank = 8\n",
     "theta.ini:2: unknown key 'lora_rank' in [theta]; its keys are learn, scope, form, init, "
     "init_sigma, head_scale, init_from, tolerance, check, log, cutoffs, tolerances, lr_scale\n"},
    {"[train]\ngradient_accumulation_steps = 8\n",
     "theta.ini:2: unknown key 'gradient_accumulation_steps' in [train]; did you mean 'shards'?\n"},
    {"[model]\n\nlayer = 1\n",
     "theta.ini:3: unknown key 'layer' in [model]; did you mean 'layers'?\n"},
    {"[positon]\nkind = nonsense\n",
     "theta.ini:1: unknown section 'positon'; did you mean 'position'?\n"},
    {"[wombat]\n", "theta.ini:1: unknown section 'wombat'; the sections are run, model, position, "
                   "theta, data, optimizer, train\n"},
    {"[train]\nlr = 1\n", "theta.ini:2: unknown key 'lr' in [train]; it belongs to [optimizer]\n"},
    {"[train]\nwarmup = 1\n",
     "theta.ini:2: unknown key 'warmup' in [train]; did you mean 'warmup_steps' in [optimizer]?\n"},
    {"[position]\nwombat = 1\n",
     "theta.ini:2: unknown key 'wombat' in [position]; its keys are kind, pairing, base, "
     "local_base, fraction, rotate_value, xpos, every, layers, frequencies, scaling, scale, "
     "original_len, beta_fast, beta_slow, high_freq_factor, low_freq_factor, attention_factor, "
     "short_factors, long_factors, init_std, max_len\n"},
    {"[model]\nLayers = 1\n",
     "theta.ini:2: unknown key 'Layers' in [model]; did you mean 'layers'?\n"},
    {"[optimizer]\nlr = 1\nkind = sgd\nlr = 1\n",
     "theta.ini:4: duplicate key 'lr' in [optimizer]; line 2 has it\n"},
    {"[optimizer]\nlr =\n", "theta.ini:2: optimizer.lr has no value\n"},
    {"[optimizer]\nlr = ; later\n", "theta.ini:2: optimizer.lr has no value\n"},
    {"[optimizer]\nlr = 0x10\n", LR "'0x10'\n"},
    {"[optimizer]\nlr = nan\n", LR "'nan'\n"},
    {"[optimizer]\nlr = inf\n", LR "'inf'\n"},
    {"[optimizer]\nlr = 1e999\n", LR "'1e999', which is outside of the range of a double\n"},
    {"[optimizer]\nlr = 1e-999\n", LR "'1e-999', which is outside of the range of a double\n"},
    {"[optimizer]\nlr = 1e\n", LR "'1e'\n"},
    {"[optimizer]\nlr = .\n", LR "'.'\n"},
    {"[optimizer]\nlr = 0,5\n", LR "'0,5'\n"},
    {"[optimizer]\nlr = 1 2\n", LR "'1 2'\n"},
    {"[optimizer]\nlr = -1\n", LR "'-1'\n"},
    {"[optimizer]\nlr = 0.1 # high\n",
     LR "'0.1 # high'; a comment after a value starts with ' ;'\n"},
    {"[optimizer]\nlr = 1\x1b[31m\n", LR "'1?[31m'\n"},
    {"[model]\nlayers = 2.0\n", "theta.ini:2: model.layers " FROM_1_TO_1000 "; got '2.0'\n"},
    {"[model]\nlayers = 0\n", "theta.ini:2: model.layers " FROM_1_TO_1000 "; got '0'\n"},
    {"[model]\nlayers = 99999999999999999999\n",
     "theta.ini:2: model.layers " FROM_1_TO_1000 "; got '99999999999999999999'\n"},
    {"[run]\nseed = 9223372036854775808\n", "theta.ini:2: run.seed must be a whole number from 0 "
                                            "to 9223372036854775807; got '9223372036854775808'\n"},
    {"[run]\nseed = -1\n",
     "theta.ini:2: run.seed must be a whole number from 0 to 9223372036854775807; got '-1'\n"},
    {"[model]\ncausal = Yes\n",
     "theta.ini:2: model.causal must be one of no, yes; got 'Yes'; did you mean 'yes'?\n"},
    {"[optimizer]\nschedule = cosin\n", "theta.ini:2: optimizer.schedule must be one of constant, "
                                        "linear, cosine; got 'cosin'; did you mean 'cosine'?\n"},
    {"[model]\ndropout = 1\n",
     "theta.ini:2: model.dropout must be a number >= 0 and < 1; got '1'\n"},
    {"[train]\neval_lengths = 64,\n",
     "theta.ini:2: train.eval_lengths must be up to 8 comma-separated whole numbers from 2 to "
     "1000000; got '64,'\n"},
    {"[train]\neval_lengths = 1\n", "theta.ini:2: train.eval_lengths must be up to 8 "
                                    "comma-separated whole numbers from 2 to 1000000; got '1'\n"},
    {"[train]\neval_lengths = 2,2,2,2,2,2,2,2,2\n",
     "theta.ini:2: train.eval_lengths must be up to 8 comma-separated whole numbers from 2 to "
     "1000000; got '2,2,2,2,2,2,2,2,2'\n"},
    {"[position]\nbase = 1\n", "theta.ini:2: position.base must be a number > 1; got '1'\n"},
    {"[position]\nfraction = 1.5\n",
     "theta.ini:2: position.fraction must be a number from 0 to 1; got '1.5'\n"},
    {"lr = 1\n[train]\n", "theta.ini:1: key 'lr' stands before the first [section]\n"},
    {"[train]\nsteps 5\n", "theta.ini:2: a line must be 'key = value'; got 'steps 5'\n"},
    {"[train]\n= 5\n", "theta.ini:2: a line must be 'key = value'; got '= 5'\n"},
    {"[run]\nname = a\n[train\nsteps = x\n",
     "theta.ini:3: a section needs a ']' at its end; got '[train'\n"},
    {"[train] steps\n", "theta.ini:1: nothing can follow a section's ']'; got 'steps'\n"},
    {"[train]steps\n", "theta.ini:1: nothing can follow a section's ']'; got 'steps'\n"},
    {"[]\n", "theta.ini:1: unknown section ''; the sections are run, model, position, theta, data, "
             "optimizer, train\n"},
    {"[run]\nname = a\tb\n", "theta.ini:2: run.name must be text of at most 127 bytes without "
                             "control characters; got 'a?b'\n"},
    {"[run]\ndir = x # y\n",
     "theta.ini:2: run.dir must be text of at most 4095 bytes without control characters; got 'x # "
     "y'; a comment after a value starts with ' ;'\n"},
    {"[run]\nname = ..\n", "theta.ini:2: run.name must name a directory, without '/' and not with "
                           "'-' at the start; got '..'\n"},
    {"[run]\nname = a/b\n", "theta.ini:2: run.name must name a directory, without '/' and not with "
                            "'-' at the start; got 'a/b'\n"},
    {"[run]\nname = -a\n", "theta.ini:2: run.name must name a directory, without '/' and not with "
                           "'-' at the start; got '-a'\n"},

    /* contradictions */
    {"[model]\nheads = 3\ndim = 64\n",
     "theta.ini:3: model.dim = 64 is not divisible by model.heads = 3\n"},
    {"[model]\nheads = 3\n", "theta.ini:2: model.dim = 64 is not divisible by model.heads = 3\n"},
    {"[model]\ndim = 60\n[position]\nkind = rope\n",
     "theta.ini:4: position.kind = rope needs heads of even size; model.dim = 60 and model.heads = "
     "4 make it 15\n"},
    {"[position]\nfraction = 0.3\n", "theta.ini:2: position.fraction = 0.3 is 2.4 of the 8 pairs "
                                     "of a head; the nearest that fit are 0.25 and 0.375\n"},
    {"[theta]\nlearn = yes\n[position]\nfraction = 0\n",
     "theta.ini:4: theta.learn = yes needs rotated pairs; position.fraction = 0 leaves none\n"},
    {"[position]\nkind = none\n[theta]\nlearn = yes\n",
     "theta.ini:4: theta.learn = yes needs position.kind = rope\n"},
    {"[model]\nattention = linear_elu\n[position]\nkind = t5\n",
     "theta.ini:4: position.kind = t5 changes attention scores and needs model.attention = "
     "softmax; got linear_elu\n"},
    {"[position]\nkind = shaw\n[model]\nattention = linear_cosine\n",
     "theta.ini:4: position.kind = shaw changes attention scores and needs model.attention = "
     "softmax; got linear_cosine\n"},
    {"[position]\nkind = alibi\n[model]\nattention = linear_softmax\n",
     "theta.ini:4: position.kind = alibi changes attention scores and needs model.attention = "
     "softmax; got linear_softmax\n"},
    {"[model]\nattention = linear_elu\nattention_dropout = 0.1\n",
     "theta.ini:3: model.attention_dropout > 0 needs model.attention = softmax: linear attention "
     "has no weights to drop\n"},
    {"[model]\nkv_heads = 3\n",
     "theta.ini:2: model.kv_heads = 3 does not divide model.heads = 4\n"},
    {"[model]\nkv_heads = 2\nattention = linear_elu\n",
     "theta.ini:3: model.kv_heads = 2 for 4 heads needs model.attention = softmax; got "
     "linear_elu\n"},
    {"[model]\nattention = linear_elu\nwindow = 8\n",
     "theta.ini:3: model.window needs model.attention = softmax; got linear_elu\n"},
    {"[position]\nlocal_base = 100\n",
     "theta.ini:2: position.local_base = 100 has no effect: it needs model.window above 0 and "
     "position.kind = rope and position.frequencies = geometric or linear\n"},
    {"[model]\nwindow = 3\nlayer_types = full,full\n[position]\nlocal_base = 100\n",
     "theta.ini:3: model.layer_types has no sliding layer for model.window = 3\n"
     "theta.ini:5: position.local_base needs a sliding layer that has positions: see model.window "
     "and model.layer_types\n"},
    {"[model]\nwindow = 3\nlayer_types = full,sliding\n[position]\nlocal_base = 0.5\n",
     "theta.ini:5: position.local_base must be 0 or above 1; got 0.5\n"},
    {"[model]\nnorm_kind = rms\nnorm_bias = no\n",
     "theta.ini:3: model.norm_bias = no has no effect: it needs model.norm_kind = layer\n"},
    {"[model]\nfirst_norm = no\n",
     "theta.ini:2: model.first_norm = no has no effect: it needs model.norm = pre\n"},
    {"[model]\ncausal = yes\ntoken_dropout = yes\n[data]\nobjective = lm\ntask = period\n",
     "theta.ini:3: model.token_dropout = yes has no effect: it needs model.causal = no\n"},
    {"[model]\nclassifier = tanh\n",
     "theta.ini:2: model.classifier = tanh has no effect: it needs model.kind = roformer and "
     "data.task = order or classify, or model.kind = roformer and model.classifier = norm and "
     "data.task = tag\n"},
    {"[model]\nclassifier = tanh\nkind = decoder\npool = last\n[data]\ntask = order\n",
     "theta.ini:2: model.classifier = tanh has no effect: it needs model.kind = roformer and "
     "data.task = order or classify, or model.kind = roformer and model.classifier = norm and "
     "data.task = tag\n"},
    {"[model]\nkind = decoder\nbias = output\n",
     "theta.ini:3: model.bias = output needs model.kind = roformer: the output layer of a decoder "
     "has no bias\n"},
    {"[model]\nkind = decoder\ntie_embeddings = yes\nembedding_dim = 32\n",
     "theta.ini:4: model.kind = decoder with model.tie_embeddings = yes needs embeddings as wide "
     "as the model; model.embedding_dim = 32, model.dim = 64\n"},
    {"[data]\ntask = classify\nfile = /a.tsv\n[model]\nkind = decoder\npool = first\n",
     "theta.ini:6: data.task = classify with model.pool = first needs model.causal = no: the first "
     "token, which gives the answer, must see the others; set model.pool = last for a causal "
     "model\n"},
    {"[model]\npool = mean\n",
     "theta.ini:2: model.pool = mean has no effect: it needs data.task = order or classify\n"},
    {"[position]\nkind = learned\nmax_len = 31\n",
     "theta.ini:3: position.max_len = 31 is for 31 tokens at most; the longest sequence has 32\n"},
    {"[position]\nkind = learned\nmax_len = 32\n[train]\neval_lengths = 16,64\n",
     "theta.ini:5: position.max_len = 32 is for 32 tokens at most; the longest sequence has 64\n"},
    {"[position]\nscale = 2\nkind = alibi\nscaling = ntk\n",
     "theta.ini:4: position.scaling needs position.kind = rope; got alibi\n"},
    {"[position]\nscale = 2\nfrequencies = linear\nscaling = yarn\n",
     "theta.ini:4: position.scaling: yarn scales geometric frequencies only\n"},
    {"[model]\ndim = 8\n[position]\nscale = 2\nscaling = ntk\n",
     "theta.ini:5: position.scaling: ntk needs at least two rotated pairs; got 1\n"},
    {"[theta]\ninit = uniform\n",
     "theta.ini:2: theta.init = uniform has no effect: it needs theta.learn = yes\n"},
    {"[theta]\ninit_from = a.csv\n",
     "theta.ini:2: theta.init_from has no effect: it needs theta.learn = yes\n"},
    {"[theta]\ninit = uniform\ninit_sigma = 0.7\nlearn = yes\n",
     "theta.ini:3: theta.init_sigma = 0.7 has no effect: it needs theta.init = perturbed\n"},
    {"[theta]\ncheck = unmoved\n",
     "theta.ini:2: theta.check = unmoved has no effect: it needs theta.learn = yes\n"},
    {"[position]\nscale = 4\n",
     "theta.ini:2: position.scale = 4 has no effect: it needs position.scaling other than none\n"},
    {"[position]\nscaling = linear\n",
     "theta.ini:2: position.scaling = linear has no effect: it needs position.scale above 1, or "
     "position.scaling = dynamic or longrope, or position.attention_factor above 0\n"},
    {"[train]\nfreeze = theta\n",
     "theta.ini:2: train.freeze = theta has no effect: it needs theta.learn = yes\n"},
    {"[train]\nmin_delta = 0.1\n",
     "theta.ini:2: train.min_delta = 0.1 has no effect: it needs train.patience above 0\n"},
    {"[data]\ntask = text\nfile = /a\neval_file = /b\neval_fraction = 0.2\n",
     "theta.ini:5: data.eval_fraction = 0.2 has no effect: it needs data.task = text, tokens, "
     "classify or tag and no data.eval_file\n"},
    {"[data]\ntask = text\nfile = /a\n[model]\nkind = decoder\n[data]\nobjective = mlm\n",
     "theta.ini:7: data.objective = mlm needs model.causal = no: a causal model sees only what "
     "stands before a mask; set data.objective = lm for it\n"},
    {"[data]\ntask = period\n[model]\ncausal = yes\n",
     "theta.ini:4: data.objective = mlm needs model.causal = no: a causal model sees only what "
     "stands before a mask; set data.objective = lm for it\n"},
    {"[data]\ntask = order\n[model]\ncausal = yes\n",
     "theta.ini:4: data.task = order with model.pool = first needs model.causal = no: the first "
     "token, which gives the answer, must see the others; set model.pool = last for a causal "
     "model\n"},
    {"[data]\ntask = text\nobjective = lm\nfile = x\n",
     "theta.ini:3: data.objective = lm needs model.causal = yes: otherwise a token sees the next "
     "one, which it must predict\n"},
    {"[data]\ntask = tokens\n", "theta.ini:2: data.file is required for data.task = tokens\n"},
    {"[data]\ntask = shift\ndistance = 20\n[train]\neval_lengths = 64,16\n",
     "theta.ini:5: train.eval_lengths: at length 16, data.distance must be from 1 to 14 for shift "
     "with data.length 16; got 20\n"},
    {"[data]\ntask = text\n", "theta.ini:2: data.file is required for data.task = text\n"},
    {"[data]\ntask = text\nfile = a\nvocab_file = b\nvocab = 9\n",
     "theta.ini:5: data.vocab = 9 has no effect: it needs data.task other than text, classify or "
     "tag\n"
     "theta.ini:4: data.vocab_file has no effect: it needs data.task = text, classify or tag and "
     "data.level other than byte\n"},
    {"[data]\nvocab = 5\n",
     "theta.ini:2: data.vocab must be a whole number from 6 to 1000000; got '5'\n"},
    {"[data]\ndistance = 31\ntask = shift\n",
     "theta.ini:3: data.distance must be from 1 to 30 for shift with data.length 32; got 31\n"},
    {"[data]\nlength = 3\n", "theta.ini:2: data.length must be at least 4 for copy; got 3\n"},
    {"[data]\ntask = order\nlength = 2\nvocab = 6\n",
     "theta.ini:3: data.length must be at least 3 for order; got 2\n"
     "theta.ini:4: data.vocab must be at least 7 for order; got 6\n"},
    {"[data]\ntask = tokens\nfile = a.bin\nvocab = 9\nmask_id = 9\n",
     "theta.ini:5: data.mask_id must be below data.vocab = 9; got 9\n"},
    {"[data]\ntask = tokens\nfile = a.bin\nvocab = 9\nmask_id = 0\n",
     "theta.ini:5: data.mask_id must be a whole number from 1 to 1000000; got '0'\n"},
    {"[data]\nmask_id = 3\n", "theta.ini:2: data.mask_id = 3 has no effect: it needs data.task = "
                              "tokens and data.objective = mlm\n"},
    {"[data]\nend = none\n",
     "theta.ini:2: data.end = none has no effect: it needs data.task = classify or tag\n"},
    {"[data]\ntask = tokens\nfile = /data.vocab\nvocab = 9\n",
     "theta.ini:3: data.file must name a file and a data set for tokens, as in ids.h5:/train, or a "
     "file that ends in .bin or .npy; got '/data.vocab'\n"},
    {"[data]\ntask = text\nfile = /a*2, /b*0\n",
     "theta.ini:3: data.file: the weight of /b must be a number from 1e-100 to 1e+100\n"},
    {"[data]\ntask = text\nfile = /a.h5\n",
     "theta.ini:3: data.file must name the data set of an HDF5 file behind it, as in "
     "ids.h5:/train; got '/a.h5'\n"},
    {"[data]\ntask = text\nfile = /a\ncross = no\n",
     "theta.ini:4: data.cross = no has no effect: it needs data.documents other than none\n"},
    {"[data]\ntask = tokens\nfile = /a.bin\ndocuments = line\n",
     "theta.ini:4: data.documents has no effect: it needs data.task = text\n"},
    {"[data]\ntask = tokens\nfile = /a.bin\ndocuments = line\ncross = no\n",
     "theta.ini:4: data.documents has no effect: it needs data.task = text\n"
     "theta.ini:5: data.cross = no has no effect: it needs data.task = text\n"},
    {"[train]\neval_lengths = 16\n[data]\ntask = shift\ndistance = 20\n",
     "theta.ini:5: train.eval_lengths: at length 16, data.distance must be from 1 to 14 for shift "
     "with data.length 16; got 20\n"},
    {"[position]\nxpos = 512\n",
     "theta.ini:2: position.xpos needs model.causal = yes: scores decay towards keys behind a "
     "query and would grow towards those ahead\n"},
    {"[position]\nxpos = 512\n[model]\ncausal = no\n",
     "theta.ini:4: position.xpos needs model.causal = yes: scores decay towards keys behind a "
     "query and would grow towards those ahead\n"},
    {"[position]\nxpos = 0.5\n[model]\ncausal = yes\n",
     "theta.ini:2: position.xpos must be 0 or at least 1; got 0.5\n"},
    {"[position]\nxpos = 512\nkind = alibi\n",
     "theta.ini:3: position.xpos needs position.kind = rope; got alibi\n"},
    {"[position]\nxpos = 512\n[model]\nattention = linear_elu\n",
     "theta.ini:4: position.xpos needs model.attention = softmax; got linear_elu\n"},
    {"[position]\nxpos = 2.5\n[model]\ncausal = yes\n[data]\nlength = 81\n",
     "theta.ini:6: position.xpos = 2.5 is for 80 tokens at most; the longest sequence has 81\n"},
    {"[position]\nxpos = 1\n[model]\ncausal = yes\n[train]\neval_lengths = 33\n",
     "theta.ini:6: position.xpos = 1 is for 32 tokens at most; the longest sequence has 33\n"},
    {"[position]\nxpos = -1\n", "theta.ini:2: position.xpos must be a number >= 0; got '-1'\n"},
    {"[position]\nxpos = inf\n", "theta.ini:2: position.xpos must be a number >= 0; got 'inf'\n"},
    {"[position]\nxpos = nan\n", "theta.ini:2: position.xpos must be a number >= 0; got 'nan'\n"},
    {"[optimizer]\nwarmup_steps = 51\n[train]\nsteps = 50\n",
     "theta.ini:4: optimizer.warmup_steps = 51 is more than the 50 steps of the schedule\n"},
    {"[optimizer]\nwarmup_steps = 51\nschedule_steps = 40\n",
     "theta.ini:3: optimizer.warmup_steps = 51 is more than the 40 steps of the schedule\n"},
    {"[train]\npatience = 9\neval_every = 10\nsteps = 100\n",
     "theta.ini:4: train.patience = 9 can never end this run: with train.eval_every = 10 it runs "
     "out at step 100 at the earliest, and train.steps = 100\n"},
    {"[train]\npatience = -1\n",
     "theta.ini:2: train.patience must be a whole number from 0 to 99999999; got '-1'\n"},
    {"[train]\nmin_delta = -1\n", "theta.ini:2: train.min_delta must be a number >= 0; got '-1'\n"},
    {"[train]\nshards = 3\n", "theta.ini:2: train.shards must be 0 or a power of two; got 3\n"},
    {"[train]\nshards = 8\nbatch_size = 7\n",
     "theta.ini:3: train.shards = 8 is more than train.batch_size = 7\n"},

    /* a key that is refused contradicts nothing, and hides no contradiction of others */
    {"[model]\ndim = x\nheads = 3\n",
     "theta.ini:2: model.dim must be a whole number from 1 to 1000000; got 'x'\n"},
    {"[data]\ntask = shift\ndistance = x\n[train]\neval_lengths = 4\n",
     "theta.ini:3: data.distance must be a whole number from 1 to 1000000; got 'x'\n"},
    {"[data]\nlevel = x\ntask = shift\ndistance = 31\n",
     "theta.ini:2: data.level must be one of byte, char, wordpiece, bpe, residue; got 'x'\n"
     "theta.ini:4: data.distance must be from 1 to 30 for shift with data.length 32; got 31\n"},

    /* overrides: later than any line; they excuse no bad line, which would be back in the next run
     */
    {"[model]\nheads = 3\n", "command line: model.dim = 65 is not divisible by model.heads = 3\n",
     "model.dim=65"},
    {"[optimizer]\nlr = x\n", "theta.ini:2: optimizer.lr must be a number >= 0; got 'x'\n",
     "optimizer.lr=1"},
    {"", "command line: an override must be section.key=value; got 'optimizer.lr'\n",
     "optimizer.lr"},
    {"", "command line: unknown key 'lr'; did you mean 'optimizer.lr'?\n", "lr=1"},
    {"", "command line: unknown key 'wombat'; a key is written section.key\n", "wombat=1"},
    {"", "command line: unknown key 'lora_rank'; a key is written section.key\n", "lora_rank=8"},
    {"", "command line: unknown key 'layer' in [model]; did you mean 'layers'?\n", "model.layer=1"},
    {"", "command line: unknown section 'modle'; did you mean 'model'?\n", "modle.layers=1"},
    {"", "command line: model.layers has no value\n", "model.layers="},
    {"",
     "command line: run.name must be text of at most 127 bytes without control characters; got 'a "
     ";b'; a comment after a value starts with ' ;'\n",
     "run.name=a ;b"},
};

TEST_ROWS(an_error_names_place_wish_and_fact, 0, ROWS(bad))
{
    expect_errors(bad[_i][TEXT], OVERRIDES(bad[_i][OVERRIDE]), bad[_i][ERRORS]);
}

TEST(all_errors_are_listed)
{
    expect_errors("[model]\nlayer = 2\ndropout = 2\n[trian]\nsteps = 1\n[train]\nshards = 3\n"
                  "nonsense\n",
                  OVERRIDES("optimizer.lr=x"),
                  "theta.ini:2: unknown key 'layer' in [model]; did you mean 'layers'?\n"
                  "theta.ini:3: model.dropout must be a number >= 0 and < 1; got '2'\n"
                  "theta.ini:4: unknown section 'trian'; did you mean 'train'?\n"
                  "theta.ini:8: a line must be 'key = value'; got 'nonsense'\n"
                  "command line: optimizer.lr must be a number >= 0; got 'x'\n"
                  "theta.ini:7: train.shards must be 0 or a power of two; got 3\n");
}

TEST(endless_errors_are_counted)
{
    rt_writer text = {0};
    rt_config config;
    for (int i = 0; i < 1000; i++)
        rt_writer_add(&text, "x\n");
    char *errors = load(&config, "theta.ini", text.bytes, NULL);
    ck_assert_ptr_nonnull(strstr(errors, "theta.ini:100: "));
    ck_assert_ptr_null(strstr(errors, "theta.ini:101: "));
    ck_assert_ptr_nonnull(strstr(errors, "\ntheta.ini: 900 more errors\n"));
    rt_free(errors);
    rt_writer_free(&text);
}

TEST(second_override_of_a_key_is_an_error)
{
    expect_errors("", OVERRIDES("model.layers=1", "model.layers=1"),
                  "command line: model.layers is given twice\n");
}

static const struct {
    const char *section, *written, *name;
} mistakes[] = {
    {"optimizer", "wd", "weight_decay"},
    {"optimizer", "weigth_decay", "weight_decay"},
    {"optimizer", "warmup", "warmup_steps"},
    {"model", "layer", "layers"},
    {"model", "num_layers", "layers"},
    {"model", "drop_out", "dropout"},
    {"model", "HEADS", "heads"},
    {"model", "atention_drop", "attention_dropout"},
    {"train", "batchsize", "batch_size"},
    {"train", "bs", "batch_size"},
    {"train", "setps", "steps"},
    {"position", "fracton", "fraction"},
    {"model", "wombat", NULL},
    {"model", "x", NULL},
    {"optimizer", "lora_rank", NULL}, /* whose initials are lr, as those of anything */
    {"optimizer", "xr", NULL},
    {"position", "factor_of_the_scaling", NULL},
};

TEST_ROWS(suggestion_is_what_was_meant, 0, ROWS(mistakes))
{
    rt_nearest nearest = {.written = mistakes[_i].written};
    for (int i = 0; rt_key_at(i); i++)
        if (!strcmp(rt_key_at(i)->section, mistakes[_i].section))
            rt_nearest_try(&nearest, rt_key_at(i)->name);
    const char *expected = mistakes[_i].name ? mistakes[_i].name : "nothing";
    const char *got = nearest.name ? nearest.name : "nothing";
    ck_assert_msg(!strcmp(got, expected), "%s: %s instead of %s", mistakes[_i].written, got,
                  expected);
}

static const struct {
    const char *written, *name;
} elsewhere[] = {
    {"optimizer.learning_rate", "lr"},
    {"optimizer.max_grad_norm", "clip_norm"},
    {"optimizer.grad_clip", "clip_norm"},
    {"train.gradient_accumulation_steps", "shards"},
    {"train.max_steps", "steps"},
    {"train.max_iters", "steps"},
    {"train.epochs", "steps"},
    {"train.num_train_epochs", "steps"},
    {"model.n_layer", "layers"},
    {"model.num_hidden_layers", "layers"},
    {"model.n_head", "heads"},
    {"model.num_attention_heads", "heads"},
    {"model.num_key_value_heads", "kv_heads"},
    {"model.n_embd", "dim"},
    {"model.d_model", "dim"},
    {"model.hidden_size", "dim"},
    {"model.intermediate_size", "ffn_dim"},
    {"model.sliding_window", "window"},
    {"position.rope_theta", "base"},
    {"data.block_size", "length"},
    {"data.max_seq_len", "length"},
    {"data.max_position_embeddings", "length"},
    {"data.vocab_size", "vocab"},
};

TEST_ROWS(a_key_is_known_by_its_name_in_other_programs, 0, ROWS(elsewhere))
{
    rt_config config;
    const char *override = lasting("%s=1", elsewhere[_i].written);
    const char *expected = lasting("; did you mean '%s'?\n", elsewhere[_i].name);
    char *errors = load(&config, "theta.ini", "", OVERRIDES(override));
    ck_assert_msg(errors && strstr(errors, expected), "%s: %s", override, errors);
    rt_free(errors);
}

TEST(quoted_text_is_cut_between_characters)
{
    char quoted[RT_QUOTE_SIZE];
    ck_assert_str_eq(rt_quote(quoted, "a\nb\x7f"), "'a?b?'");
    ck_assert_str_eq(rt_quote(quoted, "01234567890123456789012345678901234567890123456789"),
                     "'01234567890123456789012345678901234567890123456789'");
    ck_assert_str_eq(rt_quote(quoted, "0123456789012345678901234567890123456789012345678\u03b8"),
                     "'0123456789012345678901234567890123456789012345678...'");
}

TEST(what_just_fits_is_accepted)
{
    rt_config config;
    load_sound(&config,
               "[train]\nshards = 8\nbatch_size = 8\nsteps = 50\n[optimizer]\nwarmup_steps = 50\n",
               NULL);
    load_sound(&config, "[position]\nkind = learned\nmax_len = 40\n[train]\neval_lengths = 40\n",
               NULL);
}
