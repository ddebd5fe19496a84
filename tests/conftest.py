"""What all tests share."""

import os

import hypothesis

os.environ.setdefault("MTBERT_LIVE", "off")  # tests of tracking turn it on where they mean it
os.environ.setdefault("HF_HUB_OFFLINE", "1")
hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("untimed")
