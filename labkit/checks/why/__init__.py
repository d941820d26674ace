"""Why code passes or fails: questions about one's own code, and known mistakes."""
