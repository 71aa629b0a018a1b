"""What `fleet demo` plays."""
