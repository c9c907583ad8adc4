#!/usr/bin/env python3
"""Makes the texts of README.md from unpacked packages of Debian.

    experiments/text/make.py PACKAGES FOLDER [SHARE]

PACKAGES holds a folder for each package, FOLDER gets the files. What goes where follows from the
names of pages and a hash, and not from the order of the file system. SHARE, from 0 to 1, makes as
much fewer rows, to try things out.
"""
import collections
import os
import re
import sys

from pages import LEFT_OUT, PLAIN, order, read_all, subject, without_reference

# What English pages are written in; a page about characters shows others.
LATIN = re.compile(r"[\u0020-\u024f\u2000-\u206f\u20ac\u2122\u2190-\u2260]*")
LANGUAGES = ["cs", "da", "de", "es", "fr", "it", "nl", "pl", "pt_BR", "sv"]
SECTIONS = ["1", "2", "3", "5", "7", "8"]
FEW = [48, 198, 798]  # labels, the same number of each section
MANUAL_BYTES = 20000000
ENGLISH = {"the", "and", "this", "that", "with", "from", "which", "by", "are", "not", "be"}


def for_evaluation(page):
    """A page, its translations and its namesakes are all for training or all for evaluation."""
    return order("evaluation", page.name.lower()) < 0.12


def write_table(path, columns, rows, told):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for row in [columns] + rows:
            file.write("\t".join(row) + "\n")
    told.append((os.path.basename(path), len(rows), os.path.getsize(path)))


# ---- languages ----


def pieces(words, key):
    """A paragraph cut between words into pieces of 20 to 200 characters, short ones as often as
    long ones; what is left over at the end is dropped."""
    piece, wanted = "", 0
    for i, word in enumerate(words):
        if not piece:
            wanted = 20 * 10 ** order("piece", key, i)
        piece = piece + " " + word if piece else word
        if len(piece) >= wanted:
            if len(piece) <= 200:
                yield piece
            piece = ""


def shingles(text):
    words = re.findall(r"\w+", text.lower())
    return {" ".join(words[i:i + 4]) for i in range(len(words) - 3)}


def is_language(piece, english):
    """Not English that was left as it is, nor mostly names, numbers and signs."""
    words = re.findall(r"[^\W\d_]+", piece.lower())
    if len(words) < 3 or sum(c.isalpha() for c in piece) < 0.7 * len(piece):
        return False
    if sum(w in ENGLISH for w in words) >= 2:
        return False
    own = shingles(piece)
    return not own or sum(s in english for s in own) < 0.3 * len(own)


def make_languages(pages, folder, share, told):
    english = set()
    for page in pages:
        if page.language == "en":
            for paragraph in page.paragraphs:
                english |= shingles(" ".join(paragraph.words))
    found = {True: collections.defaultdict(list), False: collections.defaultdict(list)}
    for page in pages:
        if page.language not in LANGUAGES:
            continue
        for paragraph in page.paragraphs[1:]:
            key = " ".join(paragraph.words)
            for piece in pieces(paragraph.words, key):
                if is_language(piece, english):
                    found[for_evaluation(page)][page.language].append(piece)
    learned, seen = set(), set()
    for evaluation, number in ((False, int(2000 * share)), (True, int(200 * share))):
        rows = []
        for language in LANGUAGES:
            own = 0
            for piece in sorted(found[evaluation][language], key=lambda p: order("line", p)):
                key = re.sub(r"[\W\d_]+", "", piece.lower())
                shared = shingles(piece)
                known = sum(s in learned for s in shared)
                if own < number and key not in seen and known <= 0.3 * len(shared):
                    seen.add(key)
                    rows.append([piece, language])
                    own += 1
            if own < number:
                print("languages: only %d of %d lines of %s" % (own, number, language),
                      file=sys.stderr)
        rows.sort(key=lambda r: order("row", r[0]))
        name = "languages-eval.tsv" if evaluation else "languages.tsv"
        write_table(os.path.join(folder, name), ["text", "label"], rows, told)
        for row in rows:
            learned |= shingles(row[0])


# ---- pairs ----

PASSAGE = 200  # words: more than 253 tokens, what 512 have room for
FROM_PAGE = 24  # passages at most


def passages(page, words):
    """Passages of a page that share no paragraph, without its name and references to others."""
    taken = []
    for paragraph in subject(page):
        for word in paragraph.words:
            word = without_reference(word)
            bare = word.strip(".,;:()[]\"'“”‘’").lower()
            taken.append("this" if bare in page.names else word)
        if len(taken) >= words:
            yield " ".join(taken[:words])
            taken = []


def make_pairs(pages, folder, share, told):
    """Every passage stands once in a pair of one page and once in a pair of two, on the same side:
    only both together tell the label."""
    for evaluation, number in ((False, int(8000 * share)), (True, int(1000 * share))):
        same = []
        for page in pages:
            if page.language != "en" or for_evaluation(page) != evaluation:
                continue
            own = sorted(passages(page, PASSAGE), key=lambda p: order("passage", p))[:FROM_PAGE]
            same += [(page.name, own[i], own[i + 1]) for i in range(len(own) - 1)]
        same.sort(key=lambda s: order("pair", s[1]))
        same = same[:number]
        rows = []
        for i, (name, first, second) in enumerate(same):
            step = 1
            while same[(i + step) % len(same)][0] == name:
                step += 1
            rows.append([first, second, "same"])
            rows.append([first, same[(i + step) % len(same)][2], "other"])
        rows.sort(key=lambda r: order("row", *r))
        name = "pairs-eval.tsv" if evaluation else "pairs.tsv"
        write_table(os.path.join(folder, name), ["text", "text_b", "label"], rows, told)


