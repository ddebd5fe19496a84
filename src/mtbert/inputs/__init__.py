"""What a training is made from, by digest, and why it trains again."""
