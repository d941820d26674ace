"""Checks of `verify_tree`, with the trees that they play."""
