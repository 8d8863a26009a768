"""Reads C++ just well enough for tools/tidy: code without comments and literals; where functions begin and end."""

import re
from dataclasses import dataclass

RAW = re.compile(r'(?:u8|u|U|L)?R"([^()\\\s]{0,16})\(')
WORD = re.compile(r"\d(?:'?[\w.])*|\w+")
CONTROL = re.compile(r"^(if|for|while|switch|catch|else|do|try|return|co_return|co_await)\b")
SCOPE = re.compile(r'^((inline\s+)?namespace\b|extern\s*""|(typedef\s+)?(class|struct|union|enum)\b)')
AFTER_PARAMETERS = re.compile(r"\)\s*((const|noexcept|override|final)\s*)*(->.*)?$")
LAMBDA = re.compile(
    r"(?<![\w)\]])\[[^\[\]]*\]\s*(<[^<>]*>\s*)?(\([^{}]*\)\s*)?(mutable\b|noexcept\b|constexpr\b|->[^{};]*|\s)*$"
)

LAMBDA_HEAD = "lambda ()"


@dataclass
class Source:
    code: str  # the text, as long as before, with comments and the insides of literals blanked
    literals: list  # (line, text) of every string literal


@dataclass
class Function:
    name: str
    line: int  # of the signature's first word
    length: int  # up to and including the closing brace's line


def scan(text):
    """Splits text into a Source."""
    out, literals, at = [], [], 0
    while at < len(text):
        start, at = at, _token_end(text, at)
        token = text[start:at]
        if token.startswith(("//", "/*")):
            out.append(_blank(token))
        elif token[-1] in "\"'" and len(token) > 1:
            if token[-1] == '"':
                literals.append((text.count("\n", 0, start) + 1, token))
            out.append(token[-1] + _blank(token[1:-1]) + token[-1])
        else:
            out.append(token)
    return Source("".join(out), literals)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _token_end(text, at):
    """Where the comment, literal, word or character that begins at `at` ends."""
    if text.startswith("//", at):
        return _find(text, "\n", at)
    if text.startswith("/*", at):
        return _find(text, "*/", at + 2) + 2
    raw = RAW.match(text, at)
    if raw:
        end = ")" + raw.group(1) + '"'
        return _find(text, end, raw.end()) + len(end)
    if text[at] in "\"'":
        return _quoted_end(text, at)
    # A word is one token, so the R of FOOR"x" begins no raw string, and the ' of 1'000 no character.
    word = WORD.match(text, at)
    return word.end() if word else at + 1


def _find(text, what, start):
    at = text.find(what, start)
    return len(text) if at < 0 else at


def _quoted_end(text, at):
    quote, at = text[at], at + 1
    while at < len(text) and text[at] not in (quote, "\n"):
        at += 2 if text[at] == "\\" else 1
    return min(at + 1, len(text))


def functions(code):
    """Every function, method, test body and namespace-level lambda of a Source's code. A lambda or a local class
    inside a function is part of that function."""
    # Preprocessor lines may hold unbalanced braces.
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: _blank(m.group()), code, flags=re.M)
    found, stack, head_start, parens = [], [], 0, 0
    for at, char in _structure(code):
        if char in "()":
            parens += 1 if char == "(" else -1
        elif char == "{":
            kind, head = _kind(code[head_start:at], stack, parens)
            stack.append((kind, head, head_start, _begin(code[head_start:at], head), parens))
            if kind != "init":
                head_start = at + 1
            parens = 0
        elif char == "}" and stack:
            kind, head, start, begin, parens = stack.pop()
            if kind == "function":
                first = code.count("\n", 0, start + begin) + 1
                found.append(Function(_name(head), first, code.count("\n", 0, at) + 2 - first))
            # An initialiser, or a lambda in one, is part of its declaration: the head goes on behind it.
            head_start = start if kind == "init" or parens > 0 or _inside(stack, "init") else at + 1
        elif char == ";" and parens == 0 and not _inside(stack, "init"):
            head_start = at + 1
        elif char == ":" and re.search(r"\b(public|protected|private)\s*$", code[head_start:at]):
            head_start = at + 1
    return sorted(found, key=lambda f: f.line)


def _begin(text, head):
    """Where in the text before a brace the function begins: at a lambda's bracket, else at the first word."""
    return LAMBDA.search(text).start() if head == LAMBDA_HEAD else len(text) - len(text.lstrip())


def _structure(code):
    return ((m.start(), m.group()) for m in re.finditer(r"[{}();]|(?<!:):(?!:)", code))


def _inside(stack, kind):
    return bool(stack) and stack[-1][0] == kind


def _kind(head, stack, parens):
    """What a brace after `head` opens: a scope (what is in it is looked at), a function, an initialiser, or a part of
    a function (inner)."""
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^)]*\)", " ", head, flags=re.S)
    head = _without_template(" ".join(head.split()))
    if stack and stack[-1][0] in ("function", "inner"):
        return "inner", head
    if LAMBDA.search(head):
        return "function", LAMBDA_HEAD
    if parens > 0 or _inside(stack, "init"):
        return "init", head
    if SCOPE.match(head) and not AFTER_PARAMETERS.search(head):
        return "scope", head
    if CONTROL.match(head) or "(" not in head or _is_initialiser(head):
        return "init", head
    return "function", head


def _without_template(head):
    """`head` without its leading template<…> clauses."""
    while head.startswith("template"):
        depth, at = 0, head.find("<")
        for at in range(max(at, 0), len(head)):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            if depth == 0:
                break
        head = head[at + 1 :].strip()
    return head


def _is_initialiser(head):
    """A variable with a value, or a member in a constructor's initialiser list."""
    plain = _flatten(re.sub(r"\boperator\s*(\(\)|[^\w\s(]+)", "operator", head))
    if "=" in plain:
        return True
    list_start = re.search(r"\)\s*(noexcept\s*)?:(?!:)", plain)
    return bool(list_start) and bool(re.search(r"[\w>]\s*$", plain)) and plain[-1] not in ")}"


def _flatten(head):
    """`head` with () and {} in place of what stands in parentheses and braces."""
    kept, depth = [], 0
    for char in head:
        depth -= char in ")}"
        if depth <= 0:
            kept.append(char)
        depth += char in "({"
    return "".join(kept)


def _name(head):
    if re.match(r"[A-Z][A-Z0-9_]+\s*\(", head):  # TEST(Suite, name)
        return head[: head.find(")") + 1]
    match = re.search(r"([\w:~]*operator\s*(\(\)|[^\w\s(]+|[\w ]+)|[\w:~]+)\s*\(", head)
    return match.group(1) if match else head[:40]
