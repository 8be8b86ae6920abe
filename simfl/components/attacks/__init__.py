"""What faulty and malicious devices do to the model."""
