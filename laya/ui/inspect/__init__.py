"""The parts of the page Inspect."""
