"""What a server would say about a small cluster; shared by the tests of screens."""

from typing import Any

from tests.cli.harness import NOW_S

NOW = NOW_S * 1000
MINUTE = 60_000

TRAIN: dict[str, Any] = {
    "id": "llama-sft-7",
    "name": "llama-sft",
    "kind": "train",
    "queue": "research",
    "user": "ada",
    "priority": 70,
    "state": "QUEUED",
    "reason": "topology",
    "message": "needs 16 GPUs in one rack; most in one rack is 12; 24 are free in all",
    "gpus": 16,
    "pods": 2,
    "running": 0,
    "succeeded": 0,
    "failed": 0,
    "gangs": 1,
    "submitted": NOW - 12 * MINUTE,
    "started": None,
    "ended": None,
    "exit_code": None,
    "position": 3,
}
SERVICE = TRAIN | {
    "id": "chat-api-3",
    "name": "chat-api",
    "kind": "service",
    "queue": "products",
    "user": "grace",
    "priority": 90,
    "state": "RUNNING",
    "reason": "",
    "message": "",
    "gpus": 3,
    "gpus_held": 2,
    "running": 2,
    "standby": 1,
    "gangs": 3,
    "submitted": NOW - 27 * 60 * MINUTE,
    "started": NOW - 27 * 60 * MINUTE + 2000,
    "position": None,
}
FAILED = TRAIN | {
    "id": "a-name-that-is-much-longer-than-anybody-would-like-to-type-12",
    "name": "a-name-that-is-much-longer-than-anybody-would-like-to-type",
    "state": "FAILED",
    "reason": "",
    "message": "rank 3 exited with code 3 after the loss became NaN in step 1200",
    "gpus": 0.5,
    "pods": 1,
    "failed": 1,
    "started": NOW - 11 * MINUTE,
    "ended": NOW - 2 * MINUTE,
    "exit_code": 3,
    "position": None,
}
RESERVED = TRAIN | {
    "id": "urgent-21",
    "name": "urgent",
    "reason": "draining",
    "message": "reserved: starts when llama-sft-7 and bert-2 have stopped",
    "gpus": 8,
    "priority": 90,
    "position": None,
    "waits_for": ["llama-sft-7", "bert-2"],
    "preemptions": 1,
    "lost_gpu_ms": 5_400_000,
}
PAGE = {"items": [TRAIN, SERVICE, RESERVED, FAILED], "next": None}

REASON = {
    "token": "topology",
    "message": TRAIN["message"],
    "evidence": {"needed": 16, "largest_domain": 12, "free": 24},
    "remedy": "change the request",
}
NEVER = {
    "token": "capacity",
    "message": "one pod needs 16 GPUs on one node; the largest node has 8",
    "never": True,
    "evidence": {"needed": 16, "largest_node": 8},
    "remedy": "change the request",
}
EXPLANATION = {
    "gang": "llama-sft-7/0",
    "phase": "pending",
    "reason": REASON,
    "histogram": {"too few free GPUs": 4, "cordoned": 1, "wrong GPU type": 12},
    "ahead": ["bert-2/0", "sweep-5/0"],
    "ahead_count": 2,
    "position": 3,
    "suggestions": [
        {"change": "let it span racks: placement: prefer_rack", "level": "zone"},
        {"change": "ask for 12 GPUs: nodes: 12 instead of 16", "level": "rack"},
        {"change": "raise its priority to 51", "level": "rack", "stops": ["bert-2/0"]},
    ],
    "holders": ["gpt-4/0", "bert-2/0"],
    "holder_count": 3,
    "start": {"p50": NOW + 25 * MINUTE, "p90": NOW + 90 * MINUTE},
    "reserved_ms": NOW + 80 * MINUTE,
    "closed": {"n7": "quarantined, as 3 attempts failed there; ganglion uncordon n7 opens it"},
    "text": "llama-sft-7 waits",
}
COST = {"preemptions": 2, "lost_gpu_ms": 42_500}
WHY = {"workload": "llama-sft-7", "explanations": [EXPLANATION | COST]}
SWEEP_WHY = {
    "workload": "sweep-5",
    "gangs": 6,
    "explanations": [
        {"gang": "sweep-5/0", "phase": "running"},
        *(
            EXPLANATION
            | {"gang": f"sweep-5/{n}", "histogram": {}, "ahead": [], "ahead_count": 0}
            | {"suggestions": [], "position": n}
            for n in (1, 2, 3, 5)
        ),
    ],
}

