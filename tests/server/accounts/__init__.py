"""Shared hosts: accounts of users, and servers that start programs as them."""
