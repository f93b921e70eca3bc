"""The leaderboard: plots, and pages made of stored results."""
