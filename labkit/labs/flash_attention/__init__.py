"""Lab 7: attention on a memory that counts. The answers are in `labkit.flash_attention`."""
