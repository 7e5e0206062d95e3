/** The form of a booking. */
import { useState } from "react";
import { change, changed, get, part } from "../../api/client";
import type { BookingView } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Field, Fields } from "../../ui/fields";
import { word } from "../../ui/text";
import { remember } from "../../ui/undo";

export interface BookingForm {
  name: string;
  nodes: string;
  within: string;
  begin: string;
  length: string;
  queues: string;
  users: string;
  reason: string;
}

export const EMPTY: BookingForm = { name: "", nodes: "", within: "", begin: "", length: "4h", queues: "", users: "", reason: "" };

const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** The time of a field, which has no zone, as an instant. */
export function instant(local: string): string {
  const at = Date.parse(local);
  return Number.isNaN(at) ? "" : new Date(at).toISOString();
}

export function bodyOf(form: BookingForm): Record<string, unknown> {
  const found: Record<string, unknown> = { begin: instant(form.begin), length: form.length };
  if (list(form.nodes).length) found["nodes"] = list(form.nodes);
  if (list(form.within).length) found["within"] = list(form.within);
  if (list(form.queues).length) found["queues"] = list(form.queues);
  if (list(form.users).length) found["users"] = list(form.users);
  if (form.reason.trim()) found["reason"] = form.reason.trim();
  return found;
}

export function lineOf(form: BookingForm): string {
  const parts = ["ganglion booking add", word(form.name || "NAME")];
  for (const each of list(form.nodes)) parts.push(`--node ${word(each)}`);
  for (const each of list(form.within)) parts.push(`--in ${word(each)}`);
  parts.push(`--from ${instant(form.begin) || "TIME"}`, `--for ${word(form.length || "TIME")}`);
  for (const each of list(form.queues)) parts.push(`--queue ${word(each)}`);
  for (const each of list(form.users)) parts.push(`--user ${word(each)}`);
  if (form.reason.trim()) parts.push(`--reason ${word(form.reason.trim())}`);
  return parts.join(" ");
}

export const READS = ["bookings", "nodes", "timeline"];
export const pathOf = (name: string) => `/bookings/${part(name)}`;

/** A booking that there is, as it can be made again. */
export function madeOf(row: BookingView): Record<string, unknown> {
  const { nodes, queues, users, reason, clears } = row;
  const times = { begin: new Date(row.begin).toISOString(), end: new Date(row.end).toISOString() };
  return { nodes, ...times, queues, users, reason, clears };
}

/** How a booking is now; empty = it is gone. */
export async function presentOf(name: string): Promise<string> {
  const row = (await get("/bookings", {}, { text: name, limit: 1000 })).items.find((each) => each.name === name);
  if (!row) return "";
  const when = `${new Date(row.begin).toISOString()} to ${new Date(row.end).toISOString()}`;
  return [row.nodes.join(" "), when, ...row.queues, ...row.users, row.reason].filter(Boolean).join(", ");
}

export function NewBooking() {
  const [form, setForm] = useState(EMPTY);
  const field = (key: keyof BookingForm) => ({
    value: form[key],
    set: (value: string) => setForm((was) => ({ ...was, [key]: value })),
  });
  const whole = Boolean(form.name.trim() && instant(form.begin) && (form.nodes.trim() || form.within.trim()));
  return (
    <Confirm
      label="Book nodes"
      title="Book nodes"
      line={lineOf(form)}
      incomplete={!whole}
      act={async () => {
        const name = form.name.trim();
        const { etag } = await changed("PUT", pathOf(name), bodyOf(form), { fresh: true });
        remember({
          said: `Booking ${name} was made.`,
          undo: () => change("DELETE", pathOf(name), undefined, { etag }),
          present: () => presentOf(name),
          reads: READS,
        });
        setForm(EMPTY);
      }}
    >
      <p>For no queue and no user it is maintenance: nothing runs there meanwhile.</p>
      <Fields>
        <Field name="name" label="Name" {...field("name")} placeholder="cooling" />
        <Field name="nodes" label="Nodes" {...field("nodes")} placeholder="node-1 node-2" />
        <Field name="within" label="or domain" {...field("within")} placeholder="rack=r1" />
        <Field name="begin" label="From" type="datetime-local" {...field("begin")} />
        <Field name="length" label="For" {...field("length")} placeholder="4h" />
        <Field name="queues" label="Queues" {...field("queues")} />
        <Field name="users" label="Users" {...field("users")} />
        <Field name="reason" label="Why" {...field("reason")} />
      </Fields>
    </Confirm>
  );
}
