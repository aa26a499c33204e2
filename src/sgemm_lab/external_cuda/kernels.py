"""The kernels of a file: their names, templates, parameters, and how the file launches them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sgemm_lab.errors import LabError
from sgemm_lab.external_cuda.declarations import Declaration, after_angles, matching
from sgemm_lab.external_cuda.device_code import Sources
from sgemm_lab.external_cuda.tokens import Token
from sgemm_lab.text import plural

_QUALIFIERS = frozenset(
    [
        "const",
        "volatile",
        "restrict",
        "__restrict__",
        "__restrict",
        "struct",
        "typename",
        "static",
        "register",
        "__grid_constant__",
        "constexpr",
    ]
)
_SIGNS = frozenset({"*", "&"})
MOST_LISTED = 12
"""Kernels that a message lists."""


@dataclass(frozen=True)
class KernelParameter:
    """One parameter of a kernel, as its source declares it."""

    name: str
    type: str
    """The type without qualifiers and its star: "float", "unsigned int", "half", "T", "int*"."""
    pointer: bool
    const: bool
    """Whether what it points to may not be written."""
    of: str = ""
    """The struct parameter that it is a field of; "" if none."""


@dataclass(frozen=True)
class FoundLaunch:
    """A launch in the host code of the file."""

    line: int
    kernel: str
    """The kernel as the launch names it, such as "tiled<16>"."""
    shape: tuple[str, ...]
    """What stands between ``<<<`` and ``>>>``."""
    arguments: tuple[str, ...]
    before: tuple[Token, ...] = field(default=(), repr=False, compare=False)
    """What stands before it in its function."""
    shape_tokens: tuple[list[Token], ...] = field(default=(), repr=False, compare=False)
    argument_tokens: tuple[list[Token], ...] = field(default=(), repr=False, compare=False)
    template_tokens: tuple[list[Token], ...] = field(default=(), repr=False, compare=False)
    """The values that it gives a template."""
    function: Declaration | None = field(default=None, repr=False, compare=False)
    """Which function it stands in."""

    def __str__(self) -> str:
        shape, arguments = ", ".join(self.shape), ", ".join(self.arguments)
        return f"{self.kernel}<<<{shape}>>>({arguments})"


@dataclass(frozen=True)
class FoundKernel:
    """A kernel that the file defines."""

    name: str
    """With its namespaces: "fast::tiled"."""
    template: tuple[KernelParameter, ...]
    """The parameters of the template; types are those of the type "typename"."""
    required: int
    """How many of them have no default."""
    parameters: tuple[KernelParameter, ...]
    declaration: Declaration
    of_file: bool = True
    """Whether it stands in the file itself, not in a header."""
    overloaded: bool = False

    @property
    def said(self) -> str:
        """The name, with the parameters of the template."""
        if not self.template:
            return self.name
        return f"{self.name}<{', '.join(f'{p.type} {p.name}'.strip() for p in self.template)}>"


def kernels_of(sources: Sources) -> list[FoundKernel]:
    """Return the kernels of a file and of its headers, each name once."""
    found: dict[str, FoundKernel] = {}
    own = {id(d) for d in sources.files[0].declarations}
    for d in sources.kernels:
        kernel = _kernel(d, id(d) in own)
        before = found.get(kernel.name)
        if before is None or (before.template == () and kernel.template):
            found[kernel.name] = kernel
        elif not kernel.template and not before.template and d.has_body:
            overload = [p.type for p in before.parameters] != [p.type for p in kernel.parameters]
            found[kernel.name] = replace(before, overloaded=overload)
    return list(found.values())


def _kernel(d: Declaration, of_file: bool) -> FoundKernel:
    (name,) = d.names
    head = d.head
    template: list[list[Token]] = []
    if head[0].text == "template" and len(head) > 1 and head[1].text == "<":
        template = split(head[2 : after_angles(head, 1) - 1])
    return FoundKernel(
        "::".join((*d.namespace, name)),
        tuple(_template_parameter(part) for part in template),
        sum(not any(t.text == "=" for t in part) for part in template),
        tuple(parameter_of(part) for part in parameter_tokens(d)),
        d,
        of_file,
    )


def function_of(d: Declaration) -> FoundKernel:
    """Return any function of the file in the form of a kernel."""
    return _kernel(d, of_file=True)


def parameter_tokens(d: Declaration) -> list[list[Token]]:
    """Return the tokens of each parameter of a function."""
    (name,) = d.names
    head = d.head
    # The name may also stand in an attribute, so it is the last one before a bracket.
    opening = max(
        i for i, t in enumerate(head[:-1]) if t.text == name and head[i + 1].text in ("(", "<")
    )
    opening = opening + 1
    if head[opening].text == "<":
        opening = after_angles(head, opening)
    inside = head[opening + 1 : matching(head, opening)]
    return [part for part in split(inside) if [t.text for t in part] != ["void"]]


def template_of(head: Sequence[Token]) -> tuple[KernelParameter, ...]:
    """Return the parameters of a template, from what stands before a function's body."""
    if len(head) < 2 or head[0].text != "template" or head[1].text != "<":
        return ()
    return tuple(_template_parameter(part) for part in split(head[2 : after_angles(head, 1) - 1]))


