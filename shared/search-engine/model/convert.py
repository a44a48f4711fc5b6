"""Turns a static embedding (model.safetensors with f16 rows, tokenizer.json with a WordPiece vocabulary)
into the three files that the crate includes: vocab.txt, rows.bin (int8), scales.bin (f32 per row, little endian).

Usage: python convert.py <folder with model.safetensors and tokenizer.json> [<output folder>]
Needs only numpy.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np


def read_rows(path: Path) -> np.ndarray:
    data = path.read_bytes()
    (header_length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + header_length])
    tensor = header["embeddings"]
    if tensor["dtype"] != "F16":
        raise SystemExit(f"expected f16 rows, found {tensor['dtype']}")
    start, end = tensor["data_offsets"]
    body = data[8 + header_length :][start:end]
    return np.frombuffer(body, dtype="<f2").reshape(tensor["shape"]).astype(np.float32)


def read_vocabulary(path: Path) -> list[str]:
    vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.get)
    if [vocabulary[token] for token in tokens] != list(range(len(tokens))):
        raise SystemExit("token ids have gaps")
    if any("\n" in token for token in tokens):
        raise SystemExit("a token holds a line feed")
    return tokens


def main() -> None:
    source = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent
    rows = read_rows(source / "model.safetensors")
    tokens = read_vocabulary(source / "tokenizer.json")
    if rows.shape != (len(tokens), 256):
        raise SystemExit(f"{len(tokens)} tokens do not fit rows of shape {rows.shape}")
    largest = np.abs(rows).max(axis=1)
    scales = np.where(largest > 0, largest / 127.0, 0.0).astype("<f4")
    divisor = np.where(scales > 0, scales, 1.0)[:, None]
    quantized = np.rint(rows / divisor).clip(-127, 127).astype(np.int8)
    error = np.abs(quantized * scales[:, None] - rows).max()
    (target / "rows.bin").write_bytes(quantized.tobytes())
    (target / "scales.bin").write_bytes(scales.tobytes())
    (target / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    print(f"{len(tokens)} rows, largest rounding error {error:.6f}")


if __name__ == "__main__":
    main()
