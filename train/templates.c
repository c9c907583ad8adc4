/* --init: short commented configurations to start from. */

#include "train/commands.h"

#include "text/durable_file.h"
#include "text/writer.h"

#include <stdio.h>
#include <string.h>

static const char gpt[] =
    "; A decoder that learns to continue a text.\n"
    ";\n"
    ";     train gpt.ini data.file=my.txt                              train it\n"
    ";     train runs/gpt/config.ini --predict 'It is ' --tokens 100   continue a text\n"
    ";     train runs/gpt/config.ini --export my-gpt                   write it for transformers\n"
    "\n"
    "[model]\n"
    "kind = decoder\n"
    "layers = 4\n"
    "dim = 128\n"
    "heads = 4\n"
    "dropout = 0.1\n"
    "\n"
    "[data]\n"
    "task = text\n"
    "objective = lm\n"
    "; a text in UTF-8, best of a megabyte or more; or several with commas between them\n"
    "file = my.txt\n"
    "; byte and char need no vocabulary. For bpe, set vocab_file to a tokenizer.json, such as\n"
    "; train --train-tokenizer 2000 my.txt >tokenizer.json makes\n"
    "level = byte\n"
    "; tokens in a sequence\n"
    "length = 128\n"
    "\n"
    "[optimizer]\n"
    "lr = 1e-3\n"
    "warmup_steps = 50\n"
    "schedule = cosine\n"
    "\n"
    "[train]\n"
    "steps = 1000\n"
    "; sequences in a step\n"
    "batch_size = 16\n"
    "eval_every = 100\n"
    "; stop after five evaluations without improvement, and use the best model:\n"
    "; patience = 5\n";

static const char mlm[] =
    "; An encoder that learns to fill in masked tokens of a text.\n"
    ";\n"
    ";     train mlm.ini data.file=my.txt                       train it\n"
    ";     train runs/mlm/config.ini --predict 'Is th[MASK]s?'  fill in what is masked\n"
    ";     train runs/mlm/config.ini --embed my.txt             print a vector for each line\n"
    "\n"
    "[model]\n"
    "layers = 4\n"
    "dim = 128\n"
    "heads = 4\n"
    "dropout = 0.1\n"
    "\n"
    "[data]\n"
    "task = text\n"
    "objective = mlm\n"
    "; a text in UTF-8, best of a megabyte or more; or several with commas between them\n"
    "file = my.txt\n"
    "; byte and char need no vocabulary. For wordpiece, set vocab_file to a vocab.txt, such as\n"
    "; train --train-tokenizer 2000 --level wordpiece my.txt >vocab.txt makes; for bpe, to a\n"
    "; tokenizer.json of train --train-tokenizer 2000 --mask my.txt\n"
    "level = byte\n"
    "; tokens in a sequence\n"
    "length = 128\n"
    "mask_probability = 0.15\n"
    "\n"
    "[optimizer]\n"
    "lr = 1e-3\n"
    "warmup_steps = 50\n"
    "schedule = cosine\n"
    "\n"
    "[train]\n"
    "steps = 2000\n"
    "; sequences in a step\n"
    "batch_size = 16\n"
    "eval_every = 200\n";

static const char classify[] =
    "; An encoder that learns one label for each text.\n"
    ";\n"
    ";     train classify.ini data.file=my.tsv                    train it\n"
    ";     train runs/classify/config.ini --predict 'Is it so?'   label a text\n"
    "\n"
    "[model]\n"
    "layers = 2\n"
    "dim = 128\n"
    "heads = 4\n"
    "dropout = 0.1\n"
    "\n"
    "[data]\n"
    "task = classify\n"
    "; .tsv or .csv, whose first line names the columns: text, label and, for pairs, text_b\n"
    "file = my.tsv\n"
    "level = char\n"
    "; longer texts are truncated to so many tokens\n"
    "length = 128\n"
    "\n"
    "[optimizer]\n"
    "lr = 1e-3\n"
    "warmup_steps = 50\n"
    "\n"
    "[train]\n"
    "steps = 1000\n"
    "; texts in a step\n"
    "batch_size = 16\n"
    "eval_every = 50\n"
    "; stop after five evaluations without improvement, and use the best model:\n"
    "patience = 5\n"
    "; to start from an encoder that you have trained, or from a folder of Hugging Face, leave\n"
    "; out [model] and data.level, and set:\n"
    "; init_from = runs/mlm\n";

