"""Adds, removes and changes keys of the config.json of the fixtures, and compares the logits of rotor
with those of transformers where both accept the folder. A difference that rotor does not name in a
warning, a silent one, ends the program with 1.

    mutate_config.py EXCHANGE CASES [SEED] >TABLE.csv
    mutate_config.py --keys >tests/fixtures/config_keys.txt

EXCHANGE is build/tests/huggingface-exchange. --keys lists, for every family, the keys that its
configuration class knows and those that its modules ask for.
"""
import copy
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import fields

import torch
import transformers
from safetensors import safe_open

FAMILIES = {
    "roformer": "RoFormer", "llama": "Llama", "mistral": "Mistral", "gpt_neox": "GPTNeoX",
    "qwen2": "Qwen2", "qwen3": "Qwen3", "smollm3": "SmolLM3", "modernbert": "ModernBert",
    "esm": "Esm",
}
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(transformers.__file__)
# Modules that all families share: masks, generic heads, rotations.
SHARED = ["masking_utils.py", "modeling_layers.py", "modeling_rope_utils.py"]
# Keys of folders that older versions of transformers saved.
OLDER = {
    "llama": ["rope_theta", "rope_scaling"], "mistral": ["rope_theta", "rope_scaling"],
    "qwen2": ["rope_theta", "rope_scaling"], "qwen3": ["rope_theta", "rope_scaling"],
    "smollm3": ["rope_theta", "rope_scaling"], "gpt_neox": ["rotary_pct", "rotary_emb_base"],
    "modernbert": ["global_rope_theta", "local_rope_theta", "global_attn_every_n_layers"],
}
# Keys that only modules of other families ask for in the shared files.
ELSEWHERE = {"attention_chunk_size", "hidden_dropout", "layer_types", "sliding_window", "head_dim",
             "classifier_dropout", "rope_theta", "rope_parameters", "partial_rotary_factor",
             "logits_mup_width_multiplier", "mtp_hidden_states_first", "unpadded_vocab_size"}


# ---- the keys of a class ----

def asked_for(path):
    """Keys that a module takes with a default, or that are not fields of the class."""
    with open(os.path.join(SOURCES, path)) as file:
        return set(re.findall(r'getattr\((?:self\.)?config, "([a-z]\w*)"', file.read()))


def keys_of(family):
    kind = getattr(transformers, FAMILIES[family] + "Config")
    keys = {f.name for f in fields(kind)} | asked_for(f"models/{family}/modeling_{family}.py")
    for path in SHARED:
        keys |= asked_for(path) - ELSEWHERE
    if family == "roformer":  # of a class for multiple choice
        keys = {key for key in keys if not key.startswith("summary_")}
    if family not in ("gpt_neox", "llama", "mistral", "qwen2", "qwen3", "smollm3"):
        keys -= {"token_classification_bias"}
    return sorted(keys | set(OLDER.get(family, [])) | {"num_labels", "per_layer_config"})


# ---- mutations ----

WORDS = ["gelu", "silu", "relu", "gelu_new", "default", "linear", "dynamic", "yarn", "longrope",
         "llama3", "full_attention", "sliding_attention", "cls", "mean", "rotary", "absolute",
         "single_label_classification", "x"]
NUMBERS = [0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 31, 64, 128, -1, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 1e-6,
           1e-2, 10000.0, 500000.0]


