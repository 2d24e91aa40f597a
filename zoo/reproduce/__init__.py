"""Keras: each paper's own property, measured in minutes on a processor: `seqzoo reproduce SYSTEM`.

`report` names the systems, measures one, compares hashes, and writes and reads what was measured; it imports no
framework. A system is a module with

* `FULL` and `QUICK`: the sizes of its experiment, and others with which it only tries its code;
* `measure(log, **sizes)`: the facts, which JSON can hold; `weights` are the SHA-256 of each trained model;
* `claims(facts)`: a list of `claim`s, whose `holds` a rule computes from the numbers;
* `draw(facts)`: a figure of matplotlib.
"""
