"""Usage as rows of a cost and usage data set by FOCUS 1.4 (focus.finops.org).

Columns are those that a scheduler knows values for. A row is what one workload held of one flavor
on one day of UTC. What a price changed that was set afterwards is a row of its own, of charge class
`Correction`. Idle GPUs are charged to no queue, and are no rows.
"""

import csv
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ganglion.model.errors import Conflict

if TYPE_CHECKING:
    from ganglion.api.money.usage import UsagePage, UsageRow

BY = ("queue", "user", "workload", "flavor", "kind", "day")
COLUMNS = (
    *("BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency"),
    *("BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory", "ChargeClass"),
    *("ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart"),
    *("ConsumedQuantity", "ConsumedUnit", "ContractedCost", "EffectiveCost"),
    *("HostProviderName", "InvoiceIssuerName", "ListCost", "PricingCategory"),
    *("PricingQuantity", "PricingUnit", "ResourceId", "ResourceType", "ServiceCategory"),
    *("ServiceName", "ServiceProviderName", "SkuId", "SubAccountId", "SubAccountName", "Tags"),
    *("x_ActiveGpuHours", "x_ActiveSource", "x_EnergyKwh", "x_EnergySource"),
    *("x_LostGpuHours", "x_SampledGpuHours", "x_UsefulGpuHours"),
)
"""Names of the columns, in alphabetical order as the specification lists them."""
NAME, UNIT = "Ganglion", "GPU-hours"
HOUR_US = 3_600_000_000
KWH_MJ = 3_600_000_000
"""A kWh, in thousandths of a joule."""
NANO = 1_000_000_000


def print_focus(page: "UsagePage") -> None:
    """Print usage by everything that `BY` names.

    Raises:
        Conflict: there are no prices, and so no currency.
    """
    if not page.currency:
        raise Conflict("there are no prices, so nothing can be billed", "see: ganglion price set")
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(focus_rows(page))


def focus_rows(page: "UsagePage") -> Iterator[dict[str, str]]:
    """Return the rows, in the order of the groups; values are as FOCUS formats them."""
    for row in page.items:
        charged = row.cost_micro - row.corrected_micro
        yield _row(page, row, charged, row.held_gpu_us, "") | _done(row)
        if row.corrected_micro:
            nothing = dict.fromkeys(_done(row), "")
            yield _row(page, row, row.corrected_micro, 0, "Correction") | nothing


def _row(
    page: "UsagePage", row: "UsageRow", micro: int, held_gpu_us: int, charge_class: str
) -> dict[str, str]:
    from ganglion.specs.grammar.money import print_money

    day = datetime.fromisoformat(row.day).replace(tzinfo=UTC)
    month = day.replace(day=1)
    cost, quantity = print_money(micro), _gpu_hours(held_gpu_us)
    held = f"{row.kind} {row.workload} of {row.user} held {row.flavor} GPUs"
    held += "; parts of unknown size count as whole GPUs" * (row.flavor in page.guessed)
    listed = row.list_micro if not charge_class else 0
    tags = {"user": row.user, "kind": row.kind}
    return {
        "BilledCost": cost,
        "BillingAccountId": NAME.lower(),
        "BillingAccountName": NAME,
        "BillingCurrency": page.currency,
        "BillingPeriodEnd": _time((month + timedelta(days=31)).replace(day=1)),
        "BillingPeriodStart": _time(month),
        "ChargeCategory": "Usage",
        "ChargeClass": charge_class,
        "ChargeDescription": f"corrected: {held}" if charge_class else held,
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodEnd": _time(day + timedelta(days=1)),
        "ChargePeriodStart": _time(day),
        "ConsumedQuantity": quantity,
        "ConsumedUnit": UNIT,
        "ContractedCost": cost,
        "EffectiveCost": cost,
        "HostProviderName": NAME,
        "InvoiceIssuerName": NAME,
        "ListCost": print_money(listed),
        "PricingCategory": "Standard",
        "PricingQuantity": quantity,
        "PricingUnit": UNIT,
        "ResourceId": row.workload,
        "ResourceType": row.kind,
        "ServiceCategory": "Compute",
        "ServiceName": NAME,
        "ServiceProviderName": NAME,
        "SkuId": row.flavor,
        "SubAccountId": row.queue,
        "SubAccountName": row.queue,
        "Tags": json.dumps(tags, sort_keys=True),
    }


def _done(row: "UsageRow") -> dict[str, str]:
    """Return what GPUs did, in columns of our own; what is unknown is null."""
    energy = None if row.energy_mj is None else _decimal(row.energy_mj, KWH_MJ)
    return {
        "x_ActiveGpuHours": _known(row.active_gpu_us),
        "x_ActiveSource": row.active_by,
        "x_EnergyKwh": energy or "",
        "x_EnergySource": row.energy_by,
        "x_LostGpuHours": _known(row.lost_gpu_us),
        "x_SampledGpuHours": _gpu_hours(row.sampled_gpu_us),
        "x_UsefulGpuHours": _known(row.useful_gpu_us),
    }


def _known(gpu_us: int | None) -> str:
    return "" if gpu_us is None else _gpu_hours(gpu_us)


def _gpu_hours(gpu_us: int) -> str:
    """Return GPU-microseconds in GPU-hours, to nine digits, half up."""
    return _decimal(gpu_us, HOUR_US)


def _decimal(amount: int, unit: int) -> str:
    nano = (2 * amount * NANO + unit) // (2 * unit)
    return f"{nano // NANO}.{nano % NANO:09}"


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
