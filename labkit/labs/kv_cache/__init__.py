"""A KV cache: attention, model, generation; arena, ring, pages."""
