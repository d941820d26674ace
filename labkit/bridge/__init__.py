"""How a check reaches a student's code: by value, wherever that code runs."""
