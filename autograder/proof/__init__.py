"""Proof that a lab's own solution earns every point."""
