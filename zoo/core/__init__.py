"""Keras: what every other room of the zoo may use: it knows none of them."""
