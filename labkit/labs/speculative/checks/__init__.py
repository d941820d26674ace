"""Checks of lab 6, each module with its open cases."""
