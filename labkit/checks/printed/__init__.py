"""What a student made of a lab, as a page to print: answers, figures and tables."""
