"""A batch of models with a cache each, fed one after the other: what any batch is held against."""


class RowsModel:
    """One model with a cache per row, fed one after the other: the plain form."""

    def __init__(self, models):
        """A batch with as many rows as models.

        Raises: ValueError for none, for two vocabularies, and for one model in two rows.
        """
        if len(set(map(id, models))) < len(models):
            raise ValueError("a model has one cache: each row needs a model of its own")
        sizes = {model.vocab_size for model in models}
        if len(sizes) != 1:
            raise ValueError(f"all rows must have one vocabulary; got {sorted(sizes) or 'no row'}")
        self.vocab_size = sizes.pop()
        self._models = list(models)

    def n_cached(self):
        """Tokens in the cache of each row."""
        return [model.n_cached() for model in self._models]

    def feed(self, rows):
        """Cache tokens of each row, if any; logits (B T V), 0 behind a row's tokens."""
        found = [
            model.feed(row) if len(row) else None
            for model, row in zip(self._models, rows, strict=True)
        ]
        some = next(logits for logits in found if logits is not None)
        padded = some.new_zeros(len(rows), max(map(len, rows)), self.vocab_size)
        for i, logits in enumerate(found):
            if logits is not None:
                padded[i, : len(logits)] = logits
        return padded

    def rewind(self, n_cached):
        """Forget all but the first n_cached[i] tokens of row i."""
        for model, n in zip(self._models, n_cached, strict=True):
            model.rewind(n)
