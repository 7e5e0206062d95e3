/** One action on many workloads that wait, with what it is about before it is done. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "react-aria-components";
import { change } from "../../api/client";
import type { BulkAnswer } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Field, Fields } from "../../ui/fields";
import { plural } from "../../ui/numbers";
import { Failure, Loading, Name } from "../../ui/parts";
import { harmless, word } from "../../ui/text";
import { remember } from "../../ui/undo";
import { undoUpdates, type Updated } from "../../ui/undo_updates";

/** Most workloads of one request. */
export const MOST = 10_000;
const SHOWN = 12;

export interface BulkAction {
  title: string;
  path: string;
  danger?: boolean;
  body: Record<string, unknown>;
  /** The command, before the names of the workloads. */
  line: string;
}

export function actionsOf(priority: string, queue: string): Record<string, BulkAction> {
  const update = (title: string, line: string, changes: Record<string, unknown>): BulkAction => ({
    title,
    path: "/workloads:update",
    body: { changes },
    line: `ganglion update ${line}`,
  });
  return {
    Hold: update("Keep them from starting?", "--hold", { held: true }),
    Release: update("Let them start?", "--release", { held: false }),
    Priority: update("Give them another priority?", `--priority ${word(priority || "N")}`, { priority: Number(priority) }),
    Move: update("Move them to another queue?", `--queue ${word(queue || "QUEUE")}`, { queue }),
    Cancel: { title: "Cancel them?", path: "/workloads:cancel", danger: true, body: {}, line: "ganglion cancel" },
  };
}

export function Bulk(props: { shown: readonly string[]; marked: ReadonlySet<string>; mark(ids: Iterable<string>): void }) {
  const { shown, marked, mark } = props;
  const [priority, setPriority] = useState("");
  const [queue, setQueue] = useState("");
  const [said, setSaid] = useState("");
  const [refused, setRefused] = useState<BulkAnswer["problems"]>([]);
  const ids = [...marked].slice(0, MOST);
  const known = actionsOf(priority, queue);
  const act = (action: BulkAction, name: string) => async () => {
    const answer = await change<BulkAnswer>("POST", action.path, { ...action.body, workloads: ids });
    setSaid(`${name}: done with ${plural(answer.done, "workload")}${answer.refused ? `, ${answer.refused} refused` : ""}.`);
    setRefused(answer.problems);
    const changes = action.body["changes"] as Updated | undefined;
    if (changes && answer.before.length) remember(undoUpdates(`${name}: ${plural(answer.done, "workload")}.`, answer.before, changes));
    mark([]);
  };
  const asks: Record<string, React.ReactNode> = {
    Priority: <Field label="Priority" type="number" value={priority} set={setPriority} />,
    Move: <Field label="Queue" value={queue} set={setQueue} />,
  };
  const lacks: Record<string, boolean> = { Priority: !/^\d{1,6}$/.test(priority), Move: !queue.trim() };
  return (
    <div className="bulk" role="group" aria-label="Chosen workloads">
      <span>{ids.length ? `${plural(ids.length, "workload")} chosen` : "None chosen"}</span>
      <Button className="small plain" onPress={() => mark(shown.slice(0, MOST))} isDisabled={!shown.length}>
        Choose all {shown.length.toLocaleString("en")} shown
      </Button>
      {ids.length > 0 && (
        <>
          <Button className="small plain" onPress={() => mark([])}>
            Choose none
          </Button>
          {Object.entries(known).map(([name, action]) => (
            <Confirm
              key={name}
              small
              label={name}
              title={action.title}
              danger={action.danger ?? false}
              line={`${action.line} ${ids.map(word).join(" ")}`}
              incomplete={lacks[name] ?? false}
              act={act(action, name)}
            >
              {asks[name] && <Fields>{asks[name]}</Fields>}
              {name === "Cancel" && <p>This cannot be undone: what waits ends, what runs saves and leaves. Cancelled workloads can be submitted again.</p>}
              {!lacks[name] && <Preview action={action} ids={ids} />}
            </Confirm>
          ))}
        </>
      )}
      {said && (
        <p role="status" className="quiet">
          {said}
        </p>
      )}
      {refused.slice(0, SHOWN).map((each) => (
        <p key={each.workload} className="error">
          <Name text={each.workload} most={60} />: {harmless(each.detail, 300)} {harmless(each.hint, 200)}
        </p>
      ))}
    </div>
  );
}

function Preview({ action, ids }: { action: BulkAction; ids: readonly string[] }) {
  const found = useQuery({
    queryKey: ["preview", action.path, JSON.stringify(action.body), ids],
    queryFn: ({ signal }) =>
      change<BulkAnswer>("POST", action.path, { ...action.body, workloads: ids, dry_run: true }, { signal }),
    staleTime: 0,
  });
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="which they are" />;
  const { matched, workloads, refused } = found.data;
  return (
    <section aria-label="Which they are">
      <h3>
        {plural(matched, "workload")}
        {refused > 0 && `, ${refused} of them refused`}
      </h3>
      <ul className="lines preview">
        {workloads.slice(0, SHOWN).map((each) => (
          <li key={each}>
            <Name text={each} most={60} />
          </li>
        ))}
        {workloads.length > SHOWN && <li>and {plural(workloads.length - SHOWN, "further workload")}</li>}
      </ul>
    </section>
  );
}
