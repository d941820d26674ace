"""The badge that opens a released notebook in Colab, which reads notebooks from GitHub alone."""

import re

RAW = re.compile(r"https://raw\.githubusercontent\.com/([^/]+/[^/]+)/(?:refs/heads/)?(.+)")
PAGES = re.compile(r"https://([^/.]+)\.github\.io(?:/([^/]+))?(.*)")


def colab_address(address: str, path: str) -> str:
    """Where Colab opens a file below a site's address, "" if the site is not GitHub's.

    A repository's pages are taken to lie on its branch gh-pages, a person's own on main.
    """
    if raw := RAW.fullmatch(address):
        place = f"{raw[1]}/blob/{raw[2]}"
    elif pages := PAGES.fullmatch(address):
        owner, repository, rest = pages.groups()
        branch = f"{repository}/blob/gh-pages" if repository else f"{owner}.github.io/blob/main"
        place = f"{owner}/{branch}{rest}"
    else:
        return ""
    return f"https://colab.research.google.com/github/{place}/{path}"


def badge(link: str) -> str:
    """The badge, in Markdown and in HTML alike."""
    picture = "https://colab.research.google.com/assets/colab-badge.svg"
    return f'<a href="{link}"><img src="{picture}" alt="Open in Colab"></a>'
