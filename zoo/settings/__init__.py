"""Plain: what a recipe may say, as tables of settings with kinds, meanings and defaults."""
