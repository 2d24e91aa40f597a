"""Hubs of trained models: where they are, what they have, and their files in a cache of this machine.

A hub is a folder with an `index.json` and the files `NAME/VERSION/FILE`, or a file server over such a folder. This room
needs the standard library, `filelock` and `platformdirs`, and imports no other room of the zoo.
"""
