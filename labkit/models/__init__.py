"""The ground that all labs stand on: facts, shapes, a transformer, prompts, seeds."""
