"""The multi-task model and its parts; `building` puts them together for training, prediction and export alike."""
