"""What a recipe may say: tables of settings with kinds, meanings and defaults. Nothing here imports a framework."""
