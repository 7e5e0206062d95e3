"""Job lists and fleets, their replay through the engine, and what a schedule is judged by."""
