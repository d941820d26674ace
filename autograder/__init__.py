"""autograder: builds the labs, grades submissions outside the student's process, reports."""

import sys

# jsonschema, which nbformat imports, would compile a grammar for IRIs on import: more than a second
# for every process, for a format that no notebook uses. It does without where this cannot be had.
sys.modules.setdefault("rfc3987_syntax", None)
