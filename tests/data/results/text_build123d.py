from build123d import *

letters = extrude(Text("CASE 42", 8, font="No Such Font"), 1)
result = Box(60, 15, 3) + letters
