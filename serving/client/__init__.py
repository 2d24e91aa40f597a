"""Asking a model that a server has."""
