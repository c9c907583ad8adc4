#include "train/config/config_loading.h"

#include "util/writer.h"

#define FROM_1_TO_1000 "must be a whole number from 1 to 1000"
#define LR             "2: optimizer.lr must be a number >= 0; got "
#define MLM_WITHOUT_CAUSAL                                                                         \
    "data.objective = mlm needs model.causal = no: a causal model sees only what stands before a " \
    "mask; set data.objective = lm for it"
#define WITH_POOL_FIRST                                                                            \
    " with model.pool = first needs model.causal = no: the first token, which gives the answer, "  \
    "must see the others; set model.pool = last for a causal model"
#define TOO_FAR                                                                                    \
    "train.eval_lengths: at length 16, data.distance must be from 1 to 14 for shift with "         \
    "data.length 16; got 20"
#define NO_NAME "run.name must name a directory, without '/' and not with '-' at the start; got "
#define NO_LENGTHS                                                                                 \
    "train.eval_lengths must be up to 8 comma-separated whole numbers from 2 to 1000000; got "
#define WARMUP    "[optimizer]\nwarmup_steps = "
#define TOO_LONG  "optimizer.warmup_steps = 51 is more than the "
#define NO_SEED   "run.seed must be a whole number from 0 to 9223372036854775807; got "
#define NO_LINE   "a line must be 'key = value'; got "
#define NO_EFFECT " has no effect: it needs "

/* Values that no key accepts, contradictions between keys, which are reported at the later line,
 * and bad overrides. An error of theta.ini begins with its line. "..." stands for any words: lists
 * that grow with the keys are spelled out once for each message. */
