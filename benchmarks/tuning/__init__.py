"""How the settings of the digits profiles were chosen: on validation data alone, by one rule for all methods."""
