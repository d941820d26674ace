"""Around `labkit.flash_attention`: a memory that counts, closed forms, the backward pass, times."""
