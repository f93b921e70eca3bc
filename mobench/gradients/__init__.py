"""Everything as large as the parameters: gradients in blocks, the Gram matrix, the weighted sum."""
