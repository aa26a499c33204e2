"""A record of a former source is valid where the current source gives the same instructions."""

import hashlib
import json
import re

import pytest

from sgemm_lab.catalogue import SAME_CODE, current_fingerprint, load_kernel
from sgemm_lab.cuda.shipped_ptx import kernel_ptx, shipped_text
from sgemm_lab.files import data_folder
from sgemm_lab.records.store import load_records

_OPCODE = re.compile(r"\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)")
_ADDRESS_ADDITION = "add.s64"
FORMER = [(former, *code) for former, code in SAME_CODE.items()]


def instructions_hash(ptx: str) -> str:
    """Return a hash of the opcodes of the entry's PTX, in order.

    Additions of 64-bit addresses are left out: constants that only move an address, such as that of
    a counter, leave the hash alone.
    """
    entry = ptx[ptx.index(".visible .entry") :]
    lines = entry[: entry.index("\n}\n")].splitlines()
    found = (_OPCODE.match(line) for line in lines)
    opcodes = [one[1] for one in found if one and one[1] != _ADDRESS_ADDITION]
    return hashlib.sha256("\n".join(opcodes).encode()).hexdigest()[:16]


@pytest.mark.parametrize(("former", "name", "instructions"), FORMER)
def test_a_current_kernel_has_the_instructions_of_its_former_source(
    former: str, name: str, instructions: str
) -> None:
    kernel = load_kernel(name)
    assert instructions_hash(shipped_text(kernel)) == instructions
    assert current_fingerprint(former) == kernel.fingerprint != former


def test_a_change_of_an_opcode_changes_the_hash_and_other_addresses_do_not() -> None:
    ptx = kernel_ptx(load_kernel("naive"))
    addition = "\tadd.s64"
    for same in (
        ("\t.loc\t1 ", "\t.loc\t1 9"),
        (addition, f"{addition} %rd1, %rd1, 8;\n{addition}"),
    ):
        assert same[0] in ptx
        assert instructions_hash(ptx.replace(*same)) == instructions_hash(ptx)
    assert instructions_hash(ptx.replace("fma.rn", "fma.rz", 1)) != instructions_hash(ptx)


@pytest.mark.parametrize(("former", "name", "instructions"), FORMER)
def test_a_record_of_the_former_source_is_read_as_one_of_the_current(
    former: str, name: str, instructions: str
) -> None:
    texts = [path.read_text(encoding="utf-8") for path in data_folder("records").rglob("*.json")]
    assert any(json.dumps(former) in text for text in texts), f"{former} is in no record: delete it"
    scores = [score for record in load_records() for score in record.scores]
    assert any(score.fingerprint == load_kernel(name).fingerprint for score in scores)
    assert all(score.fingerprint != former for score in scores)
