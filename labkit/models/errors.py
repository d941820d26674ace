"""What can go wrong when a model is wanted; a mistake in the call itself is a ValueError."""


class ModelError(RuntimeError):
    """A model cannot be had; the message says why, and what to do instead."""


class UnavailableModel(ModelError):
    """The weights are not on this machine and cannot be fetched, or do not fit into its memory."""


class TooLarge(UnavailableModel, MemoryError):
    """The weights alone are larger than the memory that is free."""


class DamagedModel(ModelError):
    """Files of the model are missing, incomplete or not what they should be."""
