"""For tests of widgets and figures: what a player shows, and in what letters."""

import re

EXPONENT = re.compile(r"\$.*[\^_].*\$")
SHRUNK = 0.7  # its letters, of the others


def controls_of(player):
    """Its controls by their description, however deep in boxes, and its picture."""
    sliders, picture = player.children
    found, boxes = {}, [sliders]
    while boxes:
        box = boxes.pop()
        boxes += getattr(box, "children", ())
        found[getattr(box, "description", "")] = box
    return found, picture


def letters_of(text):
    """The height of the least letters of a figure's words, in points: those of an exponent."""
    return text.get_fontsize() * (SHRUNK if EXPONENT.search(text.get_text()) else 1)
