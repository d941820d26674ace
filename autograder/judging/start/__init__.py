"""How the processes of a grading come to be: the template, its slots, and what becomes a zygote."""
