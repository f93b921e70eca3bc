"""The loop, lockstep batching, optimizer and schedule, checkpoints, and the front end for anybody's own loop."""
