#!/usr/bin/env python3
"""A small GPT-NeoX that transformers trains on texts, byte by byte, and saves: a model that rotor
did not make. Not part of the tests; needs torch, transformers and tokenizers.

    scripts/train-gpt-neox.py FOLDER TEXT ...
"""
import sys

import tokenizers
import torch
import transformers

LENGTH, BATCH, STEPS, WARMUP, RATE = 128, 8, 2000, 50, 2e-3


def byte_tokenizer(texts):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=257, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train(texts, trainer)
    return tokenizer


def batch_of(tokens):
    starts = torch.randint(len(tokens) - LENGTH, (BATCH,))
    return torch.stack([tokens[s:s + LENGTH] for s in starts])


def main():
    folder, *texts = sys.argv[1:]
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokenizer = byte_tokenizer(texts)
    tokens = []
    for text in texts:
        with open(text, encoding="utf-8") as file:
            tokens += tokenizer.encode(file.read()).ids
    tokens = torch.tensor(tokens)
    model = transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=128, num_hidden_layers=4,
        num_attention_heads=2, intermediate_size=512, max_position_embeddings=LENGTH,
        bos_token_id=0, eos_token_id=0))
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARMUP) * (1 - step / STEPS)
        inputs = batch_of(tokens)
        loss = model(input_ids=inputs, labels=inputs).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
        if (step + 1) % 200 == 0:
            print(f"step {step + 1}: loss {loss:.4f}", flush=True)
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>").save_pretrained(folder)


main()
