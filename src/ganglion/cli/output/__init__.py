"""What commands print: tables, screens, quantities and times, events and explanations of waits."""
