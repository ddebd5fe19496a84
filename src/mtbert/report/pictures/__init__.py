"""Pictures, one file a kind: functions that return its numbers, and one that draws them."""