def value_like(r, value, layers):
    """Another value of the same type more often than not."""
    kind = r.random()
    if r.random() < 0.5:  # one that both are likely to accept
        if isinstance(value, bool):
            return not value
        if isinstance(value, float):
            return r.choice([0.1, 0.25, 0.5, 1e-6, 1e-3, value * 2, 10000.0])
        if isinstance(value, int):
            return r.choice([1, 2, 3, 4, 5, 6, 8, 10, 17, 24])
        if isinstance(value, str):
            return r.choice(["gelu", "silu", "relu", "gelu_new", "cls", "mean"])
    if kind < 0.12:
        return None
    if isinstance(value, bool) or kind < 0.2:
        return r.random() < 0.5
    if isinstance(value, (int, float)) and kind < 0.85:
        near = [value + 1, max(value - 1, 0), value * 2, value / 2, value // 2]
        return r.choice(near + NUMBERS)
    if isinstance(value, str) and kind < 0.9:
        return r.choice(WORDS)
    if isinstance(value, list) and kind < 0.95:
        return [r.choice(value + ["full_attention", "sliding_attention", 0, 1]) for _ in range(
            layers)]
    if isinstance(value, dict) and value:
        changed = copy.deepcopy(value)
        key = r.choice(sorted(changed))
        if r.random() < 0.2:
            del changed[key]
        else:
            changed[key] = value_like(r, changed[key], layers)
        return changed
    return r.choice([True, False, None, r.choice(NUMBERS), r.choice(WORDS),
                     [r.choice(["full_attention", "sliding_attention"]) for _ in range(layers)],
                     [r.choice([0, 1]) for _ in range(layers)]])


def rope(r, pairs):
    """Parameters of a rotation, sometimes with a key missing or too many."""
    kind = r.choice(["default", "linear", "dynamic", "yarn", "longrope", "llama3"])
    p = {r.choice(["rope_type", "rope_type", "type"]): kind, "factor": r.choice([1.0, 2.0, 4.0])}
    extra = {
        "rope_theta": r.choice([10000.0, 5000.0]), "partial_rotary_factor": r.choice([1.0, 0.5]),
        "original_max_position_embeddings": r.choice([4, 8, 16, 64]), "attention_factor": 1.25,
        "beta_fast": 16.0, "beta_slow": 2.0, "mscale": 1.5, "mscale_all_dim": 0.5,
        "truncate": r.random() < 0.5, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "short_factor": [1.0 + i / 8 for i in range(pairs)],
        "long_factor": [2.0 + i / 4 for i in range(pairs)], "finetuned": True,
    }
    needed = {"llama3": ["original_max_position_embeddings", "low_freq_factor", "high_freq_factor"],
              "longrope": ["short_factor", "long_factor", "original_max_position_embeddings"],
              "yarn": ["original_max_position_embeddings"]}.get(kind, [])
    for key in needed:
        if r.random() < 0.9:
            p[key] = extra[key]
    for key in r.sample(sorted(extra), r.choice([0, 0, 1, 2])):
        p[key] = extra[key]
    return p


def mutate(r, config, names):
    config = copy.deepcopy(config)
    layers, changes = config["num_hidden_layers"], []
    pairs = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    pairs //= 2
    wanted = r.choice([1, 1, 1, 2, 3])
    while len(changes) < wanted:
        kind = r.random()
        key = r.choice(names) if kind < 0.55 else r.choice(sorted(config))
        if key in ("model_type", "architectures", "transformers_version"):
            continue
        if kind > 0.88:
            if config.pop(key, config) is config:
                continue
            changes.append(f"{key} removed")
            continue
        if key in ("rope_parameters", "rope_scaling") and r.random() < 0.8:
            value = rope(r, pairs)
            if config["model_type"] == "modernbert" and key == "rope_parameters":
                value = {"full_attention": value, "sliding_attention": copy.deepcopy(value)}
        elif key in ("head_dim", "sliding_window") and r.random() < 0.7:
            value = r.choice([2 * pairs, 4, 8, 3, 2, None])
        else:
            value = value_like(r, config.get(key, r.choice([True, 1, "x", None])), layers)
        config[key] = value
        changes.append(f"{key} = {json.dumps(value)}")
    return config, "; ".join(changes)


# ---- both programs ----

class Rotor:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "logits"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def logits(self, folder, ids):
        """(logits or None, warnings or the reason of the refusal)"""
        self.process.stdin.write(" ".join([folder] + [str(i) for i in ids]) + "\n")
        self.process.stdin.flush()
        said, _, numbers = self.process.stdout.readline().partition("\t")
        word, _, message = said.partition(" ")
        numbers = [float(x) for x in numbers.split()]
        return (torch.tensor(numbers, dtype=torch.float64) if word == "ok" else None), message


def transformers_logits(folder, ids):
    """(logits or None, the reason of the refusal)"""
    try:
        config = transformers.AutoConfig.from_pretrained(folder)
        kind = getattr(transformers, config.architectures[0])
        model, loading = kind.from_pretrained(folder, config=config, dtype=torch.float64,
                                              attn_implementation="eager",
                                              output_loading_info=True)
        if loading["missing_keys"] or loading["mismatched_keys"]:
            return None, f"weights are missing: {sorted(loading['missing_keys'])[:2]}"
        kept = [key for key in loading["unexpected_keys"] if "inv_freq" not in key]
        if kept:
            return None, f"weights are not used: {sorted(kept)[:2]}"
        with torch.no_grad():
            out = model.eval()(input_ids=torch.tensor([ids]),
                               attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                               return_dict=True)
        return out.logits.double().flatten(), ""
    except Exception as error:  # whatever a configuration makes of it
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150]}"


