"""Sampling code under scripted chance: every random outcome of a student's code, one by one."""
