"""Fills the masks, makes the vectors and the labels of `encoders BUILD DIR` with transformers, as its
documentation does it, and holds them against rotor's.

    encode.py DIR
"""
import csv
import json
import os
import sys

import torch
import transformers

FOLDER = sys.argv[1]
transformers.utils.logging.disable_progress_bar()


def read(name, kind):
    folder = os.path.join(FOLDER, name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model, loading = kind.from_pretrained(folder, output_loading_info=True)
    return tokenizer, model.eval(), loading


def lines(name):
    with open(os.path.join(FOLDER, name)) as file:
        return file.read().splitlines()


def compute(tokenizer, model, text):
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        return inputs["input_ids"][0], model(**inputs)


def near(a, b):
    assert abs(a - b) <= 2e-5, (a, b)


def check_masks(name):
    tokenizer, model, loading = read(name, transformers.AutoModelForMaskedLM)
    assert not any(loading.values()), loading
    count = 0
    for line in lines(name + ".masks"):
        answer = json.loads(line)
        ids, out = compute(tokenizer, model, answer["text"])
        assert ids[0] == tokenizer.cls_token_id and ids[-1] != ids[-2], ids
        places = (ids == tokenizer.mask_token_id).nonzero().flatten().tolist()
        assert len(places) == len(answer["masks"]), (answer, ids)
        special = torch.tensor(tokenizer.all_special_ids)
        for place, mask in zip(places, answer["masks"]):
            logits = out.logits[0, place].clone()
            logits[special] = -torch.inf
            logits[len(tokenizer):] = -torch.inf
            best = logits.argmax().item()
            token = tokenizer.decode([best], clean_up_tokenization_spaces=False)
            assert token == mask["token"], (answer, token)
            near(logits.softmax(-1)[best].item(), mask["probability"])
            count += 1
    print(f"{name}: {count} masks are filled as transformers fills them")


def check_vectors(name):
    tokenizer, model, _ = read(name, transformers.AutoModel)
    rows = list(csv.reader(lines(name + ".vectors")))[1:]
    texts = lines(name + ".plain")
    assert len(rows) == len(texts) > 0
    for row, text in zip(rows, texts):
        _, out = compute(tokenizer, model, text)
        for a, b in zip(out.last_hidden_state[0].mean(0).tolist(), row, strict=True):
            near(a, float(b))
    print(f"{name}: {len(rows)} vectors are the mean of transformers' last layer")


def check_labels(name):
    tokenizer, model, loading = read(name, transformers.AutoModelForSequenceClassification)
    assert not any(loading.values()), loading
    answers = [json.loads(line) for line in lines(name + ".labels")]
    for answer in answers:
        _, out = compute(tokenizer, model, answer["text"])
        for i, p in enumerate(out.logits[0].softmax(-1).tolist()):
            near(p, answer["probabilities"][model.config.id2label[i]])
    print(f"{name}: {len(answers)} texts have transformers' labels, by {type(model).__name__}")


for entry in ["bert", "esm"]:
    check_masks(entry)
    check_vectors(entry)
    check_labels(entry + "-labels")
check_labels("pieces-labels")
