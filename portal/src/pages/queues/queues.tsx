/** The tree of queues: what each is guaranteed, uses, borrows and may never pass. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, useMemo } from "react";
import { Button } from "react-aria-components";
import { change } from "../../api/client";
import { queues } from "../../api/reads";
import type { Amount, QueueView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { gpus } from "../../ui/numbers";
import { Command, Failure, Loading, Meter, Name } from "../../ui/parts";
import { PlainTable, type PlainColumn } from "../../ui/plain_table";
import { harmless, word } from "../../ui/text";
import { standing } from "../overview/overview";
import { tightest } from "./bounds";
import { lineage, mayBelow, mayChange } from "./may";
import { Reclaims } from "./reclaims";
import { Bounds, Past } from "./standing";
import { branches, type Branch } from "./tree";
import { Try } from "./try";
import { rememberQueue, type Saved } from "./undo";

const QueueEditor = lazy(() => import("./edit"));

const route = getRouteApi("/queues");

function total(amounts: Record<string, Amount>): number | null {
  const known = Object.values(amounts).flatMap((each) => (each.gpu_milli === null ? [] : [each.gpu_milli]));
  return known.length ? known.reduce((sum, each) => sum + each, 0) : null;
}

export function QueuesPage() {
  const { queue: chosen, edit } = route.useSearch();
  const go = route.useNavigate();
  const { me } = useVisitor();
  const found = useQuery(queues);
  const rows = useMemo(() => branches(found.data?.items ?? []), [found.data]);
  if (found.error && !found.data) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="the queues" />;
  const { items } = found.data;
  const picked = items.find((each) => each.name === chosen);
  const show = (queue?: string) => void go({ search: queue ? { queue } : {}, replace: true });
  if (edit === "new" || (edit && picked))
    return (
      <Suspense fallback={<Loading what="the rules" />}>
        <QueueEditor
          key={`${edit} ${chosen ?? ""}`}
          items={items}
          present={edit === "rules" && picked ? picked : null}
          parent={edit === "new" && picked ? picked.name : ""}
          leave={() => show(chosen)}
          done={(found) => {
            rememberQueue(found);
            show(found.name);
          }}
        />
      </Suspense>
    );
  return (
    <>
      <h1>Queues</h1>
      <p className="lead">Work is charged to the leaves. The mark in a bar is the quota. A queue deserves its quota and its part of what is free beyond quotas, at most what it asks for; use beyond both is at risk: others may reclaim it.</p>
      {mayBelow(me, []) && (
        <p>
          <Link className="button" to="/queues" search={{ edit: "new" }}>
            Add a queue
          </Link>
        </p>
      )}
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
          <Command line="ganglion queues -o wide" />
          {!picked && <Reclaims />}
        </div>
        {picked && (
          <QueuePanel
            queue={picked}
            items={items}
            close={() => show()}
            gone={(removed) => {
              rememberQueue(removed);
              show();
            }}
          />
        )}
      </div>
    </>
  );
}

const milli = (value: number | null) => (value === null ? null : value / 1000);
const most = (value: number | null) => (value === null ? "none" : gpus(value));
// What a parent without a quota of its own holds is the work of its leaves.
const borrowed = (queue: QueueView) => !queue.leaf && total(queue.quota) === null ? 0 : Math.max(0, queue.gpu_used_milli - (total(queue.quota) ?? 0));

const QUEUES: readonly PlainColumn<Branch>[] = [
  {
    key: "queue",
    title: "Queue",
    value: ({ queue }) => queue.name,
    cell: ({ queue, depth }) => (
      <span className="branch" style={{ paddingInlineStart: `${depth * 1.25}rem` }}>
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
    key: "deserved",
    title: "Deserved",
    align: "end",
    wide: true,
    value: ({ queue }) => queue.deserved_gpu_milli / 1000,
    cell: ({ queue }) => gpus(queue.deserved_gpu_milli),
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
    key: "risk",
    title: "At risk",
    align: "end",
    wide: true,
    value: ({ queue }) => queue.reclaimable_gpu_milli / 1000,
    cell: ({ queue }) => (queue.reclaimable_gpu_milli ? gpus(queue.reclaimable_gpu_milli) : "–"),
  },
  {
    key: "limit",
    title: "Limit",
    align: "end",
    wide: true,
    value: ({ queue }) => milli(tightest(queue)?.most ?? null),
    cell: ({ queue }) => <Limit queue={queue} />,
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

/** The limit that leaves it the least, and of which queue above it that is. */
function Limit({ queue }: { queue: QueueView }) {
  const bound = tightest(queue);
  if (!bound) return <>none</>;
  return (
    <>
      {gpus(bound.most)}
      {bound.flavor !== "*" && ` ${harmless(bound.flavor, 20)}`}
      {bound.queue !== queue.name && (
        <span className="quiet">
          {" "}
          of <Name text={bound.queue} most={30} />
        </span>
      )}
    </>
  );
}

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

/** What may be done with a queue, by those who may. */
function Acts({ queue, items, gone }: { queue: QueueView; items: readonly QueueView[]; gone(saved: Saved): void }) {
  const { me } = useVisitor();
  const queries = useQueryClient();
  const changes = mayChange(me, items, queue.name);
  const adds = mayBelow(me, lineage(items, queue.name));
  if (!changes && !adds) return null;
  const remove = async () => {
    await change("DELETE", `/queues/${encodeURIComponent(queue.name)}`, undefined, { etag: queue.etag });
    gone({ name: queue.name, said: "was removed", document: queue.document, etag: "" });
    await queries.invalidateQueries({ queryKey: ["queues"] });
  };
  return (
    <div className="buttons">
      {changes && (
        <Link className="button" to="/queues" search={{ queue: queue.name, edit: "rules" }}>
          Change
        </Link>
      )}
      {adds && (
        <Link className="button" to="/queues" search={{ queue: queue.name, edit: "new" }}>
          Add one below
        </Link>
      )}
      {changes && (
        <Confirm
          danger
          label="Remove"
          title={`Remove the queue ${harmless(queue.name, 60)}?`}
          line={`ganglion queues delete ${word(queue.name)}`}
          act={remove}
        >
          <p>A queue goes only while no work and no queue is in it. What ended in it stays in the history.</p>
          <Try name={queue.name} rules={null} />
        </Confirm>
      )}
    </div>
  );
}

function QueuePanel(props: { queue: QueueView; items: readonly QueueView[]; close(): void; gone(saved: Saved): void }) {
  const { queue, close } = props;
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
      <Acts {...props} />
      {flavors.length > 0 && (
        <PlainTable
          label="GPUs by flavor"
          caption="GPUs by flavor"
          columns={FLAVORS}
          rows={flavors.map((flavor) => ({ flavor, queue }))}
          id={(row) => row.flavor}
        />
      )}
      <Bounds queue={queue} />
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
          <dt>waiting at most</dt>
          <dd>{queue.max_pending || "any number"}</dd>
        </div>
      </dl>
      <Past queue={queue} />
      <Reclaims queue={queue.name} />
      {queue.leaf && (
        <Command line={`ganglion queue -q ${word(queue.name)}`} label="What waits in it, on the command line" />
      )}
    </aside>
  );
}
