"""Programs of others, tried: run as they were, moved, run again, with a local server in the place of the internet."""
