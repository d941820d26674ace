"""What a person should look at: who wrote the same, and what is odd. It never changes a mark."""
