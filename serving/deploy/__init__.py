"""Plain: from artefacts to the files that a server's operator needs, and the labels that say which version is asked."""
