"""What Ringside writes, read by the format's specification and nothing of Ringside's, and back.

Usage: read_safetensors.py PROGRAM. Where the safetensors library is installed (with NumPy), it must read the same.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1}


def read(path):
    """Names to (dtype, shape, bytes), and the metadata; every rule of the format is asserted."""
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header = content[8 : 8 + length]
    data = content[8 + length :]
    assert header.startswith(b"{"), "the header must begin with {"
    assert header.rstrip(b" ").endswith(b"}"), "the header may be padded with blanks alone"

    def no_duplicates(pairs):
        assert len({key for key, _ in pairs}) == len(pairs), "duplicate key"
        return dict(pairs)

    entries = json.loads(header.decode("utf-8"), object_pairs_hook=no_duplicates)
    metadata = entries.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    filled = 0
    tensors = {}
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == filled, f"{name}: hole or overlap"
        elements = 1
        for size in entry["shape"]:
            elements *= size
        assert end - begin == elements * SIZES[entry["dtype"]], name
        assert (8 + length + begin) % SIZES[entry["dtype"]] == 0, f"{name}: not aligned"
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:end])
        filled = end
    assert filled == len(data), "bytes at the end"
    return tensors, metadata


def write(path, tensors):
    """As the library: sorted by name, no metadata but the format."""
    header = {"__metadata__": {"format": "pt"}}
    data = b""
    for name in sorted(tensors):
        dtype, shape, content = tensors[name]
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    program = sys.argv[1]

    def run(*words):
        subprocess.run([program, *words, "--quiet"], check=True, timeout=60)

    with tempfile.TemporaryDirectory() as folder:
        first = os.path.join(folder, "first.safetensors")
        foreign = os.path.join(folder, "foreign.safetensors")
        again = os.path.join(folder, "again.safetensors")
        training = ["run", "--steps", "2", "--devices", "2", "--optimizer", "adam"]
        run(*training, "--model", "mlp:64,16,10:bn", "--save", first)
        tensors, metadata = read(first)
        assert metadata["format"] == "pt" and metadata["ringside.step"] == "2", metadata
        model = {name: t for name, t in tensors.items() if not name.startswith("optimizer.")}
        assert list(sorted(model)) == [
            "0.bias", "0.weight", "1.bias", "1.num_batches_tracked", "1.running_mean",
            "1.running_var", "1.weight", "3.bias", "3.weight",
        ], sorted(model)
        assert model["0.weight"][:2] == ("F32", [16, 64])
        assert model["1.num_batches_tracked"] == ("I64", [], struct.pack("<q", 2))
        assert tensors["optimizer.0.weight.step"] == ("F32", [], struct.pack("<f", 2))
        assert tensors["optimizer.3.bias.exp_avg"][:2] == ("F32", [10])

        # With another order, under a prefix, and back through a training that changes nothing.
        write(foreign, {"module." + name: tensor for name, tensor in model.items()})
        run("checkpoint", foreign, "--weights", again, "--strip-prefix", "module.")
        assert read(again)[0] == model
        run(*training, "--model", "mlp:64,16,10:bn", "--lr", "0", "--load", foreign,
            "--strip-prefix", "module.", "--save", again)
        loaded = read(again)[0]
        for name in model:
            if "running" not in name and "tracked" not in name:
                assert loaded[name] == model[name], name

        try:
            from safetensors.numpy import load_file
        except ImportError:
            print("the safetensors library is not installed: read by the specification alone")
            return
        theirs = load_file(first)
        assert {name: value.tobytes() for name, value in theirs.items()} == {
            name: content for name, (_, _, content) in tensors.items()
        }


if __name__ == "__main__":
    main()
