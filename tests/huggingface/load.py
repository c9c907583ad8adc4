"""Loads what `huggingface-exchange write DIR` has written with transformers, and holds it against
what rotor computed; then saves each model in pieces, for `huggingface-exchange read DIR/again`.

    load.py DIR
"""
import json
import logging
import os
import re
import shutil
import sys
import warnings

import torch
import transformers

FOLDER = sys.argv[1]
AGAIN = os.path.join(FOLDER, "again")
said = []


class Listener(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


def logits_of(model, reference):
    names = ["input_ids", "attention_mask"]
    if model.config.model_type == "roformer":
        names.append("token_type_ids")
    with torch.no_grad():
        return model(**{name: torch.tensor(reference[name]) for name in names}).logits


def difference(model, reference):
    """Of the logits of tokens: those of padding mean nothing."""
    logits = logits_of(model, reference).double()
    error = (logits.flatten() - torch.tensor(reference["logits"], dtype=torch.float64)).abs()
    if logits.ndim == 3:
        error *= torch.tensor(reference["attention_mask"]).flatten().repeat_interleave(logits.shape[-1])
    return error.max().item()


def check_generation(model, reference):
    """With keys and values kept, a model goes on as it does without."""
    start = torch.tensor(reference["input_ids"][:1])
    ids = start
    with torch.no_grad():
        kept = model.generate(start, max_new_tokens=6, do_sample=False, pad_token_id=0)
        for _ in range(6):
            ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)], 1)
    assert torch.equal(kept, ids), (kept, ids)


def check(name):
    folder = os.path.join(FOLDER, name)
    with open(os.path.join(FOLDER, name + ".json")) as file:
        reference = json.load(file)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    kind = getattr(transformers, config["architectures"][0])
    said.clear()
    model, loading = kind.from_pretrained(folder, output_loading_info=True)
    assert not said, (name, said)
    assert not any(loading.values()), (name, loading)
    model.eval()
    error = difference(model, reference)
    of_each = config.get("rotor_theta", {}).get("scope") in ("layer", "head")
    if of_each:
        assert error > 1e-4, (name, "the mean of theta should not do", error)
        with open(os.path.join(folder, "README.md")) as file:
            code = re.search("```python\n(.*?)```", file.read(), re.S).group(1)
        scope = {}
        exec(code, scope)
        scope["use_own_theta"](model)
        error = difference(model, reference)
    assert error <= 1e-5, (name, error)
    rope = config.get("rope_parameters")
    continues = kind.__name__.endswith("CausalLM")
    if continues and rope and rope["rope_type"] != "dynamic":  # whose theta changes with the length
        check_generation(model, reference)
    print(f"{name}: {kind.__name__}, largest error {error:.1e}" + ", with its own theta" * of_each)
    plain = kind.from_pretrained(folder)
    plain.save_pretrained(os.path.join(AGAIN, name), max_shard_size="20KB")
    shutil.copy(os.path.join(FOLDER, name + ".json"), AGAIN)
    assert os.path.exists(os.path.join(AGAIN, name, "model.safetensors.index.json")), name


def check_tokenizer(folder):
    said.clear()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert not said, said
    assert isinstance(tokenizer, transformers.BertTokenizer), type(tokenizer)
    with open(os.path.join(folder, "vocab.txt")) as file:
        lines = file.read().split("\n")
    ids = tokenizer("a b F")["input_ids"]
    assert [lines[i] for i in ids] == ["[CLS]", "a", "b", "F", "[SEP]"], ids
    print(f"{os.path.basename(folder)}: AutoTokenizer is {type(tokenizer).__name__}")


warnings.simplefilter("error")
transformers.logging.set_verbosity_warning()
logging.getLogger("transformers").addHandler(Listener())
logging.getLogger("transformers").propagate = False
transformers.utils.logging.disable_progress_bar()
names = sorted(entry[:-5] for entry in os.listdir(FOLDER) if entry.endswith(".json"))
os.makedirs(AGAIN)
for entry in names:
    check(entry)
check_tokenizer(os.path.join(FOLDER, "words"))
