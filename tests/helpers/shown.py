"""For tests of widgets: what a player shows."""


def controls_of(player):
    """Its controls by their description, however deep in boxes, and its picture."""
    sliders, picture = player.children
    found, boxes = {}, [sliders]
    while boxes:
        box = boxes.pop()
        boxes += getattr(box, "children", ())
        found[getattr(box, "description", "")] = box
    return found, picture
