"""Files and folders are small, documented, and named once."""
