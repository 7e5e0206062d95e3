/** Work of clusters in usage and events: `east:lab/Job/train/UID`, a gang by its key in the cluster. */

export interface ClusterName {
  cluster: string;
  name: string;
  /** Of the gang in its cluster. */
  key: string;
}

// A gang of a group has no uid in its key: `east:lab/pod-group/train`.
const KEY = /^([^:/]+):([^/]+\/[^/]+\/([^/]+)(?:\/.+)?)$/;

/** Null = it is work of the server itself, or the id of a workload. */
export function clusterName(text: string): ClusterName | null {
  const [, cluster = "", key = "", name = ""] = KEY.exec(text) ?? [];
  return cluster ? { cluster, key, name } : null;
}

/** As people know it: `east:train`. */
export function knownAs(text: string): string {
  const found = clusterName(text);
  return found ? `${found.cluster}:${found.name}` : text;
}
