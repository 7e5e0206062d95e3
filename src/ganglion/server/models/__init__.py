"""What references to models mean: registries and stores are asked, never within a turn."""
