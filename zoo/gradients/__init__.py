"""Keras: passes that are computed twice, choices that are recorded, tables of which few rows have a gradient.

What differs between the Keras backends is here.
"""
