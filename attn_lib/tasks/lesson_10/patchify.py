"""The task `patchify`: a picture as a row of tokens."""

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task


@task(
    lesson=10,
    points=3,
    insight="From here on a picture is a sentence, and the transformer needs no other change.",
    library=attn_lib.patchify,
    hints=[
        "A pixel has a row and a column. Its row says in which row of patches it lies, and in which row inside "
        "its patch: how do you get both numbers from it? Which reshape does the same to a whole axis?",
        "Cut the axis of rows in two, and that of columns: no number has moved then. Which three of the "
        "six axes say which patch it is and must come first, which three say where in the patch, and in "
        "which order?",
        "`permute` names all six axes in their new order; then two neighbors become N, and three become the "
        "vector. Try it with `torch.arange(24.0).view(1, 1, 4, 6)`: what should the first patch be?",
    ],
)
def patchify(images, patch):
    (B, C, H, W) = images.shape
    rows = H // patch
    columns = W // patch
    grid = images.reshape(B, C, rows, patch, columns, patch)
    ordered = grid.permute(0, 2, 4, 1, 3, 5)
    patches = ordered.reshape(B, rows * columns, C * patch * patch)
    return patches


@patchify.cases
def _(rng):
    def case(about, *shape, patch, dtype=torch.float32, **options):
        images = torch.randn(*shape, generator=rng).to(dtype)
        return Case(about, (images, patch), **{"grad": False, "tolerance": 1e-12} | options)

    def counted(C, H, W):
        """Pictures whose numbers say where they are: hundreds the channel, tens the row, ones the column."""
        channel, row = torch.arange(C)[:, None, None] + 1, torch.arange(H)[:, None]
        return (100.0 * channel + 10 * row + torch.arange(W))[None]

    yield Case("one picture of two patches", (counted(1, 2, 4), 2))
    yield Case("one picture, two rows of two patches", (counted(1, 4, 4), 2))
    yield Case("two channels, one patch", (counted(2, 2, 2), 2))
    yield Case("two rows of three patches", (counted(1, 4, 6), 2))
    yield Case("two channels, two rows of three patches", (counted(2, 4, 6), 2))
    yield case("all sizes different", 2, 3, 8, 20, patch=4, grad=True)
    yield case("higher than wide", 2, 3, 12, 6, patch=3)
    yield case("a square picture", 2, 3, 8, 8, patch=4)
    yield case("a square of 3 × 3 patches", 2, 2, 6, 6, patch=2)
    yield case("as many pictures as patches", 12, 2, 6, 8, patch=2)
    yield case("as many patches as numbers in each", 2, 1, 4, 4, patch=2)
    yield case("as many channels as patches in a row", 2, 3, 4, 6, patch=2)
    yield case("B = C = patch = 2, 2 × 2 patches", 2, 2, 4, 4, patch=2)
    yield case("five channels", 2, 5, 4, 6, patch=2)
    yield case("one channel, one picture", 1, 1, 6, 9, patch=3)
    yield case("a picture of usual size", 1, 3, 96, 128, patch=16)
    yield case("a hundred and fifty patches in a row", 1, 1, 2, 300, patch=2)
    yield case("a hundred and fifty rows", 1, 1, 300, 2, patch=2)
    yield case("patches of one pixel", 2, 3, 4, 5, patch=1)
    yield case("pictures three pixels wide", 2, 2, 6, 3, patch=3)
    yield case("pictures one pixel wide", 2, 3, 4, 1, patch=1)
    yield case("one patch", 2, 2, 4, 4, patch=4)  # above, this shape has four
    strided = torch.randn(2, 4, 9, 3, generator=rng).permute(0, 3, 1, 2)
    yield Case("not contiguous", (strided[..., :6], 2), grad=False)
    wide = dict(dtype=torch.float64, grad=True)
    yield case("float64, to its last digits", 2, 3, 4, 6, patch=2, **wide)
    exact = torch.randn(1, 2, 4, 6, generator=rng, dtype=torch.float64) * 1e6
    yield Case("float64, with all its digits", (exact, 2), grad=False, tolerance=1e-15)
    yield case("float16", 2, 3, 4, 6, patch=2, dtype=torch.float16)
    yield case("more than a thousand patches", 1, 1, 66, 66, patch=2)
    # Neither dtype holds all whole numbers up to the last pixel's.
    yield case("bfloat16, a thousand pixels", 1, 1, 32, 34, patch=2, dtype=torch.bfloat16)
    yield case("float16, two thousand pixels", 1, 1, 48, 46, patch=2, dtype=torch.float16)


