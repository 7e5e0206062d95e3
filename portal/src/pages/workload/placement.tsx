/** Where it runs, drawn into the topology. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { nodes } from "../../api/reads";
import type { GangView, NodeView, Placement, WorkloadDetail } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { may } from "../../ui/may";
import { Empty, Name } from "../../ui/parts";
import { plural } from "../../ui/numbers";
import { harmless } from "../../ui/text";
import { nameThere } from "../fleet/draw";
import { clusterOf } from "./gang_choice";

const MOST = 64;

export function PlacementPanel({ job }: { job: WorkloadDetail }) {
  const { me } = useVisitor();
  const cluster = clusterOf(job)?.cluster ?? "";
  const fleet = useQuery({ ...nodes, enabled: may(me, "view") });
  // A place in a cluster has the names that nodes have there.
  const here = fleet.data?.items.filter((each) => each.cluster === cluster) ?? [];
  const known = new Map(here.map((each) => [nameThere(each), each]));
  const placed = job.gangs.filter((each) => each.placement ?? each.promise);
  if (!placed.length)
    return (
      <Empty title="No place yet">
        <p>The tab Why says what it waits for.</p>
      </Empty>
    );
  return (
    <>
      <p className="legend">
        <i className="used" /> its GPUs <i className="other" /> GPUs that are not its own
      </p>
      {placed.slice(0, MOST).map((each) => (
        <GangPlace key={each.id} gang={each} known={known} />
      ))}
      {placed.length > MOST && <p className="quiet">{plural(placed.length - MOST, "further gang")}.</p>}
    </>
  );
}

/** Where the domains of a node are, from the widest level. */
function lies(node: NodeView | undefined): string {
  return Object.entries(node?.domains ?? {})
    .filter(([level]) => level !== "node" && level !== "fleet")
    .map(([level, name]) => `${level} ${name}`)
    .join(" / ");
}

/** A domain in words, from the narrowest level: `rack r1 of block b0`. */
export function within(level: string, domain: string): string {
  if (!domain.includes("=")) return `${level || "the fleet"} ${domain}`.trim();
  return domain.split("/").reverse().map((each) => each.replace("=", " ")).join(" of ");
}

function GangPlace({ gang, known }: { gang: GangView; known: ReadonlyMap<string, NodeView> }) {
  const place = (gang.placement ?? gang.promise) as Placement;
  const groups = new Map<string, Map<string, typeof place.pods>>();
  for (const pod of place.pods) {
    const domain = lies(known.get(pod.node)) || "fleet";
    const inside = groups.get(domain) ?? new Map<string, typeof place.pods>();
    inside.set(pod.node, [...(inside.get(pod.node) ?? []), pod]);
    groups.set(domain, inside);
  }
  return (
    <section>
      <h3>
        Gang {gang.index}: {plural(place.pods.length, "pod")} within <Name text={within(place.level, place.domain)} most={120} />
        {gang.promise && !gang.placement ? " (promised: others still leave it)" : ""}
      </h3>
      <div className="racks">
        {[...groups].map(([domain, inside]) => (
          <div key={domain} className="rack">
            <h4>{harmless(domain, 100)}</h4>
            {[...inside].map(([name, pods]) => (
              <NodeBox key={name} name={name} node={known.get(name)} pods={pods} />
            ))}
          </div>
        ))}
      </div>
    </section>
  );
}

function NodeBox(props: { name: string; node: NodeView | undefined; pods: Placement["pods"] }) {
  const mine = new Map<number, number>();
  for (const pod of props.pods) for (const device of pod.devices) mine.set(device, pod.index);
  const total = Math.max(props.node?.devices.length ?? 0, ...[...mine.keys()].map((each) => each + 1));
  return (
    <div className="node-box">
      {props.node ? (
        <Link to="/fleet" search={{ node: props.node.name }}>
          <Name text={props.name} most={48} />
        </Link>
      ) : (
        <Name text={props.name} most={48} />
      )}
      <ul className="devices" aria-label={`GPUs of ${harmless(props.name, 60)}`}>
        {Array.from({ length: total }, (_, n) => (
          <li key={n} className={mine.has(n) ? "mine" : ""} title={mine.has(n) ? `pod ${mine.get(n)}` : "not its own"}>
            {n}
            <span className="sr">{mine.has(n) ? ` held by pod ${mine.get(n)}` : " not its own"}</span>
          </li>
        ))}
      </ul>
      {!total && <span className="quiet">{plural(props.pods.length, "pod")} without GPUs</span>}
    </div>
  );
}
