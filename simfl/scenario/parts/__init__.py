"""What a scenario says, part by part, as plain typed data."""
