"""A file for each family: what its configuration means here, and which tensor becomes which weight."""
