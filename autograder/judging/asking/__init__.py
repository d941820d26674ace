"""Questions about a student's own passing code, with keys that come from running it."""
