"""A variant: its typed settings, and the model that is built from them, for training, prediction and export alike."""