# ---- manuals, and sections of them ----


def make_manuals(pages, folder, share, told):
    """Running text of English pages, a paragraph a line and an empty line between pages, without
    what is evaluated on."""
    path = os.path.join(folder, "manuals.txt")
    size = lines = 0
    ours = [p for p in pages if p.language == "en" and not for_evaluation(p)]
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for page in sorted(ours, key=lambda p: order("manual", p.package, p.section, p.name)):
            lines_of = [" ".join(p.words) for p in page.paragraphs[1:]]
            text = "".join(line + "\n" for line in lines_of if LATIN.fullmatch(line))
            if text and size < MANUAL_BYTES * share:
                file.write(text + "\n")
                size += len(text.encode()) + 1
                lines += text.count("\n")
    told.append(("manuals.txt", lines, size))


def make_sections(pages, folder, share, told):
    """Passages of 60 words with the section of their page. The packages take turns, so that none
    stands for a section, and no page gives more than two."""
    turns = {True: collections.defaultdict(list), False: collections.defaultdict(list)}
    for page in pages:
        if page.language != "en" or page.section not in SECTIONS:
            continue
        own = sorted(passages(page, 60), key=lambda p: order("passage", p))
        for passage in own[: 8 if for_evaluation(page) else 2]:
            turns[for_evaluation(page)][page.section, page.package].append(passage)
    for evaluation, sizes in ((False, FEW), (True, [int(1200 * share)])):
        by_section = {}
        for section in SECTIONS:
            ranked = []
            for (of, package), texts in turns[evaluation].items():
                if of == section:
                    texts.sort(key=lambda t: order("section", t))
                    ranked += [(turn, order("turn", package), t) for turn, t in enumerate(texts)]
            by_section[section] = [t for _, _, t in sorted(ranked)]
        for size in sizes:
            each = size // len(SECTIONS)
            rows = [[t, "section " + s] for s in SECTIONS for t in by_section[s][:each]]
            if len(rows) < each * len(SECTIONS):
                print("sections: only %d of %d rows" % (len(rows), size), file=sys.stderr)
            rows.sort(key=lambda r: order("row", r[0]))
            name = "sections-eval.tsv" if evaluation else "sections-%d.tsv" % size
            write_table(os.path.join(folder, name), ["text", "label"], rows, told)


# ---- fonts ----

OPENING, CLOSING = "([{<\"'“‘«", ")]}>\"'”’».,;:!?"


def tokens_of(word, fonts):
    """A word as tokens, by its characters alone: what opens, the word itself, what closes."""
    begin, end = 0, len(word)
    while begin < end - 1 and word[begin] in OPENING:
        begin += 1
    while end > begin + 1 and word[end - 1] in CLOSING:
        end -= 1
    spans = [(i, i + 1) for i in range(begin)] + [(begin, end)]
    spans += [(i, i + 1) for i in range(end, len(word))]
    for first, last in spans:
        own = collections.Counter(fonts[first:last])
        yield word[first:last], max(sorted(own), key=lambda f: own[f])


def sentences(paragraph):
    """The sentences of a paragraph, as lists of tokens and fonts."""
    sentence = []
    for word, fonts in zip(paragraph.words, paragraph.fonts):
        shorter = without_reference(word)
        if shorter != word:  # a reference to a page would tell the font of its name
            at = word.index("(")
            fonts = fonts[:at] + fonts[len(word) - (len(shorter) - at):]
        sentence += tokens_of(shorter, fonts)
        if re.search(r"[^.]{2}[.!?:]$", word):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def make_fonts(pages, folder, share, told):
    """A sentence of 5 to 40 tokens of which some but not all have a font; four of a page at most."""
    for evaluation, number in ((False, int(12000 * share)), (True, int(1500 * share))):
        taken = []
        for page in pages:
            if page.language != "en" or for_evaluation(page) != evaluation:
                continue
            own = []
            for paragraph in page.paragraphs[1:]:
                if LEFT_OUT.match(paragraph.heading):
                    continue
                for sentence in sentences(paragraph):
                    plain = sum(font == PLAIN for _, font in sentence)
                    if 5 <= len(sentence) <= 40 and len(sentence) > plain >= 4:
                        own.append(sentence)
            own.sort(key=lambda s: order("sentence", *[t for t, _ in s]))
            taken += own[:4]
        taken.sort(key=lambda s: order("row", *[t for t, _ in s]))
        taken = taken[:number]
        path = os.path.join(folder, "fonts-eval.txt" if evaluation else "fonts.txt")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for sentence in taken:
                file.write("".join("%s\t%s\n" % token for token in sentence) + "\n")
        told.append((os.path.basename(path), len(taken), os.path.getsize(path)))


def main():
    packages, folder = sys.argv[1:3]
    share = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    os.makedirs(folder, exist_ok=True)
    pages = read_all(packages, os.path.join(packages, "pages.pickle"))
    told = []
    for make in (make_languages, make_pairs, make_manuals, make_sections, make_fonts):
        make(pages, folder, share, told)
    with open(os.path.join(folder, "files.csv"), "w", encoding="utf-8", newline="\n") as file:
        file.write("file,rows,bytes\n")
        file.writelines("%s,%d,%d\n" % row for row in told)


if __name__ == "__main__":
    main()