enum { TEXT, ERRORS, OVERRIDE, ANOTHER, COLUMNS };
static const char *const bad[][COLUMNS] = {
    {"[optimizer]\nlearnig_rate = 1\n",
     "2: unknown key 'learnig_rate' in [optimizer]; did you mean 'lr'?"},
    {"[train]\nlearning_rate = 1\n",
     "2: unknown key 'learning_rate' in [train]; did you mean 'lr' in [optimizer]?"},
    {"[theta]\nlora_rank = 8\n", "2: unknown key 'lora_rank' in [theta]; its keys are ..."},
    {"[model]\n\nlayer = 1\n", "3: unknown key 'layer' in [model]; did you mean 'layers'?"},
    {"[positon]\nkind = nonsense\n", "1: unknown section 'positon'; did you mean 'position'?"},
    {"[wombat]\n", "1: unknown section 'wombat'; the sections are run, model, position, theta, "
                   "data, optimizer, train"},
    {"[train]\nlr = 1\n", "2: unknown key 'lr' in [train]; it belongs to [optimizer]"},
    {"[train]\nwarmup = 1\n",
     "2: unknown key 'warmup' in [train]; did you mean 'warmup_steps' in [optimizer]?"},
    {"[position]\nwombat = 1\n", "2: unknown key 'wombat' in [position]; its keys are ..."},
    {"[optimizer]\nlr = 1\nkind = sgd\nlr = 1\n",
     "4: duplicate key 'lr' in [optimizer]; line 2 has it"},
    {"[optimizer]\nlr =\n", "2: optimizer.lr has no value"},
    {"[optimizer]\nlr = ; later\n", "2: optimizer.lr has no value"},
    {"[optimizer]\nlr = 1e999\n", LR "'1e999', which is outside of the range of a double"},
    {"[optimizer]\nlr = 1e-999\n", LR "'1e-999', which is outside of the range of a double"},
    {"[optimizer]\nlr = -1\n", LR "'-1'"},
    {"[optimizer]\nlr = 0.1 # high\n", LR "'0.1 # high'; a comment after a value starts with ' ;'"},
    {"[optimizer]\nlr = 1\x1b[31m\n", LR "'1?[31m'"},
    {"[model]\nlayers = 2.0\n", "2: model.layers " FROM_1_TO_1000 "; got '2.0'"},
    {"[model]\nlayers = 99999999999999999999\n",
     "2: model.layers " FROM_1_TO_1000 "; got '99999999999999999999'"},
    {"[run]\nseed = 9223372036854775808\n", "2: " NO_SEED "'9223372036854775808'"},
    {"[run]\nseed = -1\n", "2: " NO_SEED "'-1'"},
    {"[model]\ncausal = Yes\n",
     "2: model.causal must be one of no, yes; got 'Yes'; did you mean 'yes'?"},
    {"[theta]\nlearn = true\n",
     "2: theta.learn must be one of no, yes; got 'true'; did you mean 'yes'?"},
    {"[theta]\nlearn = OFF\n",
     "2: theta.learn must be one of no, yes; got 'OFF'; did you mean 'no'?"},
    {"[theta]\nlog = 1\n", "2: theta.log must be one of no, yes; got '1'; did you mean 'yes'?"},
    {"[data]\nspecial_tokens = 0\n",
     "2: data.special_tokens must be one of yes, no; got '0'; did you mean 'no'?"},
    {"[train]\nrecompute = false\n",
     "2: train.recompute must be one of none, layers; got 'false'; did you mean 'none'?"},
    {"[optimizer]\nschedule = cosin\n",
     "2: optimizer.schedule must be one of ...; got 'cosin'; did "
     "you mean 'cosine'?"},
    {"[model]\ndropout = 1\n", "2: model.dropout must be a number >= 0 and < 1; got '1'"},
    {"[train]\neval_lengths = 64,\n", "2: " NO_LENGTHS "'64,'"},
    {"[train]\neval_lengths = 1\n", "2: " NO_LENGTHS "'1'"},
    {"[train]\neval_lengths = 2,2,2,2,2,2,2,2,2\n", "2: " NO_LENGTHS "'2,2,2,2,2,2,2,2,2'"},
    {"[position]\nbase = 1\n", "2: position.base must be a number > 1; got '1'"},
    {"[position]\nfraction = 1.5\n",
     "2: position.fraction must be a number from 0 to 1; got '1.5'"},
    {"lr = 1\n[train]\n", "1: key 'lr' stands before the first [section]"},
    {"[train]\nsteps 5\n", "2: " NO_LINE "'steps 5'"},
    {"[train]\n= 5\n", "2: " NO_LINE "'= 5'"},
    {"[run]\nname = a\n[train\nsteps = x\n", "3: a section needs a ']' at its end; got '[train'"},
    {"[train] steps\n", "1: nothing can follow a section's ']'; got 'steps'"},
    {"[]\n", "1: unknown section ''; the sections are run, ..."},
    {"[run]\nname = a\tb\n",
     "2: run.name must be text of at most 127 bytes without control characters; got 'a?b'"},
    {"[run]\ndir = x # y\n", "2: run.dir must be text of at most 4095 bytes without control "
                             "characters; got 'x # y'; a comment after a value starts with ' ;'"},
    {"[run]\nname = ..\n", "2: " NO_NAME "'..'"},
    {"[run]\nname = a/b\n", "2: " NO_NAME "'a/b'"},
    {"[run]\nname = -a\n", "2: " NO_NAME "'-a'"},
    /* contradictions */
    {"[model]\nheads = 3\ndim = 64\n", "3: model.dim = 64 is not divisible by model.heads = 3"},
    {"[position]\nlocal_base = 100\n", "2: position.local_base = 100" NO_EFFECT "..."},
    {"[model]\nnorm_kind = rms\nnorm_bias = no\n",
     "3: model.norm_bias = no" NO_EFFECT "model.norm_kind = layer"},
    {"[model]\nclassifier = tanh\n", "2: model.classifier = tanh" NO_EFFECT "..."},
    {"[model]\nclassifier = tanh\nkind = decoder\npool = last\n[data]\ntask = order\n",
     "2: model.classifier = tanh" NO_EFFECT "..."},
    {"[data]\ntask = classify\nfile = /a.tsv\n[model]\nkind = decoder\npool = first\n",
     "6: data.task = classify" WITH_POOL_FIRST},
    {"[position]\nkind = learned\nmax_len = 31\n",
     "3: position.max_len allows 31 tokens at most; the longest sequence has 32"},
    {"[position]\nkind = learned\nmax_len = 32\n[train]\neval_lengths = 16,64\n",
     "5: position.max_len allows 32 tokens at most; the longest sequence has 64"},
    {"[theta]\ninit = uniform\ninit_sigma = 0.7\nlearn = yes\n",
     "3: theta.init_sigma = 0.7" NO_EFFECT "theta.init = perturbed"},
    {"[position]\nscale = 4\n",
     "2: position.scale = 4" NO_EFFECT "position.scaling other than none"},
    {"[position]\nscaling = linear\n", "2: position.scaling = linear" NO_EFFECT
                                       "position.scale above 1, or position.scaling = dynamic or "
                                       "longrope, or position.attention_factor above 0"},
    {"[data]\ntask = text\nfile = /a\neval_file = /b\neval_fraction = 0.2\n",
     "5: data.eval_fraction = 0.2" NO_EFFECT "..."},
    {"[data]\ntask = text\nfile = /a\n[model]\nkind = decoder\n[data]\nobjective = mlm\n",
     "7: " MLM_WITHOUT_CAUSAL},
    {"[data]\ntask = period\n[model]\ncausal = yes\n", "4: " MLM_WITHOUT_CAUSAL},
    {"[data]\ntask = order\n[model]\ncausal = yes\n", "4: data.task = order" WITH_POOL_FIRST},
    {"[data]\ntask = text\nobjective = lm\nfile = x\n",
     "3: data.objective = lm needs model.causal = yes: otherwise a token sees the next one, which "
     "it must predict"},
    {"[data]\ntask = induction\n", "2: data.task = induction needs model.causal = yes: otherwise a "
                                   "token sees the next one, which "
                                   "it must predict"},
    {"[data]\nlength = 8..9\n[model]\nkind = roformer\n",
     "4: data.length = 8..9 needs model.causal = yes: otherwise a token sees the next one, which "
     "it must predict"},
    {"[data]\ntask = tokens\n", "2: data.file is required for data.task = tokens"},
    {"[data]\ntask = shift\ndistance = 20\n[train]\neval_lengths = 64,16\n", "5: " TOO_FAR},
    {"[data]\ntask = text\n", "2: data.file is required for data.task = text"},
    {"[data]\ntask = text\nfile = a\nvocab_file = b\nvocab = 9\n",
     "5: data.vocab = 9" NO_EFFECT "...\n4: data.vocab_file" NO_EFFECT "..."},
    {"[data]\ndistance = 31\ntask = shift\n",
     "3: data.distance must be from 1 to 30 for shift with data.length 32; got 31"},
    {"[data]\ntask = order\nlength = 2\nvocab = 6\n",
     "3: data.length must be at least 3 for order; got 2\n4: data.vocab must be at least 7 for "
     "order; got 6"},
    {"[data]\ntask = tokens\nfile = a.bin\nvocab = 9\nmask_id = 9\n",
     "5: data.mask_id must be below data.vocab = 9; got 9"},
    {"[data]\ntask = text\nfile = /a.h5\n", "3: data.file must name the data set of an HDF5 file "
                                            "behind it, as in ids.h5:/train; got '/a.h5'"},
    {"[data]\ntask = tokens\nfile = /a.bin\ndocuments = line\ncross = no\n",
     "4: data.documents" NO_EFFECT "data.task = text\n5: data.cross = no" NO_EFFECT "..."},
    {"[position]\nxpos = 2.5\n[model]\ncausal = yes\n[data]\nlength = 81\n",
     "6: position.xpos allows 80 tokens at most; the longest sequence has 81"},
    {"[position]\nxpos = 1\n[model]\ncausal = yes\n[train]\neval_lengths = 33\n",
     "6: position.xpos allows 32 tokens at most; the longest sequence has 33"},
    {"[optimizer]\nwarmup_steps = 51\n[train]\nsteps = 50\n",
     "4: optimizer.warmup_steps = 51 is more than the 50 steps of the schedule"},
    {"[optimizer]\nwarmup_steps = 51\nschedule_steps = 40\n",
     "3: optimizer.warmup_steps = 51 is more than the 40 steps of the schedule"},
    {"[train]\npatience = 9\neval_every = 10\nsteps = 100\n",
     "4: train.patience = 9 can never end this run: with train.eval_every = 10 it runs out at step "
     "100 at the earliest, and train.steps = 100"},
    /* fewer steps on the command line are a trial, unless it sets the other key, too */
    {WARMUP "51\nschedule_steps = 40\n", "command line: " TOO_LONG "40 steps of the schedule",
     "train.steps=60"},
    {WARMUP "10\n", "command line: " TOO_LONG "50 steps of the schedule",
     "optimizer.warmup_steps=51", "train.steps=50"},
    {"[train]\npatience = 2\neval_every = 10\n",
     "command line: train.patience = 9 can never end this run: with train.eval_every = 10 it runs "
     "out at step 100 at the earliest, and train.steps = 90",
     "train.patience=9", "train.steps=90"},
    {"[train]\nfreeze = weights\n[theta]\nhead_scale = yes\n",
     "4: theta.head_scale = yes has no effect: train.freeze = weights keeps the factors of all "
     "heads at 1"},
    {"[theta]\nhead_scale = yes\n[train]\nfreeze = layers.1, layers.0\n",
     "4: theta.head_scale = yes has no effect: train.freeze = layers.1, layers.0 keeps the factors "
     "of all heads at 1"},
    {"[train]\neval_batches = 0\n",
     "2: train.eval_batches = 0 needs data in files: data.task = copy never ends"},
    {"[train]\nshards = 3\n", "2: train.shards must be 0 or a power of two; got 3"},
    {"[train]\nshards = 8\nbatch_size = 7\n",
     "3: train.shards = 8 is more than train.batch_size = 7"},
    /* a key that is refused contradicts nothing, and hides no contradiction of others */
    {"[model]\ndim = x\nheads = 3\n",
     "2: model.dim must be a whole number from 1 to 1000000; got 'x'"},
    {"[data]\ntask = shift\ndistance = x\n[train]\neval_lengths = 4\n",
     "3: data.distance must be a whole number from 1 to 1000000; got 'x'"},
    {"[data]\nlevel = x\ntask = shift\ndistance = 31\n",
     "2: data.level must be one of ...; got 'x'\n4: data.distance must be from 1 to 30 for shift "
     "with data.length 32; got 31"},
    /* overrides: later than any line; they excuse no bad line, which the next run would have */
    {"[model]\nheads = 3\n", "command line: model.dim = 65 is not divisible by model.heads = 3",
     "model.dim=65"},
    {"[optimizer]\nlr = x\n", LR "'x'", "optimizer.lr=1"},
    {"", "command line: an override must be section.key=value, without blanks; got 'optimizer.lr'",
     "optimizer.lr"},
    {"", "command line: model.layers is given twice", "model.layers=1", "model.layers=1"},
    {"", "command line: unknown key 'lr'; did you mean 'optimizer.lr'?", "lr=1"},
    {"", "command line: unknown key 'wombat'; a key is written section.key", "wombat=1"},
    {"", "command line: unknown key 'layer' in [model]; did you mean 'layers'?", "model.layer=1"},
    {"", "command line: unknown section 'modle'; did you mean 'model'?", "modle.layers=1"},
    {"", "command line: model.layers has no value", "model.layers="},
    {"",
     "command line: run.name must be text of at most 127 bytes without control characters; got 'a "
     ";b'; a comment after a value starts with ' ;'",
     "run.name=a ;b"},
    {"",
     "command line: run.name must be text of at most 127 bytes without control characters; got "
     "'a?'",
     "run.name=a\n"},
    {"[model]\nlayer = 2\ndropout = 2\n[trian]\nsteps = 1\n[train]\nshards = 3\nnonsense\n",
     "2: unknown key 'layer' in [model]; did you mean 'layers'?\n"
     "3: model.dropout must be a number >= 0 and < 1; got '2'\n"
     "4: unknown section 'trian'; did you mean 'train'?\n"
     "8: a line must be 'key = value'; got 'nonsense'\n"
     "command line: optimizer.lr must be a number >= 0; got 'x'\n"
     "7: train.shards must be 0 or a power of two; got 3",
     "optimizer.lr=x"},
};

