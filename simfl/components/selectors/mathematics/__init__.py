"""The mathematics behind selectors: of numbers alone, which know of no selector."""
