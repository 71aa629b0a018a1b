"""Write a text of any alphabet with the letters a to z and digits, for slugs."""

from __future__ import annotations

import unicodedata

# Pairs of a letter and its spelling, for letters that Unicode does not decompose as people spell them. A dash: no letter.
_SPELLINGS = (
    "ä ae ö oe ü ue ß ss æ ae œ oe ø o ł l đ d ð d þ th ı i ħ h ŋ ng",
    "а a б b в v г g д d е e ё yo ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh",
    "щ shch ъ - ы y ь - э e ю yu я ya і i ї yi є ye ґ g ў u ј j љ lj њ nj ћ c ђ dj џ dz ѓ gj ќ kj ѕ dz",
    "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o",
)
_WORDS = " ".join(_SPELLINGS).split()
_TABLE = {ord(letter): written.strip("-") for letter, written in zip(_WORDS[::2], _WORDS[1::2], strict=True)}
# Scripts whose letters Unicode names by their sound; and scripts whose letters have a word as name, whose first letter is used.
_BY_SOUND = (
    "HIRAGANA",
    "KATAKANA",
    "HANGUL SYLLABLE",
    "DEVANAGARI",
    "BENGALI",
    "GEORGIAN",
    "ARMENIAN",
    "THAI",
    "TAMIL",
)
_BY_INITIAL = ("ARABIC", "HEBREW")


def latin(text: str) -> str:
    """Return a text in lower-case ASCII; a character without a spelling in Latin letters or digits becomes a blank."""
    small = unicodedata.normalize("NFC", text).lower().translate(_TABLE)
    return "".join(map(_written, small))


def _written(character: str) -> str:
    """Return one character in ASCII: itself or its spelling; "" for a mark, a blank when there is no spelling."""
    if character.isascii():
        return character
    plain = unicodedata.normalize("NFKD", character).translate(_TABLE)
    ascii_part = plain.encode("ascii", "ignore").decode().lower()
    return ascii_part or _sound(character)


def _sound(character: str) -> str:
    """Return the Latin letters for a character's sound, from its Unicode name: `ka` for か (HIRAGANA LETTER KA).

    "" for a mark that belongs to another character; a blank when the name tells no sound.
    """
    if unicodedata.category(character).startswith("M"):
        return ""
    name = unicodedata.name(character, "")
    word = name.rpartition(" ")[2].lower()
    if name.startswith(_BY_SOUND) and word.isalpha():
        return word
    return word[0] if name.startswith(_BY_INITIAL) and word.isalpha() else " "