/* Expects these errors, line by line. */
static void expect_error_lines(const char *errors, const char *expected)
{
    for (; *expected; errors += strcspn(errors, "\n") + 1, expected += *expected == '\n') {
        const int length = (int)strcspn(errors, "\n"), end = (int)strcspn(expected, "\n");
        const char *line = lasting("%.*s\n", length, errors);
        const char *wish = lasting("%s%.*s\n", *expected <= '9' ? "theta.ini:" : "", end, expected);
        const char *any = strstr(wish, "..."), *rest = any ? any + 3 : wish;
        const bool ends_so =
            strlen(line) >= strlen(rest) && !strcmp(line + strlen(line) - strlen(rest), rest);
        ck_assert_msg(ends_so && (any ? !strncmp(line, wish, (size_t)(any - wish))
                                      : strlen(line) == strlen(rest)),
                      "expected: %sgot:      %s", wish, line);
        expected += end;
    }
    ck_assert_msg(!*errors, "one error too many: %s", errors);
}

TEST_ROWS(an_error_names_the_line_the_expected_value_and_the_value_found, 0, ROWS(bad))
{
    rt_config config;
    char *errors =
        load(&config, "theta.ini", bad[_i][TEXT], OVERRIDES(bad[_i][OVERRIDE], bad[_i][ANOTHER]));
    ck_assert_msg(errors != NULL, "accepted: %s", bad[_i][TEXT]);
    expect_error_lines(errors, bad[_i][ERRORS]);
    rt_free(errors);
}

