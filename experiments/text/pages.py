"""Manual pages as text: what mandoc makes of a page, as paragraphs of prose whose words have fonts.

A page is set in lines so long that a paragraph is one of them. What is a paragraph of prose, and
what a table, an example or a heading, is told by its form alone, since headings are translated.
"""
import collections
import concurrent.futures
import gzip
import hashlib
import os
import pickle
import re
import subprocess

PLAIN, BOLD, ITALIC = "plain", "bold", "italic"
EITHER = None  # "_" over "_" may be bold or italic: as what stands before it

WIDTH = 1000  # the most that mandoc takes

# What a page says of itself and not of its subject, and what all pages of a package have in common.
LEFT_OUT = re.compile(
    r"NAME|SYNOPSIS|SEE ALSO|AUTHORS?\b|COPYRIGHT|LICEN[SC]E|REPORTING|COLOPHON|KEYWORDS|CATEGORY|"
    r"AVAILABILITY|HISTORY|STANDARDS|CONFORMING|ACKNOWLEDG|CONTACT|BUGS|VERSIONS?\b|LIBRARY|"
    r"ATTRIBUTES|NOTICE|MAINTAINER|TRANSLATION|CREDITS|EXAMPLES?\b", re.IGNORECASE)

Page = collections.namedtuple("Page", "package language section name names paragraphs")
Paragraph = collections.namedtuple("Paragraph", "heading words fonts")


def order(*what):
    """A number from 0 to 1 that follows from what it is for, and from nothing else."""
    data = "\0".join(str(part) for part in what).encode()
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") / 2.0**64


def characters(line):
    """The characters of a line and their fonts, from overstrikes: "_\\bx" italic, "x\\bx" bold."""
    text, fonts = [], []
    i = 0
    while i < len(line):
        font = PLAIN
        while i + 2 < len(line) and line[i + 1] == "\b":
            if line[i] != "_":
                font = BOLD
            else:
                font = EITHER if line[i + 2] == "_" else ITALIC
            i += 2
        text.append(line[i])
        fonts.append(font)
        i += 1
    for i, font in enumerate(fonts):
        if font is EITHER:
            after = next((f for f in fonts[i + 1:] if f is not EITHER), PLAIN)
            fonts[i] = fonts[i - 1] if i and text[i - 1] != " " else after
    return "".join(text), fonts


def words_of(text, fonts):
    """The words of a line, each with the fonts of its characters."""
    words, of_words = [], []
    for match in re.finditer(r"\S+", text):
        words.append(match.group())
        of_words.append(fonts[match.start():match.end()])
    return words, of_words


def is_prose(words):
    text = " ".join(words)
    letters = sum(c.isalpha() for c in text)
    simple = sum(w.strip(".,;:()\"'").isalpha() for w in words)
    return len(words) >= 6 and letters >= 0.7 * len(text) and simple >= 0.6 * len(words)


def without_tag(text, fonts):
    """Without a bullet, or the option that a paragraph is about, before it on the same line."""
    gaps = [m.end() for m in re.finditer(r"\S( {3,})(?=\S)", text)]
    if gaps and len(text) - gaps[-1] >= 60:
        return text[gaps[-1]:], fonts[gaps[-1]:]
    return text, fonts


def paragraphs(rendered):
    """The paragraphs of prose of a page that mandoc has set, without its header and footer."""
    lines = [line for line in rendered.split("\n") if line.strip()]
    found, heading = [], ""
    before = 0
    for line in lines[1:-1]:
        text, fonts = characters(line.rstrip())
        if not text.startswith(" "):
            heading, before = text.strip(), 0
            continue
        goes_on = before > WIDTH - 80
        before = len(text)
        text, fonts = (text, fonts) if goes_on else without_tag(text, fonts)
        if re.search(r"\S {3,}\S", text):
            continue
        words, of_words = words_of(text, fonts)
        if goes_on and found:
            found[-1].words.extend(words)
            found[-1].fonts.extend(of_words)
        elif is_prose(words):
            found.append(Paragraph(heading, words, of_words))
    return found


def names_of(name, rendered):
    """What a page is about, as its NAME section and its file have it."""
    names = {name.lower()}
    lines = [line for line in rendered.split("\n") if line.strip()][1:3]
    if len(lines) == 2:
        text, _ = characters(lines[1])
        head = re.split(r" [-–—] ", text)[0]
        names.update(w.strip(" ,").lower() for w in head.split() if len(head) < 300)
    return {n for n in names if len(n) > 1}


def read_page(job):
    package, language, path = job
    with gzip.open(path, "rb") as file:
        source = file.read()
    if source[:2000].lstrip().startswith(b".so ") or len(source) > 2000000:
        return None
    told = subprocess.run(["mandoc", "-Tutf8", "-Kutf-8", "-Owidth=%d" % WIDTH], input=source,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    rendered = told.stdout.decode("utf-8", "replace")
    name, _, section = os.path.basename(path)[:-3].rpartition(".")
    return Page(package, language, section[:1], name, names_of(name, rendered),
                paragraphs(rendered))


def files_below(folder):
    """Package, language ("en" for pages as they were written) and path of every page, sorted."""
    jobs, seen = [], set()
    for package in sorted(os.listdir(folder)):
        top = os.path.join(folder, package, "usr/share/man")
        for place, _, names in os.walk(top):
            relative = os.path.relpath(place, top).split("/")
            language = "en" if relative[0].startswith("man") else relative[0].split(".")[0]
            for name in names:
                path = os.path.join(place, name)
                if name.endswith(".gz") and not os.path.islink(path):
                    jobs.append((package, language, path))
    jobs.sort()
    once = []
    for job in jobs:  # a file may have several names
        status = os.stat(job[2])
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            once.append(job)
    return once


def read_all(folder, cache):
    """All pages below a folder of unpacked packages, each paragraph where it stands first."""
    if os.path.exists(cache):
        with open(cache, "rb") as file:
            return pickle.load(file)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        pages = [p for p in pool.map(read_page, files_below(folder), chunksize=50) if p]
    seen, kept = set(), []
    for page in pages:
        own = []
        for paragraph in page.paragraphs:
            key = re.sub(r"[\W\d_]+", "", " ".join(paragraph.words).lower())
            if key not in seen:
                seen.add(key)
                own.append(paragraph)
        kept.append(page._replace(paragraphs=own))
    with open(cache, "wb") as file:
        pickle.dump(kept, file)
    return kept


def subject(page):
    """The paragraphs of a page that are about its subject."""
    return [p for p in page.paragraphs if not LEFT_OUT.match(p.heading)]


REFERENCE = re.compile(r"^(\W*[\w.:+-]+)\(\d[a-zA-Z]*\)(\W*)$")


def without_reference(word):
    """"printf(3)," as "printf,"."""
    match = REFERENCE.match(word)
    return match.group(1) + match.group(2) if match else word
