"""Twenty questions on seven papers, in two languages, with numbers of each student's own."""
