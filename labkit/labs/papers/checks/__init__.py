"""Checks of lab 8: how an answer is read, how it is marked, and what each answer is checked for."""
