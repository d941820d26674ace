"""From one source per lab: both notebooks, and the labkit that students get."""