patchify.rows("""
`reshape` reads on in memory order: along a row of pixels, past the edge of the patch. Which axes must change
places before it may join them?
    reshape-alone  ordered = grid
    reshape-alone  ordered = images.reshape(B, C, rows, columns, patch, patch).permute(0, 2, 3, 1, 4, 5)
    reshape-alone  patches = images.reshape(B, rows * columns, C * patch * patch)
    reshape-alone  ordered = grid.permute(0, 2, 3, 4, 1, 5)
    reshape-alone  ordered = grid.permute(0, 2, 1, 3, 4, 5)
    reshape-alone  ordered = images.reshape(B, rows, patch, columns, patch, C).permute(0, 1, 3, 5, 2, 4)
    reshape-alone  ordered = images.reshape(B, rows, patch, columns, patch, C).permute(0, 1, 3, 2, 4, 5)
With one channel yours is right. Where do the channels stand when you join: before the grid of patches, or
behind it?
    channels-before-the-grid  ordered = grid.permute(0, 1, 2, 4, 3, 5)
Which patch is the second one: the one on the right, or the one below?
    column-by-column  ordered = grid.permute(0, 4, 2, 1, 3, 5)
The first patch is the one at the top, on the left. In which order do your rows run, and your columns?
    from-the-other-end  grid = images.flip(2).reshape(B, C, rows, patch, columns, patch)
    from-the-other-end  grid = images.flip(3).reshape(B, C, rows, patch, columns, patch)
    from-the-other-end  grid = _.flip(2) || _.flip(4) || _.flip(3) || _.flip(5)
    from-the-other-end  patches = _.flip(1)
Inside a patch, which number follows the first one: that of the next pixel, or that of the next channel?
    channels-last  ordered = _.movedim(3, -1) || _.transpose(3, 4)
Inside a patch, which pixel follows the first one: the one on the right, or the one below?
    transposed-inside  grid = _.transpose(3, 5)
Is `images.shape` (B, C, H, W) or (B, C, W, H)? How many rows of patches has a picture that is wide and low?
    height-and-width-exchanged  rows = W // patch ; columns = H // patch
    height-and-width-exchanged  patches = torch.stack([images[:, :, i : i + patch, j : j + patch].flatten(1) for i in range(0, W, patch) for j in range(0, H, patch)], 1)
Here all pictures have as many rows as columns in your code. Have they?
    taken-for-a-square  columns = H // patch
    taken-for-a-square  patches = ordered.reshape(B, rows * rows, -1)
    taken-for-a-square  patches = ordered.reshape(B, columns * columns, -1)
    taken-for-a-square  rows = W // patch
    taken-for-a-square  patches = torch.stack([images[:, :, i : i + patch, j : j + patch].flatten(1) for i in range(0, H, patch) for j in range(0, H, patch)], 1)
    taken-for-a-square  patches = torch.stack([images[:, :, i : i + patch, j : j + patch].flatten(1) for i in range(0, W, patch) for j in range(0, W, patch)], 1)
An axis of H is cut in two. Which comes first, the number of the patch or the place inside? Do neighbors in a
picture stay in one patch?
    every-other-pixel  grid = images.reshape(B, C, patch, rows, patch, columns).permute(0, 1, 3, 2, 5, 4)
    every-other-pixel  grid = images.reshape(B, C, patch, rows, patch, columns)
`patch` is the side of a patch. Is it the number of patches in yours?
    side-taken-for-number  grid = images.reshape(B, C, patch, rows, patch, columns) ; patches = ordered.reshape(B, patch * patch, C * rows * columns)
    side-taken-for-number  patches = ordered.reshape(B, patch * patch, C * rows * columns)
How many axes has your result? Which of them should be one, N, and which should be one vector?
    axes-not-joined  patches = ordered || ordered.flatten(3) || ordered.flatten(1, 2)
    axes-not-joined  patches = ordered.flatten(1) || _.flatten(0, 1)
    axes-not-joined  patches = grid.permute(0, 1, 2, 4, 3, 5).reshape(B, C, rows * columns, patch * patch)
    axes-not-joined  patches = ordered.reshape(B, rows * columns, C, patch * patch)
Which axis counts patches, and which the numbers of one patch? `F.unfold` has them the other way round.
    patches-last  patches = _.mT
Which axis counts pictures? Along which one does `torch.stack` put your patches?
    patches-first  patches = _.transpose(0, 1) || torch.cat(_.unbind(1))
One patch is one token. How many pixels has it, and how many has one of yours?
    pixels-as-patches  patches = images.flatten(2).mT || images.flatten(2)
`view` never moves a number, and after `permute` those of a patch are not side by side in memory. Which other
method may copy?
    view-after-permute  patches = reshape => view
What moves the axes of what `F.unfold` gives: a reshape, or a transpose?
    unfolded-and-reshaped  patches = F.unfold(images, patch, stride=patch).reshape(B, -1, C * patch * patch)
How far does a window move from patch to patch? Do yours overlap?
    overlapping  patches = F.unfold(images, patch).mT || F.unfold(images, patch)
    overlapping  patches = torch.stack([images[:, :, i : i + patch, j : j + patch].flatten(1) for i in range(rows) for j in range(columns)], 1)
Each picture has patches of its own. Whose pixels are in patch 0 of yours?
    pictures-mixed  ordered = grid.permute(2, 4, 0, 1, 3, 5)
    pictures-mixed  ordered = grid.permute(2, 0, 4, 1, 3, 5)
A channel is a part of every patch. Which axis makes patches of channels in yours?
    channels-as-patches  patches = grid.permute(0, 1, 2, 4, 3, 5).reshape(B, -1, patch * patch)
    channels-as-patches  patches = ordered.reshape(B, -1, patch * patch)
What becomes of the channels? Change one of them after the other: does a patch change each time?
    one-channel  patches = ordered[:, :, :, 0].reshape(B, rows * columns, patch * patch)
    one-channel  patches = ordered.mean(3).reshape(B, rows * columns, patch * patch)
Where does the last patch of a row begin? Is this number in your `range`?
    last-patch-missing  patches = torch.stack([images[:, :, i : i + patch, j : j + patch].flatten(1) for i in range(0, H - patch, patch) for j in range(0, W - patch, patch)], 1)
    last-patch-missing  patches = torch.stack([images[:, :, i : i + patch, j : j + patch].flatten(1) for i in range(0, H - 1, patch) for j in range(0, W - 1, patch)], 1)
You return the pieces. What makes one tensor of them?
    pieces  patches = list(_) || list(_.unbind(1)) || _.tolist()
Which dtype goes in, and which comes out? Which dtype has a tensor of zeros that you made yourself?
    dtype-changed  patches = _.float()
Cut 6 rows into patches of 2: which rows of pixels belong to the first patch? A reshape counts along its second new axis
first. Print the shapes after it, and after your permute: what does each axis stand for?
    cut-the-other-way-round  grid = images.reshape(B, C, patch, rows, columns, patch).transpose(2, 3)
    cut-the-other-way-round  grid = images.reshape(B, C, rows, patch, patch, columns).transpose(4, 5)
""")

patchify.drills(
    "reshape-alone, axes-not-joined 1, channels-as-patches 1, view-after-permute, channels-before-the-grid, "
    "column-by-column, every-other-pixel 1, height-and-width-exchanged"
)
