"""Strings that a stranger may put wherever a text is read: each is data, and never anything else."""

MODULE = "a_stranger_s_module"  # which lies in the working folder of each test, and leaves a file when it is imported

HOSTILE = {
    "setting": f'neg\nimports = ["{MODULE}"] #',
    "table": f'x"\n[data]\nimports = ["{MODULE}"]\n"',
    "three quotes": f'"""\nimports = ["{MODULE}"]\n"""',
    "apostrophes": f"'''\nimports = ['{MODULE}']\n'''",
    "backslashes": "\\ \\n \\u0041 C:\\new \\",
    "carriage return": "over\rwritten",
    "windows lines": "a\r\nb",
    "script": "</script><script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)" x="',
    "comment": "--> <!-- x ]]> <![CDATA[ ?>",
    "entities": "&lt;b&gt; &amp;amp; &#x26; &",
    "table cell": "| a | b |\n|---|---|",
    "code": "```\n`x` ``y``\n~~~",
    "link": "[click](javascript:alert(1)) ![x](data:text/html,y) <javascript:alert(1)>",
    "attribute list": "{: onclick=alert(1) } {#id .class} \\{x\\}",
    "heading": "# heading\n1. list\n- list\n> quote\n!!! note",
    "front matter": "---\nlicense: mit\n---\n",
    "yaml": "x: [y, {z: !!python/object/apply:os.system ['touch yaml']}] # &a *a",
    "formula": "=cmd|'/C calc'!A0",
    "formulas": "@SUM(1+1) +1 -1\t=2",
    "quotes and commas": "a,\"b\";'c'",
    "escape sequence": "\x1b[2J\x1b]0;title\x07\x1b[31mred\x9b1m",
    "backspace": "safe\x08\x08\x08\x08evil\x7f",
    "nul": "a\x00b",
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1eh",
    "bidi": "\u202e\u2066evil\u2069 txt.exe\u202c",
    "marks": "a\u200bb\u200dc\u2060d\ufeffe\u00adf",
    "mathtext": "$x^$ \\$ $\\frac{1}$ ${}$ $$",
    "one dollar": "5 $",
    "templates": "{{7*7}} {% x %} ${HOME} $(touch shell) `touch shell` %s %(x)d {0} {x!r} {",
    "shell": "; touch shell # && || > out",
    "path": "../../../etc/passwd",
    "option": "--help",
    "hidden": "_hidden",
    "emoji": "👩‍👧 🏳️‍🌈 e\u0301",
    "other scripts": "שלום नमस्ते 你好",
    "long": "long " * 2_000,
    "noncharacters": "a\ufffe\uffff\U0010ffffb",
}
SURROGATE = "a\ud800b\udcff"  # which no encoding has: such a name of a file, or JSON, exists
HOSTILE_NAMES = tuple(HOSTILE)
HOSTILE = tuple(HOSTILE.values())