TEST(an_unknown_key_without_a_similar_one_lists_the_keys_of_its_section)
{
    rt_writer expected = {0};
    rt_writer_add(&expected, "theta.ini:2: unknown key 'wombat' in [theta]; its keys are learn");
    for (int i = rt_key_find("theta.learn") + 1; !strcmp(rt_key_at(i)->section, "theta"); i++)
        rt_writer_add(&expected, ", %s", rt_key_at(i)->name);
    rt_writer_add(&expected, "\n");
    expect_errors("[theta]\nwombat = 1\n", NULL, expected.bytes);
    rt_writer_free(&expected);
}

TEST(fewer_steps_on_the_command_line_are_a_trial_of_the_file)
{
    rt_config config;
    static const char text[] = WARMUP "51\n[train]\npatience = 9\neval_every = 10\n";
    const rt_config_source again = {.path = "theta.ini",
                                    .text = text,
                                    .settings = "train.steps=7\n"};
    load_sound(&config, text, OVERRIDES("train.steps=7"));
    ck_assert_int_eq(config.train.patience, 9);
    ck_assert_int_eq(config.optimizer.warmup_steps, 51);
    ck_assert_ptr_null(load_source(&config, again, NULL)); /* a run of a sweep */
    /* the resolved configuration of that run */
    const char *written = owned(rt_config_ini(&config), rt_free);
    ck_assert_int_eq(rt_config_load_run(&config, "runs/theta/config.ini", written, NULL).code,
                     RT_OK);
}

