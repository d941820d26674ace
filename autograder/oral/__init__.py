"""Sheets for a conversation with each student about the student's own passing code."""
