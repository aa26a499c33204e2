"""The drawings of a chapter: plain SVG in the page's own colours, made from what kernels do.

Every panel is 340 units wide, so that its letters keep their size on a phone; two stand side by
side where there is room. Hue is the level of memory, as in the whole book. ``title`` stands above a
panel, and ``says`` below it.
"""
