/** Empty a node or the domain it lies in, with what that disturbs before it is done. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { change, part, serverNow } from "../../api/client";
import { nodes } from "../../api/reads";
import type { DrainView, NodeView } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Field, Fields, Select } from "../../ui/fields";
import { plural } from "../../ui/numbers";
import { Failure, Loading, Name, Time } from "../../ui/parts";
import { harmless, word } from "../../ui/text";
import { drain } from "./undo";

const HOUR = 3_600_000;
const WITHIN: readonly (readonly [string, string])[] = [
  ["0", "now"],
  ["1", "1 hour"],
  ["4", "4 hours"],
  ["24", "1 day"],
  ["168", "1 week"],
];
const SHOWN = 50;

export function drainLine(what: string, hours: string, reason: string): string {
  const by = hours === "0" ? "now" : `+${hours}h`;
  return `ganglion drain ${word(what)} --by ${by} --reason ${word(reason)}`;
}

export function Drain({ node }: { node: NodeView }) {
  const [what, setWhat] = useState(node.name);
  const [hours, setHours] = useState("1");
  const [reason, setReason] = useState("maintenance");
  const by = useMemo(() => Math.round(serverNow() + Number(hours) * HOUR), [hours]);
  const { data: every } = useQuery(nodes);
  const [level, domain] = what.split("=");
  const meant = every?.items.filter((each) => each.name === what || (domain !== undefined && each.domains[level ?? ""] === domain));
  const back = Boolean(meant?.length) && meant!.every((each) => each.state === "ready");
  const whole: readonly (readonly [string, string])[] = [
    [node.name, node.name],
    ...Object.entries(node.domains).map(([level, name]) => [`${level}=${name}`, `all of ${level} ${name}`] as const),
  ];
  return (
    <Confirm
      danger
      label="Drain"
      title={`Empty ${harmless(what, 60)}?`}
      line={drainLine(what, hours, reason)}
      incomplete={!reason.trim()}
      act={() => drain(what, by, reason, back)}
    >
      <p>
        Nothing new starts there. What runs leaves after a checkpoint, as soon as there is another place; what
        is still there in the end is stopped and waits again.
      </p>
      <Fields>
        <Select label="What" value={what} set={setWhat} options={whole} />
        <Select label="Empty within" value={hours} set={setHours} options={WITHIN} />
        <Field name="reason" label="Why" value={reason} set={setReason} />
      </Fields>
      <p>
        {back
          ? "An undo opens its nodes again; what has left by then does not come back by it."
          : "Some of its nodes are closed or drain already: this cannot be undone, since to undrain opens them."}
      </p>
      <Preview what={what} by={by} />
    </Confirm>
  );
}

function Preview({ what, by }: { what: string; by: number }) {
  const found = useQuery({
    queryKey: ["nodes", "drain-preview", what, by],
    queryFn: ({ signal }) =>
      change<DrainView>("PUT", `/drains/${part(what)}`, { by, reason: "preview" }, { query: { dry_run: true }, signal }),
  });
  if (found.error) return <Failure error={found.error} />;
  if (!found.data) return <Loading what="what it disturbs" />;
  const { leavers, nodes } = found.data;
  return (
    <section aria-label="What it disturbs">
      <h3>
        {leavers.length
          ? `${plural(leavers.length, "gang")} on ${plural(nodes.length, "node")} would have to leave`
          : `Nothing runs on ${plural(nodes.length, "node")}: nothing is disturbed`}
      </h3>
      <ul className="lines preview">
        {leavers.slice(0, SHOWN).map((each) => (
          <li key={each.gang}>
            <Name text={each.gang} most={60} /> {harmless(each.how, 200)}
            {each.at > serverNow() && (
              <>
                ; at the earliest <Time at={each.at} />
              </>
            )}
          </li>
        ))}
        {leavers.length > SHOWN && <li>and {plural(leavers.length - SHOWN, "further gang")}</li>}
      </ul>
    </section>
  );
}
