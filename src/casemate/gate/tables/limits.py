"""Sizes that the gate bounds before anything is compiled. What it cannot see, the walls bound."""

#: bytes of the source
SOURCE_BYTES = 256 * 1024
#: levels of the tree; the links of a fluent chain (a.b().c()) count once each
DEPTH = 100
#: levels of the tree with every node counted: what recursive code after the gate must stand
RAW_DEPTH = 200
#: nodes of the tree
NODES = 20_000
#: bits of an integer in the source
INTEGER_BITS = 256
#: bits of an integer that constant operands make
FOLDED_BITS = 8_192
#: a literal exponent, and a literal shift
EXPONENT = 1_024
#: items or characters that a literal repetition makes
REPEAT = 1_000_000
#: characters of a text in the source
STRING = 65_536
#: width or precision in a format specification
FORMAT_WIDTH = 1_000
#: denials that are reported; the last one says how many more there were
DENIALS = 100
#: denials that are worked out at all; more are only counted
DENIALS_FOUND = 1_000
#: characters of the source line in a denial
SOURCE_LINE = 200
#: characters of a name in a denial
NAME = 100
#: characters of a message or a hint
MESSAGE = 400
#: nearest names looked up for one script (each costs about a millisecond)
SUGGESTIONS = 12