static const char tag[] =
    "; An encoder that learns one label for each word of a sentence.\n"
    ";\n"
    ";     train tag.ini data.file=my.tsv                        train it\n"
    ";     train runs/tag/config.ini --predict 'Who is it ?'     label the words of a sentence\n"
    "\n"
    "[model]\n"
    "layers = 2\n"
    "dim = 128\n"
    "heads = 4\n"
    "dropout = 0.1\n"
    "\n"
    "[data]\n"
    "task = tag\n"
    "; a line word<TAB>label for every word, an empty line between sentences\n"
    "file = my.tsv\n"
    "level = char\n"
    "; longer sentences are truncated to so many tokens\n"
    "length = 256\n"
    "\n"
    "[optimizer]\n"
    "lr = 1e-3\n"
    "warmup_steps = 50\n"
    "\n"
    "[train]\n"
    "steps = 1000\n"
    "; sentences in a step\n"
    "batch_size = 16\n"
    "eval_every = 50\n"
    "; stop after five evaluations without improvement, and use the best model:\n"
    "patience = 5\n";

static const char theta[] =
    "; Does a learned theta move, does the model depend on it, does it lower the loss? Three runs\n"
    "; with theta fixed and three with theta learned, on a task whose answer is 3 tokens back.\n"
    ";\n"
    ";     train theta.ini                       train all six, and compare them\n"
    ";     train --report runs/theta             draw the report again\n"
    "\n"
    "[model]\n"
    "layers = 2\n"
    "dim = 64\n"
    "heads = 4\n"
    "\n"
    "[theta]\n"
    "; one theta for the model, for each layer or for each head\n"
    "scope = layer\n"
    "; measure how far each theta could go before the model gets worse\n"
    "tolerances = yes\n"
    "\n"
    "[data]\n"
    "; or text, with data.file; other tasks are in train --help data.task\n"
    "task = shift\n"
    "distance = 3\n"
    "length = 32\n"
    "vocab = 32\n"
    "\n"
    "[optimizer]\n"
    "lr = 2e-3\n"
    "warmup_steps = 100\n"
    "\n"
    "[train]\n"
    "steps = 1000\n"
    "batch_size = 32\n"
    "eval_every = 50\n"
    "\n"
    "[sweep]\n"
    "theta.learn = no, yes\n"
    "run.seed = 1, 2, 3\n"
    "jobs = 2\n";

static const struct {
    const char *name;    /* word after --init */
    const char *purpose; /* for messages */
    const char *ini;     /* content of the file */
} templates[] = {
    {"gpt", "a decoder that continues a text", gpt},
    {"classify", "an encoder that labels texts", classify},
    {"tag", "an encoder that labels the words of sentences", tag},
    {"mlm", "an encoder that fills in masked tokens", mlm},
    {"theta", "a sweep that compares a fixed with a learned theta", theta},
};

enum { TEMPLATES = sizeof templates / sizeof *templates };

static rt_status unknown_template(const char *name)
{
    char quoted[RT_QUOTE_SIZE];
    rt_writer names = {0};
    for (int i = 0; i < TEMPLATES; i++)
        rt_writer_add(&names, "%s%s", i ? ", " : "", templates[i].name);
    const rt_status status = rt_error(RT_CONFIG, "--init must be one of %s; got %s",
                                      names.bytes ? names.bytes : "", rt_quote(quoted, name));
    rt_writer_free(&names);
    return status;
}

rt_status rt_init_command(const rt_arguments *arguments)
{
    int i = 0;
    while (i < TEMPLATES && strcmp(templates[i].name, arguments->init) != 0)
        i++;
    if (i == TEMPLATES)
        return unknown_template(arguments->init);
    rt_status status = rt_output_check(arguments->config, arguments->overwrite, NULL);
    if (status.code)
        return status;
    rt_durable_file file;
    status = rt_durable_open(&file, arguments->config);
    if (!status.code)
        status = rt_durable_write(&file, templates[i].ini, strlen(templates[i].ini));
    status = rt_durable_close(&file, status);
    if (!status.code && !arguments->quiet)
        printf("%s: %s\n", arguments->config, templates[i].purpose);
    return status;
}
