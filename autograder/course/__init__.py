"""What an instructor states once for a course: who is in it, when work is due, what late costs."""