TEST(errors_beyond_the_100th_are_counted)
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

/* Reads the next of the blank-separated words; false after the last. */
static bool next_word(const char **words, char word[64])
{
    int used = 0;
    const bool is_there = sscanf(*words, "%63s%n", word, &used) == 1;
    *words += used;
    return is_there;
}

/* A key, and its names elsewhere. */
static const char *const elsewhere[][2] = {
    {"lr", "optimizer.learning_rate"},
    {"clip_norm", "optimizer.max_grad_norm optimizer.grad_clip"},
    {"shards", "train.gradient_accumulation_steps"},
    {"steps", "train.max_steps train.max_iters train.epochs train.num_train_epochs"},
    {"layers", "model.n_layer model.num_hidden_layers"},
    {"heads", "model.n_head model.num_attention_heads"},
    {"kv_heads", "model.num_key_value_heads"},
    {"dim", "model.n_embd model.d_model model.hidden_size"},
    {"ffn_dim", "model.intermediate_size"},
    {"window", "model.sliding_window"},
    {"base", "position.rope_theta"},
    {"length", "data.block_size data.max_seq_len data.max_position_embeddings"},
    {"vocab", "data.vocab_size"},
};

TEST_ROWS(a_key_is_known_by_its_name_in_other_programs, 0, ROWS(elsewhere))
{
    rt_config config;
    char word[64];
    const char *expected = lasting("; did you mean '%s'?\n", elsewhere[_i][0]);
    for (const char *words = elsewhere[_i][1]; next_word(&words, word);) {
        char *errors = load(&config, "theta.ini", "", OVERRIDES(lasting("%s=1", word)));
        ck_assert_msg(errors && strstr(errors, expected), "%s: %s", word, errors);
        rt_free(errors);
    }
}

