"""What users extend: one folder a kind, one small file a member."""
