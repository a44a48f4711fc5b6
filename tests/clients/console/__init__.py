"""The parts of the browser test of the console."""
