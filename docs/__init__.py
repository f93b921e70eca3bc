"""The documents, packaged so that the site can show them."""