TEST(quoted_text_is_truncated_between_characters)
{
    char quoted[RT_QUOTE_SIZE];
    ck_assert_str_eq(rt_quote(quoted, "a\nb\x7f\xc2\x9b"), "'a?b?\?\?'");
    ck_assert_str_eq(rt_quote(quoted, "01234567890123456789012345678901234567890123456789"),
                     "'01234567890123456789012345678901234567890123456789'");
    ck_assert_str_eq(rt_quote(quoted, "0123456789012345678901234567890123456789012345678\u03b8"),
                     "'0123456789012345678901234567890123456789012345678...'");
}

TEST(values_at_their_limits_are_accepted)
{
    rt_config config;
    load_sound(&config,
               "[train]\nshards = 8\nbatch_size = 8\nsteps = 50\n[optimizer]\nwarmup_steps = 50\n",
               NULL);
    load_sound(&config, "[position]\nkind = learned\nmax_len = 40\n[train]\neval_lengths = 40\n",
               NULL);
    load_sound(&config, "[train]\npatience = 4\neval_every = 20\nsteps = 101\n", NULL);
    load_sound(&config, "[model]\nffn = geglu\nactivation = tanh\n", NULL); /* of the lm head */
    load_sound(&config,
               "[model]\nkind = decoder\n[position]\nrandomized = 64\n[data]\ntask = text\n"
               "file = a\neval_seed = 7\n",
               NULL);
    for (int i = 0; i < 2; i++)
        load_sound(&config, "[model]\ncausal = yes\n[data]\nfile = a.tsv\n",
                   OVERRIDES(i ? "data.task=tag" : "data.task=classify",
                             i ? "data.length=12" : "model.pool=last"));
    rt_config a = {.model.layer_types = {1, {0, 1}}}, b = {.model.layer_types = {1, {0, 2}}};
    ck_assert(rt_key_value_equal(rt_key_at(rt_key_find("model.layer_types")), &a, &b));
}
