"""The methods: one file each, found because it is there."""
