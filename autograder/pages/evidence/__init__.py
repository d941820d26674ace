"""Evidence for a person to look at: equal texts and odd signs. It never changes a mark."""
