"""What tasks share: layers from settings, corpora, vocabularies, search. Only what builds models imports Keras."""
