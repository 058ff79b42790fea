"""Ask about an error that no known mistake raises: by its words, whatever the task."""

import re

from attn_lib.checks.observe import Raised

DTYPES_MEET = "dtypes-meet"

# By id, a pattern of "NameError: name 'x' is not defined" and the line below it, and the question; what
# stands in the groups goes into the braces. The first that fits is asked.
QUESTIONS = {
    "layer-without-self": (
        r"NameError: name '(\w+_proj)' is not defined",
        "`{}` is a layer that `__init__` has made. In `forward`, what must stand before its name?",
    ),
    "name-not-there": (
        r"(?:NameError: name|UnboundLocalError: .*variable) '(\w+)'",
        "Which line gives `{}` its value? Is it spelled so there, and has it run before this line?",
    ),
    "axes-of-a-shape": (
        r"ValueError: (?:too many|not enough) values to unpack(?s:.*)\.(?:shape|size\()",
        "A shape has one size for each axis. How many axes has this tensor, and how many names stand left "
        "of `=`?",
    ),
    "things-unpacked": (
        r"ValueError: (?:too many|not enough) values to unpack",
        "How many things come from the right of `=` on that line, and how many names stand left of it?",
    ),
    "letters-of-an-einsum": (
        r"einsum\(\): the number of subscripts",
        "Print the shapes of what goes into your einsum. How many axes has each tensor, and how many letters "
        "do you give it?",
    ),
    "vector-for-a-layer": (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)"
        r"\n {4}line [^\n@]*(?:self\.\w+|\w+_proj)\([^\n@]*(?:\n|$)",
        "`nn.Linear(a, b)` reads the last axis of what it is given: a numbers, here {2}. The last axis that you "
        "hand it has {1}. Which axes should it be made of, and do they stand last, side by side?",
    ),
    "handed-on": (
        r"(?:einsum\(\): subscript|two dimensions of batch2|mat1 and mat2)(?s:.*)\n {4}called in line (\d+), in (\w+)",
        "Line {} of `{}` hands tensors to the line that fails. Print their shapes there: are they what is asked "
        "for, in its order? If so, which axes meet in the line that fails?",
    ),
    "letter-of-two-sizes": (
        r"einsum\(\): subscript (\w) has size (\d+) .* size (\d+)",
        "The letter `{}` stands for an axis of {} in one tensor, and of {} in another. Are these the same "
        "axis? If so, which line has made one of them longer or shorter? If not, which letter should it have?",
    ),
    "letter-from-nowhere": (
        r"einsum\(\): output subscript (\w) does not appear",
        "Which input has the axis `{}` of your result?",
    ),
    "letter-twice": (
        r"einsum\(\): output subscript (\w) appears more than once",
        "`{}` stands twice in your result. Which two axes should these be?",
    ),
    "arrow-of-an-einsum": (
        r"einsum\(\): invalid subscript",
        "An equation reads `inputs->result`, such as `ab,bc->ac`. Is your arrow whole?",
    ),
    "operands-of-an-einsum": (
        r"einsum\(\): (?:more|fewer) operands",
        "In the equation a comma stands between two inputs. How many inputs does it name, and how many "
        "tensors do you give?",
    ),
    "axes-before-a-product": (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension ([01])\n"
        r" {4}line (?!.* [*+] ).*@",
        "Axis {2} has {0} in one tensor and {1} in the other. In `a @ b`, the axes before the last two must "
        "agree. What does this one count, and which line should make both the same?",
    ),
    "sizes-of-a-product": (
        r"mat1 and mat2 shapes|two dimensions of batch2|size mismatch, got input|inconsistent tensor size"
        r"|size of tensor a .* dimension [0-2]\n {4}line (?!.*masked_fill|.* [*+] ).*@",
        "`a @ b` adds up along the last axis of a and the last but one of b. Print both shapes: are these "
        "the axis that should be summed away? The axes before them must fit, too.",
    ),
    "sizes-that-do-not-line-up": (
        r"size of tensor a .* must match|expanded size of the tensor",
        "Print both shapes, one under the other, from the right. Which axes line up in your line, and which "
        "should?",
    ),
    "axes-of-what-is-joined": (
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
        "What is joined has as many axes each; here {} and {}. Which line of yours took an axis away, or did not put one in? "
        "What does `squeeze` do to an axis of one?",
    ),
    "chances-that-are-none": (
        r"probability tensor contains|invalid multinomial distribution",
        "`multinomial` draws by numbers of 0 or more, and in no row are all 0. Print what you hand it, for this input: is there "
        "a nan, or a row from which nothing is left?",
    ),
    "sizes-of-a-reshape": (
        r"shape '.*' is invalid for input|unflatten: Provided sizes",
        "Multiply the sizes that you ask for. As many numbers must be in the tensor. Print its shape: is it this one that "
        "you did not expect, made by a line before? Or is it a size that you ask for?",
    ),
    "layer-not-called": (
        r"'(?:Linear|Embedding|LayerNorm)'|but got Linear|not Linear",
        "A layer stands here where its result is needed. Which line hands it on, and what should the layer "
        "be called with?",
    ),
    "tuple-not-taken-apart": (
        r"'tuple' object has no attribute|for .+: 'tuple' and|and 'tuple'|must be Tensor, not tuple",
        "Something here is a tuple. Which function returns more than one thing, and which of them do you "
        "need?",
    ),
    "self-not-counted": (
        r"(?:forward|__init__)\(\) takes \d+ positional arguments? but",
        "Python hands the object itself to a method, as its first argument: it is counted, too. Which name "
        "stands first in the brackets of your `def`? And has `__init__` two underscores on each side?",
    ),
    "argument-missing": (
        r"([\w.]+)\(\) missing \d+ required positional arguments?: .*\n {4}line",
        "What does `{}` ask for, and in which order? What stands in its parentheses on this line?",
    ),
    "function-not-called": (
        r"'(?:builtin_function_or_)?(?:function|method)' (?:object|and)|and '(?:builtin_function_or_)?"
        r"(?:function|method)'|not (?:builtin_function_or_)?(?:function|method)\b",
        "A function stands here where its result is needed. Behind which name are the parentheses missing, "
        "and what belongs into them?",
    ),
    "shape-for-a-size": (
        r"torch\.Size",
        "A shape holds the sizes of all axes, and is no function. Which one of them do you need, and how is "
        "it taken out?",
    ),
    "size-is-no-tensor": (
        r"must be Tensor, not (?:int|float)|'int' object has no attribute",
        "A size is a number of Python's, not a tensor. Which function here wants a tensor? If it is a root: what "
        "takes that of such a number?",
    ),
    "list-for-a-tensor": (
        r"only integer tensors of a single element",
        "A list or a tuple of Python's meets a tensor here, as a factor or by an index. Where does it come "
        "from? If a function returns two things, which one do you need? If it is a list of yours, what "
        "makes one tensor of it?",
    ),
    "number-in-a-product": (
        r"operand type\(s\) for @: .*'(?:int|float)'",
        "`@` takes two matrices, and one of them is a number here. If you begin with it: which matrix leaves "
        "another one as it is?",
    ),
    "none-where-a-value-is-needed": (
        r"'NoneType'",
        "Something on this line is None: an argument that was not given, or what came from a function "
        "without `return`. Which one?",
    ),
    "axis-not-there": (
        r"IndexError: Dimension out of range|IndexError: too many indices|IndexError: tuple index",
        "How many axes has the tensor here? Print its shape. They are counted from 0, or from the right: -1 "
        "is the last one.",
    ),
    "index-too-large": (
        r"IndexError: index \S+ is out of bounds",
        "Print the size of the axis that you index. The first place is 0: what is the last one?",
    ),
    "place-not-in-a-list": (
        r"IndexError: (?:list|string) index out of range",
        "How many things are in the list, or letters in the text, on this line? The first place is 0: which one do you "
        "ask for? And what if there is none at all?",
    ),
    "smallest-of-nothing": (
        r"(?:min|max)\(\)(?: arg is an empty sequence| iterable argument is empty|: Expected reduction dim)",
        "`min` and `max` choose among things. On which input are there none, and what should happen then?",
    ),
    DTYPES_MEET: (
        r"expected scalar type|(?:must|to) have the same dtype",
        "Two dtypes meet on this line. Print both. Which of the two did your code make, or change, and which dtype "
        "should it have?",
    ),
    "view-needs-one-piece": (
        r"view size is not compatible",
        "`view` moves no number: it can join axes only if they lie side by side in memory. Which step before "
        "it made them change places, or copied nothing? And which other method may copy?",
    ),
    "size-is-a-float": (
        r"tuple of ints(?s:.*)float|must be int, not float|'float' object cannot be interpreted as an integer"
        r"|(?:repeat|expand|empty|zeros|ones)\(\) takes 1 positional argument but"
        r"|invalid combination of arguments - got \([^)]*float(?s:.*)\(int ",
        "A size or a count must be a whole number. Which number stands in its place on this line, and is it the one that you "
        "mean? If you divide: what type is 8 / 2 in Python, and what gives a whole number?",
    ),
    "equation-first": (
        r"Boolean value of Tensor(?s:.*)\n {4}line .*einsum\(",
        "`torch.einsum` takes its equation first, and then the tensors. What comes first on this line?",
    ),
    "truth-of-many": (
        r"Boolean value of Tensor",
        "`if`, `and`, `or`, `not` and `in` ask for one truth value, here stand many. What chooses for each "
        "number by itself?",
    ),
    "super-forgotten": (
        r"before Module\.__init__\(\) call",
        "A module keeps its layers in places that `nn.Module` makes first. Which line calls its `__init__`?",
    ),
    "rows-of-two-lengths": (
        r"expected sequence of length (\d+) at dim \d+ \(got (\d+)\)",
        "A tensor has rows of one length, and you hand over rows of {} and of {}. Which ones have stopped "
        "growing, and what should be written there instead?",
    ),
    "one-list-of-tensors": (
        r"argument 'tensors' \(position 1\) must be tuple of Tensors",
        "`torch.cat` and `torch.stack` take all tensors as one list. Where are its brackets?",
    ),
    "values-and-places": (
        r"torch\.return_types|(?:tuple|list) indices must be integers",
        "Several things stand here as one, a tuple or a list. Along an axis, `max` and `topk` give two: the "
        "values, and their places. Which of the things do you need?",
    ),
    "in-place-too-small": (
        r"output with shape (\[.*?\]) doesn't match the broadcast shape (\[.*?\])",
        "What is changed in place keeps its shape, {}. Together with the right side it would become {}. "
        "Which of the two has an axis too many?",
    ),
    "mask-as-index": (
        r"shape of the mask (\[.*?\]) at index \d+ does not match the shape of the indexed tensor (\[.*?\])",
        "In `t[mask]` the mask has the sizes of the first axes of t. Here they are {} and {}. Which line made "
        "the mask, and which shape should it have?",
    ),
    "mask-does-not-line-up": (
        r"expected a mask broadcastable to",
        "Write the shape of your mask below the other, lined up from the right. Which axis does its first "
        "one meet, and which axis is missing?",
    ),
    "backward-twice": (
        r"backward through the graph a second time",
        "Autograd goes back through a calculation once, and then forgets it. How often do you ask for a "
        "gradient here? Does one hold all that you need?",
    ),
    "three-axes-for-bmm": (
        r"batch[12] must be a 3D tensor",
        "`torch.bmm` takes two tensors of three axes each. How many axes have yours? What multiplies matrices "
        "with any axes before them?",
    ),
    "math-of-many-numbers": (
        r"only one element tensors can be converted(?s:.*)\bmath\.(\w+)",
        "`math.{}` takes a single number, and here stand many. Which function or method does the same to a whole "
        "tensor?",
    ),
    "one-number-of-many": (
        r"a Tensor with \d+ elements cannot be converted|only one element tensors can be converted",
        "`.item()`, `float()` and `int()` take the number out of a tensor that holds only one. How many does "
        "this one hold? Must they leave the tensor at all?",
    ),
    "attribute-not-there": (
        r"AttributeError: 'Tensor' object has no attribute '(\w+)'",
        "A tensor has no `{}`. How is it spelled in PyTorch? Or is it a function of `torch` or `F`?",
    ),
    "range-in-a-sum": (
        r"unsupported operand type.* '(?:range|list)' and '(?:range|list|int|float)'"
        r"|unsupported operand type.* '(?:int|float)' and '(?:range|list)'",
        "Numbers in a `range` or a list cannot be calculated with all at once, those in a tensor can. Which "
        "function of torch makes a tensor of them, or counts in one from the start?",
    ),
    "index-of-a-gather": (
        r"Index tensor must have the same number of dimensions",
        "`gather` takes one index for each number of its result: print both shapes, and see which axes your index "
        "lacks. Or leave `gather`: what does `x[rows, columns]` pick, if both are lists of places?",
    ),
    "tilde-of-numbers": (
        r"~ \(operator\.invert\)",
        "`~` turns True into False and back. Which dtype has your tensor, and which one should a mask have?",
    ),
    "name-not-in-attn": (
        r"'MultiHeadAttention' object has no attribute '(\w+)'(?s:.*)\battn\.\1\b",
        "`attn` has no `{}`. Which names does the task give? `print(attn)` lists the layers. If you need a "
        "size: in which shape does it stand?",
    ),
    "index-is-a-float": (
        r"tensors used as indices must be",
        "What stands in the brackets here are floats. Do they count places? Then which operator gives whole "
        "numbers? Or do they say yes and no? Then which dtype should they have?",
    ),
    "numpy-has-no-gradient": (
        r"Can't call numpy\(\) on Tensor that requires grad",
        "A gradient cannot go back through NumPy. Is one asked for here? If so, which function of PyTorch's does the "
        "same to a tensor? If not, what takes a tensor out of the graph?",
    ),
    "dtype-that-numpy-lacks": (
        r"unsupported ScalarType (\w+)",
        "NumPy has no {}. What do you ask NumPy for here, and who in PyTorch knows it, too?",
    ),
    "piece-longer-than-its-axis": (
        r"maximum size for tensor at dimension \d+ is (\d+) but size is (\d+)",
        "You ask for pieces of {1} from an axis of {0}. Is this the axis that you mean? If so, which inputs are so short, and "
        "what should come out there?",
    ),
    "nothing-to-reshape": (
        r"cannot reshape tensor of 0 elements",
        "This input has no numbers, so -1 could be any size. Which size do you mean there, and from where can you take it?",
    ),
    "calls-itself-too-often": (
        r"RecursionError",
        "Python lets about a thousand calls wait, each for the one inside it. How often does yours call itself on a long "
        "input, and which loop does the same?",
    ),
    "divided-by-zero": (
        r"ZeroDivisionError|division by zero",
        "What do you divide by on this line, and why is it 0 for this input? What should come out there?",
    ),
    "way-back-overwritten": (
        r"modified by an inplace operation",
        "A line writes into a tensor that the way back still needs, such as what `exp` or a softmax gave. Which line is it, "
        "and what makes a new tensor instead?",
    ),
    "one-number-in-many-places": (
        r"more than one element of the written-to tensor",
        "What `expand` gives is one number that is seen in many places. Who writes into it here, and what would give each "
        "place a number of its own?",
    ),
    "stacked-shapes-differ": (
        r"stack expects each tensor to be equal size",
        "What is stacked has one shape. Print the shapes of yours for this input: which one is another, and where does "
        "its slice begin and end?",
    ),
    "nothing-to-stack": (
        r"expects? a non-empty",
        "Your list is empty for this input. How often does the loop run that fills it, and how often should it?",
    ),
    "one-at-a-time": (
        r"takes one input at a time",
        "This function is called with plain inputs only, one after another. Which line of yours hands it something else, such "
        "as all of them at once?",
    ),
    "not-kept-in-self": (
        r"object has no attribute '(\w+)'(?s:.*)\n {4}line .*\bself\.\1\b",
        "`forward` finds in `self` only what `__init__` has kept there, and the layers. Which line of `__init__` "
        "keeps `{}`, under this very name?",
    ),
}

