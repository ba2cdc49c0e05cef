"""The paper's experiments, the study of the guarantee, and the demo: each is one command."""
