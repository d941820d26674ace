"""Tests, and what they are made from: known answers and the sample class."""
