"""`ganglion usage -o focus`: rows that other tools for cost read."""

import csv
import io

from tests.cli.harness import FakeServer, Ganglion

from ganglion.cli.queues.focus import COLUMNS, HOUR_US

ROUTE = "GET /api/v1/usage"
ROW = {
    **{"queue": "vision", "user": "ada", "workload": "train-1", "flavor": "H100"},
    **{"kind": "train", "day": "2026-12-31", "held_gpu_us": HOUR_US * 3 // 2},
    **{"cost_micro": 3_000_001, "list_micro": 3_750_000, "corrected_micro": -750_000},
    **{"active_gpu_us": HOUR_US // 4, "sampled_gpu_us": HOUR_US, "active_by": "nvml"},
    "energy_mj": 1_800_000_000,
    "energy_by": "dcgm-power",
    **{"lost_gpu_us": HOUR_US * 3 // 4, "useful_gpu_us": HOUR_US // 8},
}
PAGE = {"since": 0, "until": 1, "items": [ROW], "total": {}, "currency": "EUR"}


def test_what_was_charged_and_its_correction_are_rows_of_their_own(
    server: FakeServer, ganglion: Ganglion
) -> None:
    server.on(ROUTE, PAGE)
    done = ganglion("usage", "-o", "focus")
    charged, corrected = csv.DictReader(io.StringIO(done.out))
    assert tuple(charged) == COLUMNS
    assert list(COLUMNS) == sorted(COLUMNS)
    assert {**charged, "ChargeDescription": ""} == {
        **{"BilledCost": "3.750001", "BillingAccountId": "ganglion"},
        **{"BillingAccountName": "Ganglion", "BillingCurrency": "EUR"},
        **{"BillingPeriodEnd": "2027-01-01T00:00:00Z"},
        **{"BillingPeriodStart": "2026-12-01T00:00:00Z", "ChargeCategory": "Usage"},
        **{"ChargeClass": "", "ChargeDescription": "", "ChargeFrequency": "Usage-Based"},
        **{"ChargePeriodEnd": "2027-01-01T00:00:00Z"},
        **{"ChargePeriodStart": "2026-12-31T00:00:00Z", "ConsumedQuantity": "1.500000000"},
        **{"ConsumedUnit": "GPU-hours", "ContractedCost": "3.750001"},
        **{"EffectiveCost": "3.750001", "HostProviderName": "Ganglion"},
        **{"InvoiceIssuerName": "Ganglion", "ListCost": "3.75", "PricingCategory": "Standard"},
        **{"PricingQuantity": "1.500000000", "PricingUnit": "GPU-hours"},
        **{"ResourceId": "train-1", "ResourceType": "train", "ServiceCategory": "Compute"},
        **{"ServiceName": "Ganglion", "ServiceProviderName": "Ganglion", "SkuId": "H100"},
        **{"SubAccountId": "vision", "SubAccountName": "vision"},
        **{"Tags": '{"kind": "train", "user": "ada"}', "x_ActiveGpuHours": "0.250000000"},
        **{"x_ActiveSource": "nvml", "x_EnergyKwh": "0.500000000", "x_EnergySource": "dcgm-power"},
        **{"x_LostGpuHours": "0.750000000", "x_SampledGpuHours": "1.000000000"},
        **{"x_UsefulGpuHours": "0.125000000"},
    }
    assert (corrected["BilledCost"], corrected["ChargeClass"]) == ("-0.75", "Correction")
    assert corrected["ConsumedQuantity"] == "0.000000000"
    assert {corrected[name] for name in COLUMNS if name.startswith("x_")} == {""}
    (request,) = server.requests
    assert request.url.params.get_list("by") == [
        *("queue", "user", "workload", "flavor", "kind", "day")
    ]


def test_without_prices_there_is_nothing_to_bill(server: FakeServer, ganglion: Ganglion) -> None:
    server.on(ROUTE, {**PAGE, "currency": ""})
    done = ganglion("usage", "-o", "focus")
    assert done.code != 0
    assert "ganglion price set" in done.err