def fixtures():
    """Folders of models with a head, by name."""
    found = {}
    for kind in ("huggingface", "llama", "families"):
        for path in sorted(glob.glob(os.path.join(HERE, "..", "fixtures", kind, "*", "hf"))):
            with open(os.path.join(path, "config.json")) as file:
                config = json.load(file)
            weights = os.path.join(path, "model.safetensors")
            if config["architectures"][0].endswith("Model") or not os.path.exists(weights):
                continue
            with safe_open(weights, "pt") as file:
                half = any(file.get_tensor(n).dtype != torch.float32 for n in file.keys())
            if not half:
                found[os.path.basename(os.path.dirname(path))] = (weights, config)
    return found


def compare(rotor, folder, ids):
    """(outcome, difference, what was said)"""
    ours, said = rotor.logits(folder, ids)
    theirs, reason = transformers_logits(folder, ids)
    if ours is None or theirs is None:
        outcome = "refused" if ours is None and theirs is None else (
            "rotor alone" if theirs is None else "transformers alone")
        return outcome, 0.0, said + (" | " if said and reason else "") + reason
    if ours.shape != theirs.shape:
        return "named" if said else "SILENT", float("inf"), said
    # transformers computes angles, and for some families cosines, as floats
    worst = ((ours - theirs).abs() / (1 + theirs.abs())).max().item()
    equal = worst <= 2e-4
    return ("equal" if equal else "named" if said.strip() else "SILENT"), worst, said


def main():
    if sys.argv[1] == "--keys":
        for family in FAMILIES:
            print(family, *keys_of(family))
        return 0
    cases, seed = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    warnings.filterwarnings("ignore")
    transformers.utils.logging.set_verbosity(transformers.utils.logging.CRITICAL)
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    r, rotor, all_of = random.Random(seed), Rotor(sys.argv[1]), fixtures()
    names = {family: keys_of(family) for family in FAMILIES}
    extra = sorted({key for keys in names.values() for key in keys}) + [
        "use_bidirectional_attention", "final_logit_softcapping", "embedding_multiplier", "foo",
        "attn_logit_softcapping", "num_key_value_heads", "position_embedding_type"]
    counts = {}
    print("fixture,outcome,difference,changes,said")
    with tempfile.TemporaryDirectory() as folder:
        for n in range(cases):
            name = sorted(all_of)[n % len(all_of)]
            weights, config = all_of[name]
            known = names[config["model_type"]]
            changed, changes = mutate(r, config, known if r.random() < 0.8 else extra)
            with open(os.path.join(folder, "config.json"), "w") as file:
                json.dump(changed, file)
            link = os.path.join(folder, "model.safetensors")
            if os.path.lexists(link):
                os.remove(link)
            os.symlink(os.path.abspath(weights), link)
            # Longer than the windows and the original lengths of the fixtures. A text does not end
            # with the token of padding: a classifier of transformers would read the one before.
            ids = [3 + i * 7 % (min(config["vocab_size"], 33) - 5) for i in range(14)]
            if ids[-1] == changed.get("pad_token_id"):
                ids[-1] -= 1
            outcome, worst, said = compare(rotor, folder, ids)
            counts[outcome] = counts.get(outcome, 0) + 1
            row = [name, outcome, f"{worst:.1e}", changes, said]
            print(",".join('"' + cell.replace('"', "'") + '"' for cell in row), flush=True)
            if outcome == "SILENT":
                print(f"silent difference of {worst:.1e}: {name}: {changes}", file=sys.stderr)
    print("; ".join(f"{word}: {counts[word]}" for word in sorted(counts)), file=sys.stderr)
    return 1 if counts.get("SILENT") else 0


if __name__ == "__main__":
    sys.exit(main())
