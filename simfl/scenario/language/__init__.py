"""How scenarios are written: YAML 1.2, and where each piece of it stands."""
