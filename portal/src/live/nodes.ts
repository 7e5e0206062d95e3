/** Which nodes an event is about, so that of thousands only these are read again. */
import type { NodeView } from "../api/schema";
import type { LedgerEvent } from "./stream";
import { gangOf } from "./topics";

/** Events that change nothing of what nodes show. */
const APART =
  /^(gang_submitted|gang_updated|gang_started|gang_stopping|checkpoint_committed|metric_reported|idle_warned|start_planned|start_expected|place_kept|service_scaled|service_learnt|gang_set_apart)$/;

interface Placed {
  pods?: readonly { node?: unknown }[];
}

/** Events of schedulers of clusters, beside those, that change nothing of what nodes show. */
const SAID = /^(wait_|reasons_changed|queue|policy|images_reported|gpus_sampled|object_|gang_seen)/;

/** Names of nodes; null = it may be any. */
export function nodesOf(event: LedgerEvent, known: readonly NodeView[]): readonly string[] | null {
  const kind = event.type;
  if (kind === "cluster_event") return ofCluster(String(event["cluster"]), event["event"] as LedgerEvent);
  if (APART.test(kind)) return [];
  if (kind === "node_cordoned") return named(event["name"]);
  if (kind === "device_health") return named(event["node"]);
  if (kind === "alarm_set") return known.some((each) => each.name === event["subject"]) ? named(event["subject"]) : [];
  if (!/^(gang_placed|gang_resized|gang_reserved|gang_ended|pods_left)$/.test(kind)) return null;
  const pods = (event["placement"] as Placed | undefined)?.pods ?? [];
  const placed = pods.flatMap((each) => (typeof each.node === "string" ? [each.node] : []));
  if (kind === "gang_placed" || kind === "gang_reserved") return placed.length ? placed : null;
  const gang = gangOf(event);
  const held = known.filter((node) => node.devices.some((each) => each.gangs.includes(gang))).map((each) => each.name);
  // What holds no GPU is on no device: any node may be its own.
  return held.length ? [...new Set([...placed, ...held])] : null;
}

/** What a scheduler of a cluster delivered; gangs are known there by other names than here. */
function ofCluster(cluster: string, event: LedgerEvent): readonly string[] | null {
  if (SAID.test(event.type)) return [];
  const found = /^(node_added|gang_resized|gang_ended|pods_left)$/.test(event.type) ? null : nodesOf(event, []);
  return found && found.map((each) => `${cluster}:${each}`);
}

function named(name: unknown): readonly string[] | null {
  return typeof name === "string" && name ? [name] : null;
}
