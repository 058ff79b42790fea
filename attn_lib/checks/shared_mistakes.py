"""Mistakes that many tasks share, written once.

Each applies to every right answer that has the lines it changes and the names it reads. So answers
use the same names for the same things:

    queries, keys, values   what the projections make of x       (B, L, E)
    q, k, v                 the same, split into heads           (B, H, L, D)
    D                       what the scale is the root of        an int
    products, scores        q·k, and divided                     (B, H, L, S)
    allowed, hidden         the mask, and the scores under it
    weights, kept           after the softmax, and with zeros in empty rows
    heads, merged, output   what the heads say, side by side, and after o_proj
    given, terms            the weights that a measure reads, and what it adds up over the keys
    per_query, per_head     a number for each (B, H, L), and its mean (H,)
"""

from attn_lib.checks.rows import table
from attn_lib.checks.task import Mistake

TABLE = """
# scale
If D grows from 16 to 1024, what happens to the spread of q·k? What is done about it?
    scale-missing  scores = products
Is a dot product the sum of D products, or their mean?
    mean-instead-of-sum  products = _ / D
Does your factor make the scores larger or smaller?
    scale-multiplied  scores = / => * || products * D
Which power of D are the scores divided by altogether, and which one should it be?
    scale-twice  scores = products / D || products / D**2 || products / D**0.25
Print what your scores are divided by, for D = 4 and for D = 16. Is it the root? If you wrote
`D ** 1 / 2`: which of the two does Python take first?
    scale-without-parentheses  scores = products / D / 2
Are your scores whole numbers? What does `//` do that `/` does not?
    scale-floored  scores = / => //
How many digits has the number that you multiply or divide by, and how many has a float64?
    scale-rounded  scores = products * round(D**-0.5, 4)
After your last step, what does one row of the weights add up to?
    scale-after-softmax  scores = products ; weights = _ / math.sqrt(D)
Print `q.shape`. Which of its sizes is the length of one query vector? Which one do you read?
    scale-by-the-wrong-size  D = q.shape[1] || q.shape[-2]
Should adding keys change how similar q and key 0 are?
    scale-by-the-wrong-size  D = k.shape[-2]

# products
Entry (i, j) of the scores: is i a query or a key in your matrix?
    transposed-scores  products = k @ q.mT
What are the shapes of q and k? Which two axes of k must change places, so that D meets D?
    keys-not-transposed  products = q @ k
A reshape keeps the numbers in their order. Does one column of your k still hold one key? Print a
small k before and after.
    keys-reshaped  products = q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])

# softmax
What should one row of your weights add up to?
    softmax-missing  weights = .softmax(-1) =>
Each query hands out a total of 1 among its keys. Which axis of your scores holds the keys?
    softmax-over-queries  weights = softmax(-1) => softmax(-2)
Each query of each head hands out a total of 1 among its keys. Which axis holds the keys?
    softmax-over-the-wrong-axis  weights = softmax(-1) => softmax(1)
    softmax-over-the-wrong-axis  weights = softmax(-1) => softmax(0)
How often does a softmax run over your scores? What does the second one make of weights?
    softmax-twice  weights = _.softmax(-1)
Can a weight be negative? Is what you call a softmax, or its logarithm?
    log-of-the-weights  weights = softmax => log_softmax

# mask
Where do you use the mask? Flip one entry of it: does the output move?
    mask-ignored  hidden = scores ; kept = weights
True means 'may look' here, and in what takes such a mask: `masked_softmax`,
`F.scaled_dot_product_attention`. `masked_fill` fills where its condition is True. Whom do you remove, in
each of your lines?
    inverted  forbidden = _ if mask is None else allowed
    inverted  kept = forbidden => allowed
Without a mask yours forbids everything. In the mask you make up for that case, what stands for 'may
look', True or False? And what do you do with it afterwards?
    everything-forbidden  allowed = ~everything if mask is None else mask
    everything-forbidden  allowed = ~everything if mask is None else ~mask ; kept = weights
    everything-forbidden  allowed = ~everything if mask is None else ~mask
Without a mask, what does your code work with: with None, or with a mask that you made up? Which
dtype must a mask have, and which line must not see None?
    none-not-handled  allowed = mask || mask.bool() || mask & everything
    none-not-handled  forbidden = ~mask || mask == 0
    none-not-handled  everything = torch.ones_like(scores)
Python's `if`, `not`, `and` and `or` ask whether the whole mask is true. What asks whether there is a
mask, and what turns every entry around?
    mask-as-truth-value  forbidden = _ if mask is None else not allowed
    mask-as-truth-value  allowed = mask if mask else everything
A boolean tensor cannot be subtracted from 1. Which operator turns True into False there?
    boolean-subtracted  forbidden = _ if mask is None else 1 - allowed
Nobody asked for a causal mask: only the mask that is given counts. Who else hides keys in your code?
    causal-always  forbidden = _ | ~attn_lib.causal_mask(q.shape[-2], k.shape[-2])
    causal-always  forbidden = _ | torch.ones_like(scores).triu(1).bool()
Nobody asked for a mask here. May query 0 see the last key?
    none-becomes-causal  everything = _.tril(k.shape[-2] - q.shape[-2]) || _.tril()
Row i of the mask belongs to query i. To whom does it belong in yours?
    mask-transposed  allowed = _ if mask is None else _.mT
The mask already lines up with the scores (B, H, L, S) from the right, whatever its shape. Which of
its shapes does your line misread?
    mask-axes-changed  allowed = _ if mask is None else _.unsqueeze(1)
    mask-axes-changed  allowed = _ if mask is None else _[None, None]
    mask-axes-changed  allowed = _ if mask is None else _.squeeze()
    mask-axes-changed  allowed = _ if mask is None or _.ndim != 2 else _[:, None, None, :]
`tensor[mask] = ...` needs a mask of the very shape of the tensor, and overwrites what the way back
may still need. Which function makes a new tensor, of a mask that is broadcast?
    mask-as-index  hidden = scores if mask is None else scores.index_put((forbidden,), scores.new_tensor(-torch.inf))
    mask-as-index  hidden = scores if mask is None else scores.index_put((forbidden,), scores.new_tensor(-torch.inf)) ; kept = weights.nan_to_num(0.0)
    mask-as-index  kept = weights if mask is None else weights.index_put_((~allowed.any(-1),), weights.new_tensor(0.0))
A mask (B, H, L, S) may differ from head to head. Change the mask of head 1: does the output of head
1 move?
    one-mask-for-all-heads  forbidden = _[..., :1, :, :] if _.ndim > 2 else _
    one-mask-for-all-heads  forbidden = _[:, :1] if _.ndim == 4 else _
You remove weights after the softmax. What do the others add up to, in one row?
    not-renormalized  hidden = scores ; kept = weights.masked_fill(forbidden, 0.0)
A forbidden score becomes 0 in yours, or nearly 0. What is exp(0), and is it smaller than the exp of
every allowed score?
    forbidden-scores-set-to-zero  hidden = -torch.inf => 0.0 ; kept = weights
    forbidden-scores-set-to-zero  hidden = scores.masked_fill(forbidden, 0.0)
As numbers, True is 1 and False is 0. What does adding them to a score do, and is the forbidden key
hidden?
    mask-added  hidden = scores + allowed ; kept = weights
    mask-added  hidden = scores + allowed ; kept = weights.masked_fill(forbidden, 0.0)
Give it float16, and a row that may see nothing. What becomes of -1e9 there, as a fill or in a sum? Which
fill is lower than every score, in every float type?
    added-1e9  hidden = scores + forbidden * -1e9 ; kept = weights
    added-1e9  hidden = scores + forbidden * -1e9
What is 0 * -inf? Print what you add, for an allowed key.
    zero-times-inf  hidden = scores if mask is None else scores + forbidden.to(scores) * -torch.inf
In a row that may see nothing, what do the exponentials add up to, and what is 0 / 0? Does your code
see to every such row?
    full-row-nan  kept = weights || weights if allowed.any() else torch.zeros_like(weights)
In a row that may see nothing, your fill makes all scores equal: what does that query get? And what
is the largest number float16 can hold?
    fill-1e9  hidden = -torch.inf => -1000000000.0 ; kept = weights
What is the largest number float16 can hold, and which number hides a key in yours? Which one is below
every score, in every float type?
    fill-too-large-for-float16  hidden = -torch.inf => -1000000000.0
    fill-too-large-for-float16  hidden = -torch.inf => -100000.0
    fill-too-large-for-float16  hidden = torch.where(allowed, scores, torch.tensor(-1e9).to(scores)) ; kept = weights * allowed
In a row that may see nothing, all keys get the same share in yours: of equal scores, or of what you put in the place of a
nan. What should that query get?
    full-row-uniform  hidden = -torch.inf => torch.finfo(scores.dtype).min ; kept = weights
In a row that may see nothing, you open all keys, so that the softmax has something to share out.
What closes them again?
    full-row-opened  hidden = scores.masked_fill(forbidden & allowed.any(-1, keepdim=True), -torch.inf) ; kept = weights
What score has a forbidden key in yours, and what if the allowed ones are lower? And what becomes of a
row in which everything is forbidden?
    fill-not-low-enough  hidden = -torch.inf => -10000.0 ; kept = weights
    fill-not-low-enough  hidden = -torch.inf => -10000.0 ; kept = weights * allowed.any(-1, keepdim=True)
    fill-not-low-enough  hidden = scores.masked_fill(forbidden, -10000.0)
Let a forbidden score be far above all others. How large is what your mask leaves over, beside your
epsilon? Can the mask act before the softmax?
    epsilon-in-denominator  hidden = scores ; kept = (left := weights * allowed) / (left.sum(-1, keepdim=True) + 1e-9)
    epsilon-in-denominator  hidden = scores ; kept = (left := weights * allowed) / (left.sum(-1, keepdim=True) + 1e-6)
What is the exp of a score of 150, and of -150? Lesson 01 subtracted something first: which maximum
is it, now that some keys are forbidden?
    maximum-not-subtracted  weights = (e := scores.exp().masked_fill(forbidden, 0.0)) / e.sum(-1, keepdim=True)
    maximum-not-subtracted  weights = (e := scores.exp().masked_fill(forbidden, 0.0)) / (e.sum(-1, keepdim=True) + 1e-9)
    maximum-not-subtracted  weights = (e := scores.exp().masked_fill(forbidden, 0.0)) / (total := e.sum(-1, keepdim=True)).masked_fill(total == 0, 1.0)
You give everything to one key. What share should a key get whose score is a little smaller?
    hard-maximum  weights = F.one_hot(hidden.argmax(-1), hidden.shape[-1]).to(hidden)
Call it twice with the same input. Is the answer the same?
    dropout-left-in  kept = F.dropout(_, 0.1)
One thing is asked for here, not two. What do you return beside it?
    weights-returned-too  return = _, kept
What is compared with the query, and what is mixed?
    keys-and-values-swapped  products = q @ v.mT ; heads = kept @ k

# what comes out
If you replace v by zeros, what should come out?
    weights-times-k  heads = @ v => @ k
    weights-times-k  output = @ v => @ k
Where do the weights meet the values in your code? What is a query's output a mixture of?
    weights-not-used  heads = v
    weights-not-used  output = v
The shape is right, the cells are not. Which axes must stand side by side before `reshape` may merge
them?
    merged-without-transpose  merged = .transpose(1, 2).flatten(2) => .reshape(x.shape)
Which layer does your answer not use? What mixes the heads?
    o-proj-missing  output = merged

# reductions
The weights come out of a softmax already. Is there another one in what you call?
    softmax-once-more  given = _.softmax(-1)
You make each row add up to 1. What does that do to a row of zeros, of a query that may see nothing?
    a-row-of-zeros-is-nan  given = weights / weights.sum(-1, keepdim=True)
Give it float16, then float64: which dtype comes out, and which one should?
    dtype-changed  given = weights.float() || weights.double()
    dtype-changed  per_head = _.float()
Change the second sample. Does your result change?
    only-the-first-sample  given = _[:1]
Take another query than the last one, and change its weights. Does your result ever change?
    only-the-last-query  per_query = _[:, :, -1:]
The weights of a row add up to 1 already. Over its keys, do you add up, or is something divided by
their number?
    mean-over-keys  per_query = terms.mean(-1)
A row of zeros gives 0, and it is a row like every other. By how many rows do you divide?
    rows-of-zeros-left-out  per_head = per_query.where(weights.any(-1), torch.nan).nanmean((0, 2))
Twice as many queries, or twice as many samples: should the number of a head double? Over which axes
do you add up where a mean is asked for?
    summed-instead-of-averaged  per_head = per_query.sum((0, 2)) || per_query.sum(2).mean(0)
    summed-instead-of-averaged  per_head = per_query.sum(0).mean(1)
You keep the largest number of all queries. If one query does what the others do not, which number
should its head have?
    largest-query  per_head = per_query.amax(2).mean(0)
Two heads that look at different places: can one number tell them apart?
    one-number-for-all-heads  per_head = per_query.mean()
For what is one number left in yours: for each sample, each head, or each query? Which of these axes
should stay?
    the-wrong-axis-kept  per_head = per_query.mean((1, 2)) || per_query.mean((0, 1))
Print the shape of your result. Which of its axes should be left, and over what is a mean missing?
    means-missing  per_head = per_query || per_query.mean(2) || per_query.mean(0)
After a mean over axis 0, how many axes are left? Which number has the axis of the queries now?
    axis-after-a-mean  per_head = per_query.mean(0).mean(2)
A mean with `keepdim` leaves axes of size 1 behind. Which shape should the result have?
    axis-left-over  per_head = per_query.mean((0, 2), keepdim=True)
`reshape` moves no number: in memory, sample 0 with all its heads comes first. Which axis must be in
front before you join the others?
    samples-for-heads  per_head = per_query.reshape(per_query.shape[1], -1).mean(-1)
With a single head, how many axes has your result? What does `squeeze` take away?
    squeezed  per_head = _.squeeze()
You return a list. What makes one tensor of its numbers, in the dtype of the weights?
    a-list-of-numbers  per_head = _.tolist() || list(_)
Two heads that look at different places: can one number tell them apart?
    one-number-for-all-heads  per_head = per_query.sum() || per_query.mean((0, 2)).sum()
Print the shape of your result. Which of its axes should be left, and over what is a mean missing?
    means-missing  per_head = per_query.sum(2) || per_query.sum(0)

# fills once more
What should the score of a forbidden key be, so that exp makes 0 of it? Look at its sign.
    fill-plus-inf  hidden = -torch.inf => torch.inf
    fill-plus-inf  hidden = -torch.inf => torch.inf ; kept = weights
All your shares are 0: was there a NaN which you replaced? If you multiply a mask by -inf: what is
0 * -inf?
    zero-times-inf  hidden = scores if mask is None else scores + forbidden.to(scores) * -torch.inf ; kept = weights.nan_to_num(0.0)
"""

SHARED = [Mistake(*row) for row in table(TABLE)]
