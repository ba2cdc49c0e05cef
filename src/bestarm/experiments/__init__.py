"""The paper's figures, each one command."""
