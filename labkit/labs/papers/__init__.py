"""Twenty questions on papers, in two languages, with numbers of each student's own."""
