"""What all tests share."""

import os

os.environ.setdefault("MTBERT_LIVE", "off")  # tests of tracking turn it on where they mean it
os.environ.setdefault("HF_HUB_OFFLINE", "1")
