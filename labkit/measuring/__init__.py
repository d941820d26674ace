"""Measuring and what to hold a measurement against: clocks, records, bounds, figures."""
