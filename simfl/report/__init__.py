"""What a researcher looks at after a run: one page that stands alone, and a timeline."""
