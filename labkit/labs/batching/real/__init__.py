"""The loops of lab 5 on a real model, in one process or in two, whose KV caches really move."""
