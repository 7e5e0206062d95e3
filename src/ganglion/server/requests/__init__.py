"""What a request has at hand: context, health, sessions in pods."""
