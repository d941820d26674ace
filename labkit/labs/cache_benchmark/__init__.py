"""What a KV cache saves, predicted and measured; prefix caching; offload."""
