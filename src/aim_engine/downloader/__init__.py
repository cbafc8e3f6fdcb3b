"""The program inside a download Job. It imports nothing else of this project and ships in an image of its own."""
