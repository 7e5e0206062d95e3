"""Merkle trees: published vectors, and proofs of every record of every small tree."""

from itertools import product

import pytest

from ganglion.audit import merkle
from ganglion.audit.merkle import Frontier, leaf

RECORDS = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""Of the trees of the first n records: the vectors of Certificate Transparency."""
MOST = 33


@pytest.mark.parametrize("size", range(len(ROOTS)))
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    tree = Frontier()
    for record in RECORDS[:size]:
        tree.add(record)
    assert tree.root().hex() == ROOTS[size]
    assert merkle.root([leaf(each) for each in RECORDS[:size]]).hex() == ROOTS[size]


def test_records_that_are_appended_together_give_the_tree_of_those_one_after_the_other() -> None:
    for first in range(20):
        for more in range(40):
            one, many = Frontier(), Frontier()
            for number in range(first + more):
                one.add(b"%d" % number)
            many.extend(b"%d" % number for number in range(first))
            many.extend(b"%d" % number for number in range(first, first + more))
            assert (many.size, many.hashes) == (one.size, one.hashes)


def test_a_tree_goes_on_from_its_subtrees() -> None:
    tree = Frontier()
    for number in range(MOST):
        tree = Frontier(tree.size, tree.hashes)
        tree.add(b"%d" % number)
    assert tree.root() == merkle.root([leaf(b"%d" % number) for number in range(MOST)])


@pytest.mark.parametrize(("size", "hashes"), [(1, []), (2, [b"x"]), (-1, []), (0, [bytes(32)])])
def test_subtrees_that_are_of_no_tree_are_refused(size: int, hashes: list[bytes]) -> None:
    with pytest.raises(ValueError, match="tree"):
        Frontier(size, hashes)


def test_every_record_is_proven_and_no_other() -> None:
    for size in range(1, MOST):
        leaves = [leaf(b"%d" % number) for number in range(size)]
        top = merkle.root(leaves)
        for index in range(size):
            proof = merkle.inclusion(leaves, index)
            assert merkle.included(leaves[index], index, size, proof, top)
            assert not merkle.included(leaf(b"other"), index, size, proof, top)
            assert not merkle.included(leaves[index], index, size, [*proof, top], top)
            assert not merkle.included(leaves[index], index + size, size, proof, top)
            if proof:
                assert not merkle.included(leaves[index], index, size, proof[:-1], top)
                assert not merkle.included(leaves[index], index ^ 1, size, proof, top)


def test_every_tree_begins_with_every_smaller_one_and_with_no_other() -> None:
    leaves = [leaf(b"%d" % number) for number in range(MOST)]
    roots = [merkle.root(leaves[:size]) for size in range(MOST + 1)]
    for first, size in product(range(1, MOST), range(1, MOST)):
        if first > size:
            assert not merkle.consistent(first, roots[first], size, roots[size], [])
            continue
        proof = merkle.consistency(leaves[:size], first)
        assert merkle.consistent(first, roots[first], size, roots[size], proof)
        assert not merkle.consistent(first, leaf(b"x"), size, roots[size], proof)
        assert not merkle.consistent(first, roots[first], size, leaf(b"x"), proof)
        assert not merkle.consistent(first, roots[first], size, roots[size], [*proof, roots[1]])
