"""The visitors of the demo shop, and what its page shows of them."""
