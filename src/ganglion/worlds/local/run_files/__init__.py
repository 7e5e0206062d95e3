"""The files of attempts: records, logs, reports, secrets, and how long they are kept."""