def split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split at the commas that stand in no brackets; ``<`` and ``>`` are brackets too."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        text = token.text
        depth += (text in "([{<") - (text in ")]}>") if len(text) == 1 else 0
        if text == "," and depth == 0:
            parts.append([])
        elif token.kind != "directive":
            parts[-1].append(token)
    return [part for part in parts if part]


def _template_parameter(tokens: Sequence[Token]) -> KernelParameter:
    if tokens[0].text in ("typename", "class"):
        name = tokens[1].text if len(tokens) > 1 and tokens[1].kind == "name" else ""
        return KernelParameter(name, "typename", False, False)
    return parameter_of(tokens)


def parameter_of(tokens: Sequence[Token]) -> KernelParameter:
    """Read a parameter, or a field of a struct: type, stars and name."""
    texts = [token.text for token in tokens]
    if "=" in texts:
        texts = texts[: texts.index("=")]
    pointer = "*" in texts or "[" in texts
    if "[" in texts:
        texts = [t for t in texts[: texts.index("[")] if t not in ("(", ")")]
    texts = [t for t in texts if t not in ("(", ")")]
    first_star = texts.index("*") if "*" in texts else len(texts)
    const = "const" in texts[:first_star]
    words = [t for t in texts if t not in _QUALIFIERS and t not in _SIGNS]
    named = len(words) > 1 and re.fullmatch(r"[^\W\d]\w*", words[-1]) and words[-2] != "::"
    name = words.pop() if named and words[-1] not in _TYPE_WORDS else ""
    inner = "*" * (texts.count("*") - 1)  # of a pointer to pointers
    return KernelParameter(name, _joined(words) + inner, pointer, const)


_TYPE_WORDS = frozenset(
    ["int", "long", "short", "char", "unsigned", "signed", "float", "double", "bool"]
)


def _joined(words: Sequence[str]) -> str:
    text = ""
    for word in words:
        glue = " " if re.search(r"\w$", text) and re.match(r"\w", word) else ""
        text += glue + word
    return text


def launches_of(sources: Sources) -> list[FoundLaunch]:
    """Return the launches that stand in a file and in its headers."""
    found = []
    for file in sources.files:
        for d in file.declarations:
            for place, token in enumerate(d.tokens):
                if token.text == "<<<":
                    line = file.text.count("\n", 0, token.start) + 1
                    launch = _launch(d.tokens, place, line)
                    if launch:
                        found.append(replace(launch, function=d))
    return found


