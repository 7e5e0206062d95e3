"""What the server answers: one model per answer, from which its OpenAPI page is made."""
