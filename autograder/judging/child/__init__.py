"""What runs beside student code: the zygote, the notebook shell and the server of one child.

Everything here is in the student's hands once the first cell has run, so nothing here decides
anything: it holds no expected value, no hidden case and no mark.
"""
