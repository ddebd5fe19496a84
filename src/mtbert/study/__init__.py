"""`mtbert study`: what a folder of one's own holds, and the settings that train it."""
