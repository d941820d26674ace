"""Checks of lab 5, each module with its open cases."""
