"""Checks of lab 7, each module with its open cases."""
