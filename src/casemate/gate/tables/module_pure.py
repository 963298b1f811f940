"""Small parts of the standard library that compute and do nothing else; profile `cad` only.

Made by `casemate gate update --write` from image cad,
digest 6d7943b1821bec412754a911074e061c68cb632130d2bdd95688c97a21e6ffb7,
Python 3.11.7, anytree 2.13.0, build123d 0.12.0, cadquery 2.8.0, cadquery-ocp-novtk 7.9.3.1.1, numpy 2.4.6.
"""

#: Copies of shapes for assemblies; no script class can define the hooks that copy calls.
COPY = {
    "copy": "Shallow copy operation on arbitrary Python objects",
    "deepcopy": "Deep copy operation on arbitrary Python objects",
}

#: Iterators.
ITERTOOLS = {
    "accumulate": "Return series of accumulated sums (or other binary function results)",
    "chain": "first iterable until it is exhausted, then elements from the next",
    "combinations": "Return successive r-length combinations of elements in the iterable",
    "combinations_with_replacement": "Return successive r-length combinations of elements in the iterable allowing",
    "compress": "Return data elements corresponding to true selector elements",
    "count": "Return a count object whose .__next__() method returns consecutive values",
    "cycle": "Return elements from the iterable until it is exhausted. Then repeat the sequence",
    "dropwhile": "Drop items from the iterable while predicate(item) is true",
    "filterfalse": "Return those items of iterable for which function(item) is false",
    "groupby": "make an iterator that returns consecutive keys and groups from the iterable",
    "islice": "iterable.  If start is specified, will skip all preceding elements;",
    "pairwise": "Return an iterator of overlapping pairs taken from the input iterator",
    "permutations": "Return successive r-length permutations of elements in the iterable",
    "product": "Cartesian product of input iterables.  Equivalent to nested for-loops",
    "repeat": "for the specified number of times.  If not specified, returns the object",
    "starmap": "Return an iterator whose values are returned from the function evaluated with an",
    "takewhile": "Return successive entries from an iterable as long as the predicate evaluates to",
    "zip_longest": "the i-th element comes from the i-th iterable argument.  The .__next__()",
}

#: No decorators: they are refused as a node.
FUNCTOOLS = {
    "partial": "of the given arguments and keywords",
    "reduce": "Apply a function of two arguments cumulatively to the items of a sequence",
}

#: The generator of the process, reseeded for each job.
RANDOM = {
    "choice": "Choose a random element from a non-empty sequence",
    "choices": "Return a k sized list of population elements chosen with replacement",
    "gauss": "Gaussian distribution",
    "normalvariate": "Normal distribution",
    "randint": "Return random integer in range [a, b], including both end points",
    "random": "random() -> x in the interval [0, 1)",
    "randrange": "Choose a random item from range(stop) or range(start, stop[, step])",
    "sample": "Chooses k unique random elements from a population sequence",
    "seed": "Initialize internal state from a seed",
    "shuffle": "Shuffle list x in place, and return None",
    "triangular": "Triangular distribution",
    "uniform": "Get a random number in the range [a, b) or [a, b] depending on rounding",
}

#: Clocks that scripts print; no sleep.
TIME = {
    "perf_counter": "Performance counter for benchmarking",
    "time": "Return the current time in seconds since the Epoch",
}
