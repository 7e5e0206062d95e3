/** What of a suggestion can be changed in place, and the command that does the same. */
import type { Suggestion, Update } from "../../api/schema";
import { word } from "../../ui/text";

const MINUTE = 60_000;

/** The change of the workload; null = it has to be submitted anew, or others have to end. */
export function changeOf(about: Suggestion): Update | null {
  if (about.pods || about.gpus || about.awaits.length) return null;
  const found: Update = {};
  if (about.priority !== null) found.priority = about.priority;
  if (about.queue) found.queue = about.queue;
  if (about.time_limit_ms) found.time_limit = `${Math.floor(about.time_limit_ms / MINUTE)}m`;
  return Object.keys(found).length ? found : null;
}

export function optionsOf(about: Suggestion): string {
  const found = changeOf(about);
  return [
    ...(found?.priority === undefined ? [] : [`--priority ${found.priority}`]),
    ...(found?.queue ? [`--queue ${word(found.queue)}`] : []),
    ...(found?.time_limit ? [`--time-limit ${found.time_limit}`] : []),
  ].join(" ");
}

/** The command that makes the change in a cluster, to the pods that are there; null = it has to be created anew, or others have to end. */
export function changeThere(about: Suggestion, { cluster, namespace }: { cluster: string; namespace: string }, pods: readonly string[]): string | null {
  const found = changeOf(about);
  if (!found || !pods.length) return null;
  const to = `--namespace ${word(namespace)} --overwrite pods ${pods.map(word).join(" ")}`;
  const notes = [
    ...(found.priority == null ? [] : [`ganglion.dev/priority=${found.priority}`]),
    ...(found.time_limit ? [`ganglion.dev/time-limit=${found.time_limit}`] : []),
  ];
  const queue = about.queue.startsWith(`${cluster}:`) ? about.queue.slice(cluster.length + 1) : about.queue;
  return [
    ...(notes.length ? [`kubectl annotate ${to} ${notes.join(" ")}`] : []),
    ...(queue ? [`kubectl label ${to} ganglion.dev/queue=${word(queue)}`] : []),
  ].join(" && ");
}

/** The GPUs of a file with another count, whatever type it names. */
export function withCount(gpus: string, count: number): string {
  const type = /^([^:]+):/.exec(gpus)?.[1];
  return type ? `${type}:${count}` : String(count);
}
