"""Checks of lab 1, each module with its open cases."""