def _launch(tokens: Sequence[Token], place: int, line: int) -> FoundLaunch | None:
    start = place - 1
    if tokens[start].text == ">":
        depth = 0
        while start >= 0:
            depth += (tokens[start].text == ">") - (tokens[start].text == "<")
            start -= 1
            if depth == 0:
                break
    while start >= 2 and tokens[start - 1].text == "::":
        start -= 2
    if start < 0 or tokens[start].kind != "name":
        return None
    end = place + 1
    depth = 0
    while end + 2 < len(tokens) and not (
        depth == 0 and all(tokens[end + i].text == ">" for i in range(3))
    ):
        depth += (tokens[end].text in "([{") - (tokens[end].text in ")]}")
        end += 1
    opening = end + 3
    if opening >= len(tokens) or tokens[opening].text != "(":
        return None
    arguments = split(tokens[opening + 1 : matching(tokens, opening)])
    angle = next((i for i in range(start, place) if tokens[i].text == "<"), place)
    inside = tokens[angle + 1 : place - 1]
    shape = split(tokens[place + 1 : end])
    return FoundLaunch(
        line,
        _joined([t.text for t in tokens[start:place]]),
        tuple(_joined([t.text for t in part]) for part in shape),
        tuple(_joined([t.text for t in part]) for part in arguments),
        tuple(tokens[:start]),
        tuple(shape),
        tuple(arguments),
        tuple(split(inside)),
    )


def choose(
    kernels: Sequence[FoundKernel],
    launches: Sequence[FoundLaunch],
    entry: str | None,
    file_name: str,
    values_of: Callable[[FoundKernel], str] = lambda _: "",
) -> tuple[FoundKernel, str]:
    """Return the kernel that ``entry`` means, and its name for the compiler: "tiled<16>".

    ``entry`` is a name, a part of one, or a name with the values of a template; None if the file
    has one kernel only. ``values_of`` finds the values of a template for which it says none.

    Raises:
        LabError: there is none, there are several, or a template lacks its values.
    """
    if not kernels:
        raise LabError(
            f"{file_name} has no kernel: it needs a __global__ function. "
            "A header that has one must lie beside it, or in a folder given with -I."
        )
    if entry is None:
        # One kernel of the file itself goes before those of its headers.
        kernels = [k for k in kernels if k.of_file] or kernels
    if entry is None and len(kernels) > 1:
        raise LabError(
            f"{file_name} has {plural(len(kernels), 'kernel')}. Choose one with --entry: "
            f"{listed(kernels)}."
        )
    wanted, _, values = (entry or kernels[0].name).partition("<")
    wanted, values = wanted.strip(), values.strip().removesuffix(">").strip()
    same = [k for k in kernels if wanted in (k.name, k.name.rpartition("::")[2])]
    chosen = same or [k for k in kernels if wanted in k.name]
    if not chosen:
        raise LabError(f"{file_name} has no kernel called '{wanted}'. It has: {listed(kernels)}.")
    if len(chosen) > 1:
        raise LabError(
            f"{file_name} has several kernels that '{wanted}' can mean: {listed(chosen)}."
        )
    kernel = chosen[0]
    if not kernel.template:
        return kernel, kernel.name
    values = values or (values_of(kernel) if kernel.required else "")
    if not values and kernel.required:
        raise LabError(_template_sentence(kernel, launches))
    return kernel, f"{kernel.name}<{values}>"


def listed(kernels: Sequence[FoundKernel]) -> str:
    """Name kernels, the first dozen of them."""
    names = [kernel.said for kernel in kernels[:MOST_LISTED]]
    more = len(kernels) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def launches_of_kernel(kernel: FoundKernel, launches: Sequence[FoundLaunch]) -> list[FoundLaunch]:
    """Return the launches of one kernel."""
    last = kernel.name.rpartition("::")[2]
    return [
        launch for launch in launches if launch.kernel.partition("<")[0].rpartition("::")[2] == last
    ]


def _template_sentence(kernel: FoundKernel, launches: Sequence[FoundLaunch]) -> str:
    text = f"{kernel.said} is a template. Say with which values: --entry '{kernel.name}<…>'."
    own = [launch for launch in launches_of_kernel(kernel, launches) if "<" in launch.kernel]
    if own:
        text += f" Line {own[0].line} launches {own[0].kernel}."
    return text


def template_values(kernel: FoundKernel, name: str) -> Mapping[str, str]:
    """Return the values that a name such as "tiled<float, 16>" gives a template's parameters."""
    inside = name.partition("<")[2].removesuffix(">")
    values, depth = [""], 0
    for letter in inside:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            values.append("")
        else:
            values[-1] += letter
    return {p.name: v.strip() for p, v in zip(kernel.template, values, strict=False)}
