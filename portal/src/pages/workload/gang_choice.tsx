/** Chooses one of several gangs: replicas of a service, trials of a sweep. */
import type { GangView, WorkloadDetail } from "../../api/schema";
import { harmless, word } from "../../ui/text";

/** The gang of an index; where there is none, as of a replica that has left, the first one. */
export function gangOf(job: Pick<WorkloadDetail, "gangs">, index: number | undefined): GangView | undefined {
  return job.gangs.find((each) => each.index === index) ?? job.gangs[0];
}

export interface Elsewhere {
  cluster: string;
  namespace: string;
  name: string;
}

/** A command that asks the cluster of a workload itself. */
export function askThere(verb: string, there: Elsewhere, more = ""): string {
  const said = `ganglion ${verb} ${word(there.name)} --namespace ${word(there.namespace)} --context CONTEXT`;
  return more ? `${said} ${more}` : said;
}

/** The command that prints the log of a rank in its cluster; empty = its pods have names that are not known. */
export function logThere(gang: Pick<GangView, "logs_by">, rank: number, follow: boolean): string {
  const said = gang.logs_by.replaceAll("RANK", String(rank));
  return said && follow ? `${said} --follow` : said;
}

/** The command that lists the pods of its namespace. */
export function podsThere(there: Elsewhere): string {
  return `kubectl --context CONTEXT --namespace ${word(there.namespace)} get pods --output wide`;
}

/** The cluster that a workload ran in; undefined = it is one of the server itself. */
export function clusterOf(job: Pick<WorkloadDetail, "document">): Elsewhere | undefined {
  const { cluster, namespace, name } = job.document as Record<string, unknown>;
  return typeof cluster === "string" ? { cluster, namespace: String(namespace), name: String(name) } : undefined;
}

/** A gang in one line. */
export function saidOf(gang: Pick<GangView, "index" | "phase" | "params">): string {
  const params = Object.entries(gang.params).map(([name, value]) => `${name}=${value}`);
  return harmless([`${gang.index} ${gang.phase}`, ...params].join(" "), 80);
}

export function GangChoice(props: { job: WorkloadDetail; gang: number; choose(gang: number): void }) {
  const { job, gang, choose } = props;
  if (job.gangs.length < 2) return null;
  return (
    <label>
      Gang{" "}
      <select value={gang} onChange={(event) => choose(Number(event.target.value))}>
        {job.gangs.map((each) => (
          <option key={each.index} value={each.index}>
            {saidOf(each)}
          </option>
        ))}
      </select>
    </label>
  );
}
