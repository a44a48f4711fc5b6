"""Prints the vectors of the texts on standard input, one for each line, by the reference implementation.

    pip install torch transformers
    cargo run -p random-encoder --example write_encoder -- tiny FOLDER
    python3 tests/encoder/reference.py FOLDER < texts.txt > vectors.json

With a second argument, a file that the example embed_lines of the crate transformer has printed, it prints the
largest difference from it instead:

    cargo run -p transformer --features encoder --example embed_lines -- FOLDER < texts.txt > ours.json
    python3 tests/encoder/reference.py FOLDER ours.json < texts.txt

The vectors are the means of the last hidden states over the attention mask, with length 1, as
sentence-transformers computes them.
"""

import json
import sys

import torch
from transformers import AutoModel, PreTrainedTokenizerFast


def main(folder, ours=None):
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", pad_token="[PAD]")
    model = AutoModel.from_pretrained(folder).eval()
    config = model.config
    positions = config.max_position_embeddings
    if config.model_type != "bert":
        positions -= config.pad_token_id + 1

    texts = [line.rstrip("\n") for line in sys.stdin]
    batch = tokenizer(texts, padding=True, truncation=True, max_length=positions, return_tensors="pt")
    with torch.no_grad():
        states = model(batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).float()
    means = (states * mask).sum(1) / mask.sum(1)
    vectors = torch.nn.functional.normalize(means, dim=1)
    if ours:
        with open(ours) as file:
            difference = (vectors - torch.tensor(json.load(file))).abs().max().item()
        print(f"{len(texts)} texts, largest difference {difference:.1e}")
        return
    json.dump([[round(value, 8) for value in vector] for vector in vectors.tolist()], sys.stdout)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