# The same for what a case itself complains about.
ABOUT_WRONG = {
    "room-too-small": (
        r"The caches are full",
        "How many tokens do the caches hold in the end, the prompt and all that was written? From where does the room that you "
        "ask for come?",
    ),
    "too-many-numbers-at-once": (
        r"array, is too large|too many are alive|more than twice the memory",
        "Which line makes or keeps so many numbers, as if for every pair of a query and a key? How large is one of your "
        "chunks, which pairs does it need, and when may they go?",
    ),
    "dtype-changed": (
        r"should have the dtype torch\.(\w+), but it has torch\.(\w+)",
        "Which line makes {1} of {0}, and which one turns the result back?",
    ),
    "arguments-of-a-class": (
        r"`(?:\w+\.)*(\w+)\.\w+_proj\.weight` should have shape",
        "What does the class of `{}` ask for when it is made, and in which order? What do you give it?",
    ),
    "width-of-a-layer": (
        r"`(?:\w+\.)*(\w+_proj)\.weight` should have shape",
        "How many numbers has a vector that `{}` reads, and how many should come out? Which of the two "
        "stands first in `nn.Linear(a, b)`?",
    ),
}


def question_about(error: Raised) -> tuple[str, str] | None:
    """Return the mistake behind an error: an id and its question; None for an error that says enough."""
    questions = ABOUT_WRONG if error.is_wrong else QUESTIONS
    for id, (pattern, question) in questions.items():
        if found := re.search(pattern, error.explanation):
            return id, question.format(*found.groups())
    return None
