"""The mistakes that the masks of this lesson share."""

# What an entry is: the same for every mask.
ENTRIES = """
Print the dtype of your result. Which one do `~mask` and `masked_fill` need?
    not-boolean  return = _.float() || _.long() || _.int()
You return numbers to be added to the scores. What is asked for: numbers, or True and False?
    additive  return = torch.where(_, 0.0, -torch.inf) || torch.where(_, 0.0, -1e9)
The rows may be right, but it is a list. Which function makes a tensor of it?
    list-returned  return = _.tolist()
How many of your rows were ever filled? `return` ends a loop: how far is yours indented?
    returned-inside-the-loop  mask = torch.cat([_[:1], torch.zeros_like(_[1:])])
"""

# Rows, columns, and where a query stands: the same with a window.
PLACES = """
With 2 queries and 5 keys, by how many columns must the triangle move, and to which side?
    offset-backwards  offset = q_len - kv_len
Take 5 queries and 3 keys. The last query sees the last key. How many keys lie before query 0?
    offset-clipped  offset = max(_, 0)
Take 5 queries and 3 keys: is S - L positive or negative there? What does your code use?
    distance-instead-of-offset  offset = abs(_)
You compare (L,) with (S,), entry by entry. Every query must meet every key: which of the two index
ranges has to stand upright, as a column?
    queries-not-a-column  i = [:, None] =>
Where do you use `kv_len`? How many columns do 2 queries and 5 keys need?
    always-square  j = kv_len => q_len ; offset = 0
Where do you use `q_len`? How many rows do 2 queries and 5 keys need?
    always-square  i = q_len => kv_len ; offset = 0
Each query has a row, each key a column. Which size stands first in your shape?
    shape-transposed  output = _.T
    shape-transposed  i = q_len => kv_len ; j = kv_len => q_len ; offset = q_len - kv_len
The mask has one axis for queries and one for keys. Who adds B and H, if they are needed?
    extra-axes  output = _[None, None] || _[None]
"""
