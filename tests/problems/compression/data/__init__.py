"""Tests of the data sets and of the training stream."""
