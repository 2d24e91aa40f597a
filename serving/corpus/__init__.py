"""Plain: a file of texts is answered block by block, resumable, with no line lost or doubled.

`lines` and `rows` read a file, or the part of it that a process answers, `forms` writes the answers, and `process` puts
them together and keeps what is done. Nothing here knows of models: whoever calls gives a function from texts to
results. It needs the standard library and filelock, and for Parquet pyarrow.
"""
