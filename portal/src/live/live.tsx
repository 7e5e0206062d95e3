/** Keeps what is shown up to date, and knows whether it is. */
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { about, get, serverNow } from "../api/client";
import { nodes } from "../api/reads";
import type { NodePage, NodeView } from "../api/schema";
import { nodesOf } from "./nodes";
import { EventStream, type LedgerEvent } from "./stream";
import { SLOW, isOfAny, topicsOf, workloadOf } from "./topics";

export type LiveState = "connecting" | "live" | "gone" | "ended";

export interface Live {
  state: LiveState;
  /** Since when, in ms of the server. */
  since: number;
  /** The server serves another build than this page is of. */
  outdated: boolean;
}

const LiveContext = createContext<Live>({ state: "connecting", since: 0, outdated: false });
export const useLive = () => useContext(LiveContext);

/** Answers are read again at most this often, and less often where they take long. */
const QUIET_MS = 250;
const SHARE = 4;
/** The same for answers that cost more. */
const SLOW_MS = 5_000;

/** Gathers what is out of date, and has it read again. */
export class Refresher {
  private readonly stale = new Map<string, readonly string[]>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private tookMs = 0;

  constructor(
    private readonly queries: QueryClient,
    private readonly quietMs = QUIET_MS,
  ) {}

  note(...key: string[]): void {
    this.stale.set(key.join("\0"), key);
    this.timer ??= setTimeout(() => void this.flush(), Math.max(this.quietMs, SHARE * this.tookMs));
  }

  /** Some nodes are out of date; null = any may be. */
  nodes(names: readonly string[] | null): void {
    if (names === null) this.note("nodes");
    else for (const each of names) this.note("nodes", each);
  }

  everything(): void {
    this.stop();
    void this.queries.invalidateQueries();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stale.clear();
  }

  private async flush(): Promise<void> {
    const keys = [...this.stale.values()];
    this.stale.clear();
    const began = performance.now();
    await Promise.all(few(keys).map((queryKey) => this.again(queryKey)));
    this.tookMs = performance.now() - began;
    this.timer = undefined;
    const [next] = this.stale.values();
    if (next) this.note(...next);
  }

  private async again(queryKey: readonly string[]): Promise<void> {
    const [topic, name] = queryKey;
    const list = this.queries.getQueryCache().find({ queryKey: nodes.queryKey });
    if (topic !== "nodes" || !name || !list?.isActive()) {
      await this.queries.invalidateQueries({ queryKey });
      // A list that is not shown is read again once it is.
      if (topic === "nodes" && name) await this.queries.invalidateQueries({ queryKey: nodes.queryKey, exact: true });
      return;
    }
    try {
      const found = await get("/nodes/{name}", { name });
      this.queries.setQueryData(nodes.queryKey, (page) => page && replaced(page, found.node));
      this.queries.setQueryData(["nodes", name], found);
    } catch {
      await this.queries.invalidateQueries({ queryKey: nodes.queryKey });
    }
  }
}

/** Beyond that many nodes one answer with all of them is less. */
const MOST_NODES = 24;

function few(keys: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const single = (key: readonly string[]) => key[0] === "nodes" && key.length > 1;
  const whole = keys.some((key) => key[0] === "nodes" && key.length === 1);
  if (!whole && keys.filter(single).length <= MOST_NODES) return keys;
  return [["nodes"], ...keys.filter((key) => key[0] !== "nodes")];
}

function replaced(page: NodePage, node: NodeView): NodePage {
  return { ...page, items: page.items.map((each) => (each.name === node.name ? node : each)) };
}

export function LiveProvider(props: {
  /** Whether to read at all: not while no user is signed in. */
  active: boolean;
  build: string;
  ended: () => void;
  children: ReactNode;
}) {
  const { active, build, ended, children } = props;
  const queries = useQueryClient();
  const [live, setLive] = useState<Live>({ state: "connecting", since: 0, outdated: false });

  useEffect(() => {
    if (!active) return;
    const refresher = new Refresher(queries);
    const slow = new Refresher(queries, SLOW_MS);
    const becomes = (state: LiveState) =>
      setLive((was) => (was.state === state ? was : { ...was, state, since: serverNow() }));
    const event = (found: LedgerEvent) => {
      for (const topic of topicsOf(found))
        if (topic === "nodes") refresher.nodes(nodesOf(found, queries.getQueryData(nodes.queryKey)?.items ?? []));
        else (SLOW.has(topic) ? slow : refresher).note(topic);
      const workload = workloadOf(found);
      if (workload) refresher.note("workload", workload);
      if (isOfAny(found)) refresher.note("workload");
    };
    const opened = (gap: boolean) => {
      becomes("live");
      if (gap) refresher.everything();
      about().then(
        (now) => setLive((was) => ({ ...was, outdated: now.build !== build })),
        () => undefined, // the stream says that it is gone
      );
    };
    const refused = () => (becomes("ended"), ended());
    let stream: EventStream | undefined;
    const start = () => {
      stream = new EventStream({ opened, event, broken: () => becomes("gone"), refused });
      void stream.run();
    };
    // A hidden tab reads nothing: browsers have six connections for all tabs of a server.
    const turned = () => {
      if (document.hidden) stream?.stop();
      else if (stream) (stream.stop(), start());
    };
    start();
    document.addEventListener("visibilitychange", turned);
    return () => {
      document.removeEventListener("visibilitychange", turned);
      stream?.stop();
      refresher.stop();
      slow.stop();
    };
  }, [queries, active, build, ended]);

  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>;
}
