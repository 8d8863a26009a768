import pathlib
import sys

# What the end-to-end tests drive the program with.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
