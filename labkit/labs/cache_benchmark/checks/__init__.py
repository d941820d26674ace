"""Checks of lab 3, each module with its open cases."""
