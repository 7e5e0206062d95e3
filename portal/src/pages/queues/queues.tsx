/** The tree of queues: what each is guaranteed, uses, borrows and may never pass. */
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { Button } from "react-aria-components";
import { queues } from "../../api/reads";
import type { Amount, QueueView } from "../../api/schema";
import { gpus } from "../../ui/numbers";
import { Command, Failure, Loading, Meter, Name } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless, word } from "../../ui/text";
import { standing } from "../overview/overview";
import { branches, type Branch } from "./tree";

const route = getRouteApi("/queues");

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
  return (
    <>
      <h1>Queues</h1>
      <p className="lead">Work is charged to the leaves. The mark in a bar is the quota.</p>
      <div className={picked ? "split" : ""}>
        <div>
          <PlainTable
            label="Queues"
            file="queues"
            one="queue"
            columns={QUEUES}
            rows={rows}
            id={(row) => row.queue.name}
            chosen={chosen}
          />
        </div>
        {picked && <QueuePanel queue={picked} close={() => void go({ search: {}, replace: true })} />}
      </div>
      <Command line="ganglion queues" />
    </>
  );
}

const milli = (value: number | null) => (value === null ? null : value / 1000);
const most = (value: number | null) => (value === null ? "none" : gpus(value));
const borrowed = (queue: QueueView) => Math.max(0, queue.gpu_used_milli - (total(queue.quota) ?? 0));

const QUEUES: readonly PlainColumn<Branch>[] = [
  {
    key: "queue",
    title: "Queue",
    value: ({ queue }) => queue.name,
    cell: ({ queue, depth }) => (
      <span style={{ paddingInlineStart: `${depth * 1.25}rem` }}>
        <Link to="/queues" search={{ queue: queue.name }} replace>
          <Name text={queue.name} most={48} />
        </Link>
      </span>
    ),
  },
  {
    key: "used",
    title: "GPUs in use",
    value: ({ queue }) => queue.gpu_used_milli / 1000,
    cell: ({ queue }) => <InUse queue={queue} />,
  },
  {
    key: "quota",
    title: "Quota",
    align: "end",
    value: ({ queue }) => milli(total(queue.quota)),
    cell: ({ queue }) => most(total(queue.quota)),
  },
  {
    key: "borrowed",
    title: "Borrowed",
    align: "end",
    wide: true,
    value: ({ queue }) => borrowed(queue) / 1000,
    cell: ({ queue }) => (borrowed(queue) ? gpus(borrowed(queue)) : "–"),
  },
  {
    key: "limit",
    title: "Limit",
    align: "end",
    wide: true,
    value: ({ queue }) => milli(total(queue.limit)),
    cell: ({ queue }) => most(total(queue.limit)),
  },
  { key: "run", title: "Run", align: "end", value: ({ queue }) => queue.running, cell: ({ queue }) => queue.running },
  {
    key: "wait",
    title: "Wait",
    align: "end",
    value: ({ queue }) => queue.waiting,
    cell: ({ queue }) =>
      queue.waiting && queue.leaf ? (
        <Link to="/queue" search={{ queue: queue.name }}>
          {queue.waiting}
        </Link>
      ) : (
        queue.waiting
      ),
  },
];

function InUse({ queue }: { queue: QueueView }) {
  const quota = total(queue.quota);
  const used = queue.gpu_used_milli;
  return (
    <span className="use">
      {gpus(used)}
      <Meter
        label={`${gpus(used)} in use${quota === null ? "" : `, quota ${gpus(quota)}`}`}
        used={used}
        of={total(queue.limit) ?? Math.max(used, quota ?? 0)}
        {...(quota === null ? {} : { mark: quota })}
      />
    </span>
  );
}

interface FlavorRow {
  flavor: string;
  queue: QueueView;
}

function flavorColumn(key: "used" | "quota" | "limit" | "lend_limit", title: string): PlainColumn<FlavorRow> {
  const value = (row: FlavorRow) => milli(row.queue[key][row.flavor]?.gpu_milli ?? null);
  return { key, title, align: "end", value, cell: (row) => value(row) ?? "–" };
}

const FLAVORS: readonly PlainColumn<FlavorRow>[] = [
  { key: "flavor", title: "Flavor", value: (row) => row.flavor, cell: (row) => harmless(row.flavor, 40) },
  flavorColumn("used", "Used"),
  flavorColumn("quota", "Quota"),
  flavorColumn("limit", "Limit"),
  flavorColumn("lend_limit", "Lends"),
];

function QueuePanel({ queue, close }: { queue: QueueView; close(): void }) {
  const flavors = [...new Set([...Object.keys(queue.quota), ...Object.keys(queue.limit), ...Object.keys(queue.used)])]
    .filter((each) => each !== "*")
    .sort();
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
        <PlainTable
          label="GPUs by flavor"
          caption="GPUs by flavor"
          columns={FLAVORS}
          rows={flavors.map((flavor) => ({ flavor, queue }))}
          id={(row) => row.flavor}
        />
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
