/** The tree of queues: what each is guaranteed, uses, borrows and may never pass. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { Button } from "react-aria-components";
import { queues } from "../../api/reads";
import type { Amount, QueueView } from "../../api/schema";
import { gpus, plural } from "../../ui/numbers";
import { Command, Failure, Loading, Meter, Name } from "../../ui/parts";
import { csv, download, harmless, word } from "../../ui/text";
import { standing } from "../overview/overview";

const route = getRouteApi("/queues");

export interface Branch {
  queue: QueueView;
  depth: number;
}

/** Queues in the order of the tree, parents first; one whose parent is not seen is a root. */
export function branches(items: readonly QueueView[]): Branch[] {
  const known = new Set(items.map((each) => each.name));
  const below = new Map<string, QueueView[]>();
  for (const each of items) {
    const parent = known.has(each.parent) ? each.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), each]);
  }
  const found: Branch[] = [];
  const walk = (parent: string, depth: number) => {
    for (const each of below.get(parent) ?? []) {
      found.push({ queue: each, depth });
      walk(each.name, depth + 1);
    }
  };
  walk("", 0);
  return found;
}

function total(amounts: Record<string, Amount>): number | null {
  const known = Object.values(amounts).flatMap((each) => (each.gpu_milli === null ? [] : [each.gpu_milli]));
  return known.length ? known.reduce((sum, each) => sum + each, 0) : null;
}

export function QueuesPage() {
  const { queue: chosen } = route.useSearch();
  const go = route.useNavigate();
  const found = useQuery(queues);
  const rows = useMemo(() => branches(found.data?.items ?? []), [found.data]);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the queues" />;
  const picked = found.data.items.find((each) => each.name === chosen);
  const save = () =>
    download(
      "queues.csv",
      csv([
        ["queue", "parent", "quota_gpus", "used_gpus", "limit_gpus", "running", "waiting"],
        ...rows.map(({ queue }) => [
          queue.name,
          queue.parent,
          milli(total(queue.quota)),
          queue.gpu_used_milli / 1000,
          milli(total(queue.limit)),
          queue.running,
          queue.waiting,
        ]),
      ]),
    );
  return (
    <>
      <h1>Queues</h1>
      <p className="lead">Work is charged to the leaves. The mark in a bar is the quota.</p>
      <div className={picked ? "split" : ""}>
        <div>
          <div className="scroll-x" tabIndex={0} role="region" aria-label="Queues">
            <table className="plain-table">
              <thead>
                <tr>
                  <th scope="col">Queue</th>
                  <th scope="col">GPUs in use</th>
                  <th scope="col" className="end">
                    Quota
                  </th>
                  <th scope="col" className="end wide">
                    Borrowed
                  </th>
                  <th scope="col" className="end wide">
                    Limit
                  </th>
                  <th scope="col" className="end">
                    Run
                  </th>
                  <th scope="col" className="end">
                    Wait
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map(({ queue, depth }) => (
                  <QueueRow key={queue.name} queue={queue} depth={depth} chosen={queue.name === chosen} />
                ))}
              </tbody>
            </table>
          </div>
          <p className="table-foot quiet">
            <span>{plural(rows.length, "queue")}</span>
            <Button className="small plain" onPress={save}>
              Download CSV
            </Button>
          </p>
        </div>
        {picked && <QueuePanel queue={picked} close={() => void go({ search: {}, replace: true })} />}
      </div>
      <Command line="ganglion queues" />
    </>
  );
}

function milli(value: number | null): number | null {
  return value === null ? null : value / 1000;
}

function QueueRow({ queue, depth, chosen }: { queue: QueueView; depth: number; chosen: boolean }) {
  const quota = total(queue.quota);
  const limit = total(queue.limit);
  const used = queue.gpu_used_milli;
  const borrowed = Math.max(0, used - (quota ?? 0));
  return (
    <tr className={chosen ? "chosen" : ""}>
      <th scope="row">
        <span style={{ paddingInlineStart: `${depth * 1.25}rem` }}>
          <Link to="/queues" search={{ queue: queue.name }} replace>
            <Name text={queue.name} most={48} />
          </Link>
        </span>
      </th>
      <td>
        <span className="use">
          {gpus(used)}
          <Meter
            label={`${gpus(used)} in use${quota === null ? "" : `, quota ${gpus(quota)}`}`}
            used={used}
            of={limit ?? Math.max(used, quota ?? 0)}
            {...(quota === null ? {} : { mark: quota })}
          />
        </span>
      </td>
      <td className="end">{quota === null ? "none" : gpus(quota)}</td>
      <td className="end wide">{borrowed ? gpus(borrowed) : "–"}</td>
      <td className="end wide">{limit === null ? "none" : gpus(limit)}</td>
      <td className="end">{queue.running}</td>
      <td className="end">
        {queue.waiting && queue.leaf ? (
          <Link to="/queue" search={{ queue: queue.name }}>
            {queue.waiting}
          </Link>
        ) : (
          queue.waiting
        )}
      </td>
    </tr>
  );
}

function QueuePanel({ queue, close }: { queue: QueueView; close(): void }) {
  const flavors = [...new Set([...Object.keys(queue.quota), ...Object.keys(queue.limit), ...Object.keys(queue.used)])]
    .filter((each) => each !== "*")
    .sort();
  const amount = (each: Amount | undefined) =>
    each?.gpu_milli === null || each?.gpu_milli === undefined ? "–" : gpus(each.gpu_milli);
  return (
    <aside className="side" aria-label="Queue">
      <div className="side-head">
        <h2>
          <Name text={queue.name} most={60} />
        </h2>
        <Button className="small plain" onPress={close}>
          Close
        </Button>
      </div>
      <p>It {standing(queue)}.</p>
      {flavors.length > 0 && (
        <table className="plain-table">
          <caption>GPUs by flavor</caption>
          <thead>
            <tr>
              <th scope="col">Flavor</th>
              <th scope="col" className="end">
                Used
              </th>
              <th scope="col" className="end">
                Quota
              </th>
              <th scope="col" className="end">
                Limit
              </th>
              <th scope="col" className="end">
                Lends
              </th>
            </tr>
          </thead>
          <tbody>
            {flavors.map((each) => (
              <tr key={each}>
                <th scope="row">{harmless(each, 40)}</th>
                <td className="end">{amount(queue.used[each])}</td>
                <td className="end">{amount(queue.quota[each])}</td>
                <td className="end">{amount(queue.limit[each])}</td>
                <td className="end">{amount(queue.lend_limit[each])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <dl className="evidence">
        <div>
          <dt>weight beyond quota</dt>
          <dd>{queue.over_quota_weight}</dd>
        </div>
        <div>
          <dt>priority</dt>
          <dd>{queue.priority}</dd>
        </div>
        <div>
          <dt>most that wait</dt>
          <dd>{queue.max_pending || "no bound"}</dd>
        </div>
      </dl>
      {queue.leaf && (
        <Command line={`ganglion queue -q ${word(queue.name)}`} label="What waits in it, on the command line" />
      )}
    </aside>
  );
}
