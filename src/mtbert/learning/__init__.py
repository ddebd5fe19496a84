"""What a model learns by: samplers, objectives, weightings, gradient rules, schedules. Each is built from settings."""
