"""How the tiny model pair is made: corpus, tokenizer, training, measurement, model card.

`python -m training.train OUT` does all of it on one GPU in about ten minutes; `python -m
training.publish OUT` puts the result into `data/`. Nothing here ships to students.
"""