PLACEMENT = {
    "pods": [
        {"pod_set": "main", "index": 0, "node": "node-0", "devices": list(range(8)), "milli": 1000},
        {"pod_set": "main", "index": 1, "node": "node-1", "devices": [0, 2, 3], "milli": 1000},
    ],
    "level": "rack",
    "domain": "rack=r1",
}
_RESIZED = [
    {"name": "pods of main", "before": "3", "after": "2"},
    {"name": "GPUs", "before": "24", "after": "16"},
]
_CHANGED = [
    {"name": "priority", "before": "50", "after": "70"},
    {"name": "time_limit_ms", "before": "", "after": "7200000"},
]
_CHECKPOINT = {"step": 1200, "path": "/ck/1200.pt"}
LIFE = [
    {"at": NOW - 9 * MINUTE, "kind": "resized", "attempt": 1, "changes": _RESIZED}
    | {"why": "preempted for high-2/0"},
    {"at": NOW - 3 * MINUTE, "kind": "checkpoint", "attempt": 1} | _CHECKPOINT,
    {"at": NOW - 2 * MINUTE, "kind": "changed", "attempt": 1, "changes": _CHANGED},
    {"at": NOW - MINUTE, "kind": "resumed", "attempt": 2, "saved_by": 1} | _CHECKPOINT,
]
DETAIL = TRAIN | {
    "gangs": [
        {
            "id": "llama-sft-7/0",
            "index": 0,
            "ranks": 8,
            "phase": "running",
            "attempt": 2,
            "placement": PLACEMENT,
            "reason": None,
            "outcome": "preempted",
            "saved": {"at": NOW - MINUTE, "step": 1200, "path": "/ck/1200.pt", "attempt": 1},
            "exit_code": None,
            "submitted": TRAIN["submitted"],
            "started": NOW - MINUTE,
            "ended": None,
            "life": LIFE,
            "life_left_out": 3,
        }
    ],
    "document": {
        "name": "llama-sft",
        "run": "torchrun train.py",
        "nodes": 2,
        "procs_per_node": 4,
        "resources": {"gpus": "H100:8"},
    },
    "state": "RUNNING",
    "reason": "",
    "message": "",
    "position": None,
    "started": NOW - MINUTE,
}
RESERVED_DETAIL = RESERVED | {
    "gangs": [
        {
            "id": "urgent-21/0",
            "index": 0,
            "phase": "reserved",
            "attempt": 1,
            "outcome": "preempted",
            "placement": {"pods": [{"pod_set": "main", "index": 0, "node": "node-9"}]},
            "promise": PLACEMENT,
            "waits_for": RESERVED["waits_for"],
            "reason": {"token": "draining", "message": RESERVED["message"]},
        }
    ],
    "document": {"name": "urgent"},
}
ORDER = {
    "items": [
        {
            "position": 1,
            "workload": "bert-2",
            "gang": "bert-2/0",
            "queue": "research",
            "user": "ada",
            "kind": "train",
            "priority": 70,
            "gpus": 8,
            "reason": "capacity",
            "message": "needs 8 GPUs on one node; most on one node is 6; 24 are free in all",
            "submitted": NOW - 3 * MINUTE,
        },
        {
            "position": 2,
            "workload": "giant-9",
            "gang": "giant-9/0",
            "queue": "products",
            "user": "grace",
            "kind": "train",
            "priority": 50,
            "gpus": 16,
            "reason": "capacity",
            "message": NEVER["message"],
            "never": True,
            "submitted": NOW - 90_000,
        },
    ]
}
STARTS = {
    "items": [
        {
            "gang": "bert-2/0",
            "at": NOW,
            "start": {"p50": NOW + 5 * MINUTE, "p90": NOW + 90 * MINUTE},
        }
    ]
}
NODES = {
    "items": [
        {
            "name": "node-0",
            "flavor": "H100",
            "state": "ready",
            "domains": {"zone": "z1", "rack": "r1"},
            "gpu_total_milli": 8000,
            "gpu_free_milli": 7500,
            "cpu_total_milli": 64_000,
            "cpu_free_milli": 60_000,
            "memory_total_mib": 1_048_576,
            "memory_free_mib": 1_000_000,
            "pods": 1,
        },
        {
            "name": "node-1",
            "flavor": "H100",
            "state": "cordoned",
            "reason": "fan broken",
            "gpu_total_milli": 8000,
            "cpu_total_milli": 64_000,
            "memory_total_mib": 524_288,
            "pods": 3,
        },
    ]
}
GPUS = {
    "items": [
        {
            "flavor": "H100",
            "nodes": 2,
            "open_nodes": 1,
            "gpu_total_milli": 16_000,
            "gpu_used_milli": 8_500,
            "gpu_free_milli": 7_500,
            "largest_hole": 7,
            "whole_nodes": 0,
        }
    ]
}
BOUND = {"rule": "limit", "flavor": "*", "resource": "gpu_milli", "used": 0, "binds": False}
QUEUES = {
    "items": [
        {"name": "acme", "gpu_used_milli": 8500, "running": 3, "waiting": 2},
        {
            "name": "research",
            "parent": "acme",
            "quota": {"H100": {"gpu_milli": 8000}, "*": {"cpu_milli": 64_000}},
            "limit": {"*": {"gpu_milli": 12_000}},
            "over_quota_weight": 2,
            "gpu_used_milli": 8500,
            "deserved_gpu_milli": 8000,
            "reclaimable_gpu_milli": 500,
            "bounds": [
                BOUND | {"queue": "research", "most": 12_000, "used": 8500},
                BOUND | {"queue": "research", "rule": "quota", "flavor": "H100", "most": 8000},
                BOUND | {"queue": "acme", "most": 10_000, "used": 8500, "binds": True},
            ],
            "past": {
                "half_life_ms": 604_800_000,
                "gpu_milli": 6200,
                "deserved_without_gpu_milli": 9000,
                "used_permille": 755,
                "weight_permille": 500,
                "place": 2,
                "place_without": 1,
                "beside": 2,
            },
            "running": 3,
            "waiting": 2,
            "document": {
                "name": "research",
                "parent": "acme",
                "quota": {"H100": 8, "*": {"cpus": 64}},
                "limit": {"*": 12},
                "weight": 2,
                "preemption": {"preempt": "never"},
            },
        },
    ]
}
RECLAIMS = {
    "since": 1_799_395_200_000,
    "until": 1_800_000_000_000,
    "items": [
        {
            "taker": "speech",
            "giver": "research",
            "cause": "reclaimed",
            "why": "the giver used more than it is entitled to",
            "count": 3,
            "gpu_milli": 12_000,
            "unknown": 1,
            "last_at": 1_799_990_000_000,
            "last": [
                {
                    "at": 1_799_990_000_000,
                    "workload": "llama-sft-7",
                    "for_workload": "asr-9",
                    "gpu_milli": 4000,
                }
            ],
        },
        {
            "taker": "research",
            "giver": "",
            "cause": "shared",
            "why": "the share of the giver was larger than that of the taker",
            "count": 1,
            "gpu_milli": 2000,
            "last_at": 1_799_900_000_000,
            "last": [{"at": 1_799_900_000_000, "for_workload": "llama-sft-7", "gpu_milli": 2000}],
        },
    ],
}
USED_BY_DAY = {
    "since": 1_799_395_200_000,
    "until": 1_800_000_000_000,
    "metered_since": 1_799_395_200_000,
    "items": [
        {"day": "2027-01-14", "held_gpu_us": 345_600_000_000},
        {"day": "2027-01-13", "held_gpu_us": 691_200_000_000},
    ],
    "total": {"held_gpu_us": 1_036_800_000_000},
}
EVENTS = (
    "id: 1\ndata: "
    '{"type":"node_added","at":1799999900000,"node":{"name":"node-0","cpu_milli":1,'
    '"memory_mib":1,"devices":[{"type":"H100"},{"type":"H100"}]}}\n\n'
    "id: 2\ndata: "
    '{"type":"gang_submitted","at":1799999940000,"gang":{"id":"llama-sft-7/0",'
    '"workload":"llama-sft-7","queue":"research","priority":70}}\n\n'
    "id: 3\ndata: "
    '{"type":"gang_placed","at":1799999941000,"gang":"llama-sft-7/0","attempt":1,"placement":'
    '{"pods":[{"pod_set":"main","index":0,"node":"node-0"},'
    '{"pod_set":"main","index":1,"node":"node-1"}]}}\n\n'
    ": keep-alive\n\n"
    "id: 4\ndata: "
    '{"type":"gang_started","at":1799999942000,"gang":"llama-sft-7/0","attempt":1}\n\n'
    "id: 5\ndata: "
    '{"type":"gang_ended","at":1799999990000,"gang":"llama-sft-7/0","attempt":1,'
    '"outcome":"node_lost","requeue":true,"message":"node-1 is gone",'
    '"lost_gpu_ms":5400000}\n\n'
    "id: 6\ndata: "
    '{"type":"node_cordoned","at":1799999991000,"name":"node-1","reason":"fan broken"}\n\n'
    "id: 7\ndata: "
    '{"type":"gang_stopping","at":1799999942000,"gang":"llama-sft-7/0","attempt":1,'
    '"cause":"preempted for urgent-21/0"}\n\n'
    "id: 8\ndata: "
    '{"type":"gang_reserved","at":1799999942000,"gang":"urgent-21/0","placement":'
    '{"pods":[{"pod_set":"main","index":0,"node":"node-0"}]}}\n\n'
    "id: 9\ndata: "
    '{"type":"gang_resized","at":1799999942000,"gang":"bert-2/0","attempt":3,"placement":'
    '{"pods":[{"pod_set":"main","index":0,"node":"node-1"}]},"cause":"preempted for urgent-21/0"}'
    "\n\n"
    "id: 10\ndata: "
    '{"type":"pods_left","at":1799999943000,"gang":"bert-2/0","attempt":3}\n\n'
    "id: 11\ndata: "
    '{"type":"checkpoint_committed","at":1799999944000,"gang":"llama-sft-7/0","attempt":1,'
    '"step":1200,"path":"/ck/1200.pt"}\n\n'
    "id: 12\ndata: "
    '{"type":"gang_reserved","at":1799999945000,"gang":"urgent-21/0","placement":null}\n\n'
    "id: 13\ndata: "
    '{"type":"booking_set","at":1799999946000,"booking":{"name":"repair","nodes":["node-0","node-1"],'
    '"begin":1800000000000,"end":1800007200000}}\n\n'
    "id: 14\ndata: "
    '{"type":"booking_removed","at":1799999947000,"name":"repair"}\n\n'
    "id: 15\ndata: "
    '{"type":"policy_set","at":1799999948000,"policy":{},"version":3}\n\n'
    "id: 16\ndata: "
    '{"type":"gang_updated","at":1799999949000,"gang":"bert-2/0","expected_ms":5400000}\n\n'
)
