"""The record of marks: results, the gradebook, marks by hand."""
