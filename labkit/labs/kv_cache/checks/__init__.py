"""Checks of lab 4, each module with its open cases."""
