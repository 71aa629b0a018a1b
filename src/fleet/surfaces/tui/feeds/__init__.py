"""Where the screen gets what it draws. Each feed is a thread with its own `Fleet`; the screen waits for none of them."""
