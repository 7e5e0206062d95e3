"""Names of container images, as people write them and as container runtimes list them."""

DEFAULT_HOST, DEFAULT_OWNER, DEFAULT_TAG = "docker.io", "library", "latest"
"""What container runtimes mean by a name without a registry, an owner, a tag."""


def full_name(image: str) -> str:
    """The name of an image with its registry, and its digest or else its tag."""
    named, at, digest = image.partition("@")
    first, slash, rest = named.partition("/")
    is_host = slash and (set(first) & set(".:") or first == "localhost")
    host, name = (first, rest) if is_host else (DEFAULT_HOST, named)
    if host == DEFAULT_HOST and "/" not in name:
        name = f"{DEFAULT_OWNER}/{name}"
    folder, slash, last = name.rpartition("/")
    own, colon, tag = last.partition(":")
    end = f"@{digest}" if at else f":{tag if colon else DEFAULT_TAG}"
    return f"{host}/{folder}{slash}{own}{end}"
