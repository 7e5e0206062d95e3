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
