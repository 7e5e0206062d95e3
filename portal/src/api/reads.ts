/** What pages read, each under a key that events make out of date. */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { get, getLong, readiness } from "./client";
import { shared } from "./pieces";
import type { Kind, OrderItem, OrderPage } from "./schema";

/** No event says that a scheduler of a cluster is silent. */
const SILENT_MS = 60_000;

const CHECKED_MS = 10_000;

/** What the server finds of itself is no event. */
export const checks = queryOptions({
  queryKey: ["readiness"],
  queryFn: ({ signal }) => readiness(signal),
  refetchInterval: CHECKED_MS,
});

export const order = queryOptions({
  queryKey: ["order"],
  queryFn: ({ signal }) => getLong("/order", "position", signal),
  refetchInterval: ({ state }) => (state.data?.items.some((each) => each.cluster) ? SILENT_MS : false),
  structuralSharing: (before, now) =>
    shared<OrderItem, OrderPage>(before as OrderPage | undefined, now as OrderPage, (row) => row.gang),
});

export const nodes = queryOptions({
  queryKey: ["nodes"],
  queryFn: ({ signal }) => getLong("/nodes", "name", signal),
  refetchInterval: ({ state }) => (state.data?.items.some((each) => each.cluster) ? SILENT_MS : false),
});

export const flavors = queryOptions({
  queryKey: ["gpus"],
  queryFn: ({ signal }) => get("/gpus", {}, {}, signal),
});

export const clusters = queryOptions({
  queryKey: ["queues", "clusters"],
  queryFn: ({ signal }) => get("/clusters", {}, { queues: true }, signal),
  refetchInterval: ({ state }) => (state.data?.items.length ? SILENT_MS : false),
});

/** Flavors of the nodes of the server itself: those of clusters have the cluster before them. */
export const ownFlavors = queryOptions({
  ...flavors,
  select: (page) => ({ ...page, items: page.items.filter((each) => !each.flavor.includes(":")) }),
});

export const queues = queryOptions({
  queryKey: ["queues"],
  queryFn: ({ signal }) => get("/queues", {}, {}, signal),
});

export const budgets = queryOptions({
  queryKey: ["budgets"],
  queryFn: ({ signal }) => get("/budgets", {}, {}, signal),
});

export const drains = queryOptions({
  queryKey: ["drains"],
  queryFn: ({ signal }) => get("/drains", {}, {}, signal),
});

export const bookings = queryOptions({
  queryKey: ["bookings"],
  queryFn: ({ signal }) => get("/bookings", {}, {}, signal),
});

export const schedules = queryOptions({
  queryKey: ["schedules"],
  queryFn: ({ signal }) => get("/schedules", {}, {}, signal),
});

export const policy = queryOptions({
  queryKey: ["policy"],
  queryFn: ({ signal }) => get("/policy", {}, {}, signal),
});

export const policyVersions = queryOptions({
  queryKey: ["policy", "versions"],
  queryFn: ({ signal }) => get("/policy/versions", {}, {}, signal),
});

export const users = queryOptions({
  queryKey: ["access", "users"],
  queryFn: ({ signal }) => get("/users", {}, {}, signal),
});

export const roles = queryOptions({
  queryKey: ["access", "roles"],
  queryFn: ({ signal }) => get("/roles", {}, {}, signal),
});

export const tokens = queryOptions({
  queryKey: ["access", "tokens"],
  queryFn: ({ signal }) => get("/tokens", {}, {}, signal),
});

export const sessions = queryOptions({
  queryKey: ["access", "sessions"],
  queryFn: ({ signal }) => get("/sessions", {}, {}, signal),
});

export const prices = queryOptions({
  queryKey: ["prices", "history"],
  queryFn: ({ signal }) => get("/prices:history", {}, {}, signal),
});

export const models = queryOptions({
  queryKey: ["workloads", "models"],
  queryFn: ({ signal }) => get("/models", {}, {}, signal),
});

/** Live workloads of one kind, and those that have ended where asked for. */
export const ofKind = (kind: Kind, all = false) =>
  queryOptions({
    queryKey: ["workloads", "kind", kind, String(all)],
    queryFn: ({ signal }) => get("/workloads", {}, { kind, all: all || undefined, limit: 1000 }, signal),
  });

export const budgetRequests = queryOptions({
  queryKey: ["budgets", "requests"],
  queryFn: ({ signal }) => get("/budget-requests", {}, { all: true }, signal),
});

export const ofUser = (user: string) =>
  queryOptions({
    queryKey: ["workloads", user],
    queryFn: ({ signal }) => get("/workloads", {}, { user, all: true, limit: 200 }, signal),
  });

export const workload = (ref: string) =>
  queryOptions({
    queryKey: ["workload", ref],
    queryFn: ({ signal }) => get("/workloads/{ref}", { ref }, {}, signal),
    refetchInterval: ({ state: { data } }) =>
      typeof data?.document["cluster"] === "string" && !data.ended ? SILENT_MS : false,
  });

