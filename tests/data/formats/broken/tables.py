"""CSV and TSV with the wrong number of fields, broken quotes, columns that are not there, empty texts and labels."""

from tests.data.formats.broken.variant import GOOD, one

TABLES = [
    one("labelled", "a.csv", GOOD + "so, so,neg\n", 4, "3 columns in 'so, so,neg'", "put it in double quotes"),
    one("labelled", "a.csv", GOOD + "so\n", 4, "1 column in 'so'", "Add what is missing"),
    one("labelled", "a.tsv", "a b\tx\nc\td\ty\ne f\ty\n", 2, "3 columns", "Take out the tab"),
    one(
        "labelled",
        "a.csv",
        GOOD + '"so,neg\nx,y\n',
        4,
        "opens a quote that is not closed (read on to line 5)",
        "Close it",
    ),
    one("labelled", "a.csv", GOOD + '"so" so,neg\n', 4, "text follows a closing quote", "double"),
    one("labelled", "a.csv", GOOD.replace("\n", "\r") + "x,y\nz,pos\n", 1, "a carriage return stands alone", "tr "),
    one(
        "labelled", "a.csv", GOOD, 1, "no column 'lable' for label", "Did you mean 'label'", columns={"label": "lable"}
    ),
    one(
        "labelled",
        "a.csv",
        GOOD,
        1,
        "no column 3 (counted from 1) for label; line 1 names 1 'text', 2 'label'",
        "--set data.columns.label=...",
        columns={"label": 3},
    ),
    one("labelled", "a.csv", GOOD, 1, "no column 'sum' for text", "data.columns.text=...", columns={"text": "sum"}),
    one(
        "labelled",
        "a.csv",
        "So good!,pos\nSo bad.,neg\n",
        1,
        "no header, and line 1 has 1 ('So good!')",
        "Say the number of the column",
        columns={"label": "label"},
    ),
    one("labelled", "a.csv", "a,a,b\nx y,z,1\n", 1, "2 columns are named 'a'", "say the number", columns={"text": "a"}),
    one("labelled", "d.csv", "text,text\na b,pos\n", 1, "2 columns are named 'text': 1 'text'", '"header": True'),
    one(
        "compared", "d.csv", "text,text,label\na b,c d,1\n", 1, "2 columns are named 'text'", "if line 1 is an example"
    ),
    one("labelled", "a.csv", "x y,z w,3\nx u,z v,1\n", 1, "Found 3 columns and no header: 1 ('x y')", "columns={"),
    one("labelled", "a.csv", GOOD, None, "received 'lable'", "Did you mean 'label'", columns={"lable": 1}),
    one("labelled", "a.csv", GOOD, None, "received 0", "counted from 1", columns={"label": 0}),
    one("labelled", "a.csv", GOOD, None, "header must be true or false", "received 'no'", columns={"header": "no"}),
    one("labelled", "a.csv", GOOD + " ,neg\n", 4, "the text is empty", "delete the example"),
    one("labelled", "a.csv", GOOD + "so,\n", 4, "the label is empty", "Fill it in"),
    one(
        "labelled",
        "a.csv",
        "text,label\ngood,pos\nfine,pos\n",
        None,
        "1 label in 2 examples (pos)",
        "Check which column",
    ),
    one(
        "labelled",
        "b.csv",
        "".join(f"text {n},value {n}\n" for n in range(200)),
        None,
        "200 different labels in 200",
        "Check which column is the label",
    ),
    one("rated", "a.csv", 'text;score\na;"1,250"\nb;2\n', 2, "a decimal comma or one of thousands", "expected a point"),
    one("rated", "a.csv", "text,score\na,1\nb,1\n", None, "1 score in 2 examples (1)", "column is the score"),
    one("labelled", "w.csv", "a b" + ",a b" * 23 + "\n1" + ",2" * 23, 1, "20 ('a b'), ... (24 in all)", "data.columns"),
    one("rated", "a.csv", "text,score\na,1\nb,NaN\n", 3, "the score is 'NaN'", "Fill it in"),
    one("labelled", "a.csv", "idx,label\n0,a\n1,b\n2,a\n", 1, "column 1 counts the rows", "if those are the texts"),
    one("pairs", "a.tsv", "7\tein\n8\tzwei\n9\tdrei\n", 1, "no other is left for source", "data.columns.source=1"),
    one("tagged", "a.csv", "Ann,B\nsings,O\n" * 10, 1, "one word a row, and no column tells", "by blank lines"),
    one("compared", "a.csv", "sentence1,sentence2,label\na,b,1\n,d,0\n", 3, "the first text is empty", "delete"),
    one("labelled", "c.tsv", "good\tpos\rbad\tneg\nso\tpos\n", 1, "a carriage return stands alone", "tr "),
    one(
        "labelled", "c.csv", 'text,label\ngood, "a, b"\nbad,x\n', 2, "3 columns", "Take out the space before the quote"
    ),
]
