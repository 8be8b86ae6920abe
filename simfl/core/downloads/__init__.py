"""What is downloaded: where from, how it is fetched whole, and how it is unpacked."""