/** The id of work of a cluster by its key there; empty = the server has none. */
export const idOfKey = (cluster: string, key: string) =>
  queryOptions({
    queryKey: ["workloads", "key", cluster, key],
    queryFn: async ({ signal }) => {
      const listed = await get("/workloads", {}, { key: `${cluster}:${key}` }, signal);
      return listed.items[0]?.id ?? "";
    },
  });

/** Why it waits; what is ahead of it changes with everything that waits. */
export const why = (ref: string) =>
  queryOptions({
    queryKey: ["order", "why", ref],
    queryFn: ({ signal }) => get("/workloads/{ref}/why", { ref }, {}, signal),
  });

/** When gangs are expected to start. The server computes that at most every ten seconds. */
export const starts = (gangs: readonly string[]) =>
  queryOptions({
    queryKey: ["starts", ...gangs],
    queryFn: ({ signal }) => get("/order/starts", {}, { gang: gangs }, signal),
    enabled: gangs.length > 0,
    placeholderData: keepPreviousData,
    staleTime: 10_000,
    refetchInterval: 30_000,
  });

export const node = (name: string) =>
  queryOptions({
    queryKey: ["nodes", name],
    queryFn: ({ signal }) => get("/nodes/{name}", { name }, {}, signal),
  });

export interface UsageAsked {
  by: string;
  since: string;
  until?: string | undefined;
  queue?: string | undefined;
}

/** What was held of a period; what changes it comes all the time, so it is read again seldom. */
export const usage = ({ by, since, until, queue }: UsageAsked) =>
  queryOptions({
    queryKey: ["usage", by, since, until ?? "", queue ?? ""],
    queryFn: ({ signal }) => get("/usage", {}, { by, since, until, queue }, signal),
    refetchInterval: until ? false : 60_000, // what runs counts until now
  });

/** Who reclaimed from whom; events of work make it out of date as they do usage. */
export const reclaims = (since: string, queue?: string) =>
  queryOptions({
    queryKey: ["usage", "reclaims", since, queue ?? ""],
    queryFn: ({ signal }) => get("/reclaims", {}, { since, queue }, signal),
    placeholderData: keepPreviousData,
  });

export interface RecordsAsked {
  actor?: string | undefined;
  kind?: string | undefined;
  queue?: string | undefined;
  workload?: string | undefined;
  node?: string | undefined;
  glass?: boolean | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

/** Records of the audit trail, page by page, the newest first. */
export const auditRecords = (asked: RecordsAsked) =>
  infiniteQueryOptions({
    queryKey: ["audit", "records", asked],
    queryFn: ({ signal, pageParam }) =>
      get("/audit/records", {}, { ...asked, limit: 200, cursor: pageParam || undefined }, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next ?? undefined,
  });

const ANCHORED_MS = 30_000;

/** What is signed and anchored; no event says that. */
export const anchors = queryOptions({
  queryKey: ["audit", "anchors"],
  queryFn: ({ signal }) => get("/audit/anchors", {}, {}, signal),
  refetchInterval: ANCHORED_MS,
});

/** Checks every event; only when somebody asks for it. */
export const verification = queryOptions({
  queryKey: ["verification"],
  queryFn: ({ signal }) => get("/audit/verification", {}, {}, signal),
  enabled: false,
  retry: false,
});

export const timeline = (since: string) =>
  queryOptions({
    queryKey: ["timeline", since],
    queryFn: ({ signal }) => get("/timeline", {}, { since }, signal),
    placeholderData: keepPreviousData,
  });

export const questions = queryOptions({
  queryKey: ["whatif"],
  queryFn: ({ signal }) => get("/whatif", {}, {}, signal),
});

const ANSWERED_MS = 1_000;

/** A question; no event says how far it is, so it is asked for until there is an answer. */
export const question = (id: string) =>
  queryOptions({
    queryKey: ["whatif", id],
    queryFn: ({ signal }) => get("/whatif/{question}", { question: id }, {}, signal),
    refetchInterval: ({ state }) =>
      state.data?.state === "done" || state.data?.state === "failed" ? false : ANSWERED_MS,
  });

export const attempts = (ref: string) =>
  queryOptions({
    queryKey: ["workload", ref, "attempts"],
    queryFn: ({ signal }) => get("/workloads/{ref}/attempts", { ref }, {}, signal),
  });

const CURVES_MS = 10_000;

/** What the attempts of a gang used and reported over their time; the server measures as often. */
export const curves = (ref: string, index: number, live: boolean) =>
  queryOptions({
    queryKey: ["curves", ref, index],
    queryFn: ({ signal }) => get("/workloads/{ref}/curves", { ref }, { index }, signal),
    refetchInterval: live ? CURVES_MS : false,
  });

const MEASURED_MS = 5_000;

/** What gangs use now; the server measures when it is asked. */
export const use = queryOptions({
  queryKey: ["use"],
  queryFn: ({ signal }) => get("/use", {}, {}, signal),
  refetchInterval: MEASURED_MS,
});
