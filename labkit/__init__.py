"""labkit: the reference implementations behind the labs on LLM inference."""
