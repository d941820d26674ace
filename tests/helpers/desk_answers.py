"""Answers that try to harm the person who reads them."""

HOSTILE = {
    "html": "<script>fetch('/')</script><img src=x onerror=alert(1)><form action=/undo><input>",
    "svg": "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "href": r"$\href{javascript:alert(1)}{click}$ and $$\href{data:text/html,x}{y}$$",
    "links": "[a](javascript:alert(1)) [b](data:text/html;base64,PHNjcmlwdD4=) [c](vbscript:x)",
    "data": "![x](data:image/svg+xml;base64,PHN2Zy8+) ![y](attachment:picture-1)",
    "remote": "![x](https://example.org/pixel.png) <link rel=stylesheet href=//example.org/x>",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; [x](&#106;avascript:alert(1))",
    "right to left": "Ten points \u202eevig \u2066stniop\u2069 \u200f",
    "megabyte": "[" * 500_000 + "<b>" * 170_000,
    "template": "{{ 7 * 7 }} {% raw %} ${alert(1)}",
    "null": "a\0b\ud800c",
}
