"""Continues the prompts of `continuations BUILD DIR` with transformers, as its documentation does it,
and holds the continuations against rotor's.

    continue.py DIR
"""
import json
import os
import sys

import torch
import transformers

FOLDER = sys.argv[1]
transformers.utils.logging.disable_progress_bar()


def check(name):
    folder = os.path.join(FOLDER, name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with open(os.path.join(FOLDER, name + ".jsonl")) as file:
        answers = [json.loads(line) for line in file]
    for answer in answers:
        inputs = tokenizer(answer["text"], return_tensors="pt")
        ids = inputs["input_ids"][0]
        begins = ids[0].item() == tokenizer.bos_token_id
        assert begins == name.endswith("-auto"), (name, ids)
        with torch.no_grad():
            made = model.generate(**inputs, max_new_tokens=16, do_sample=False, pad_token_id=0)[0]
        text = tokenizer.decode(made[len(ids):])
        assert text == answer["continuation"], (name, answer, text)
    print(f"{name}: {len(answers)} continuations are rotor's, "
          + ("behind the token that begins a text" if begins else "with nothing before the text"))


names = sorted(entry[:-6] for entry in os.listdir(FOLDER) if entry.endswith(".jsonl"))
assert len(names) == 16, names
for entry in names:
    check(entry)
