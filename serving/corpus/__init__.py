"""Plain: a file of texts is answered block by block, resumable, with no line lost or doubled.

`shards` says which part of a file a process answers, `lines` and `rows` read it, `forms` writes the answers, `journal`
keeps what is done, and `process` puts them together. Nothing here knows of models: whoever calls gives a function from
texts to results. It needs the standard library and filelock, and for Parquet pyarrow.
"""
