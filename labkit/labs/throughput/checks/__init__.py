"""Checks of lab 2, each module with its open cases."""
