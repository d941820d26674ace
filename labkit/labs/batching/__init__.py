"""Two loops that serve many requests: continuous batching, prefill and decode apart."""
