"""The rules over the tree: one module per family. Each looks at one place and records what it refuses."""
