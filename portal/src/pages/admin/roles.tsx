/** Grants: which role a user or a group has on which queue. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { change, changed, get, serverNow } from "../../api/client";
import { roles } from "../../api/reads";
import type { GrantView, WhoAmI } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Field, Fields, Select } from "../../ui/fields";
import { Listing } from "../../ui/listing";
import { holds, may } from "../../ui/may";
import { Badge, Command, Empty, Name, Time } from "../../ui/parts";
import { Facts, Side } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { remember } from "../../ui/undo";
import type { TabProps } from "./admin";
import { ROLES } from "./token";

const DAY = 86_400_000;
const key = (row: { subject: string; role: string; queue: string }) => `${row.subject} ${row.role} ${row.queue}`;
const where = (row: GrantView) => row.queue || "the whole fleet";

const COLUMNS: readonly Column<GrantView>[] = [
  {
    key: "subject",
    title: "User or group",
    width: "minmax(8rem, 2fr)",
    narrow: "minmax(5rem, 1fr)",
    value: (row) => row.subject,
    cell: (row) => <Name text={row.subject.replace(/^user:/, "")} most={60} />,
  },
  { key: "role", title: "Role", width: "8rem", narrow: "7rem", value: (row) => row.role, cell: (row) => <Badge text={row.role} tone="busy" /> },
  { key: "queue", title: "On", width: "minmax(7rem, 1.5fr)", narrow: "minmax(8.5rem, 1.5fr)", value: where, cell: (row) => <Name text={where(row)} most={60} /> },
  {
    key: "until",
    title: "Until",
    width: "9rem",
    wide: true,
    value: (row) => (row.until ? new Date(row.until).toISOString() : null),
    cell: (row) => (row.until ? <Time at={row.until} /> : "no end"),
  },
  {
    key: "glass",
    title: "Break-glass",
    width: "7rem",
    wide: true,
    value: (row) => glass(row),
    cell: (row) => (glass(row) ? <Badge text={glass(row)} tone={row.broken.length ? "bad" : "wait"} /> : "–"),
  },
  {
    key: "by",
    title: "Granted by",
    width: "minmax(5rem, 1fr)",
    wide: true,
    value: (row) => row.by,
    cell: (row) => <Name text={row.by || "the server"} most={40} />,
  },
];

function glass(row: GrantView): string {
  return row.break_glass ? (row.broken.length ? "broken" : "dormant") : "";
}

export default function Roles({ search, set }: TabProps) {
  const { me } = useVisitor();
  const gives = holds(me, "owner", "admin");
  const found = useQuery(roles);
  const chosen = found.data?.items.find((each) => key(each) === search.at);
  return (
    <Listing
      nested
      title="Roles"
      lead="A role holds on a queue with all queues under it. Groups are those that a provider or this machine names at the sign-in."
      file="roles"
      rows={found.data?.items}
      error={found.error}
      columns={COLUMNS}
      id={(row) => key(row)}
      words={(row) => [row.subject, row.role, where(row)]}
      state={(row) => row.role}
      search={search}
      set={set}
      line="ganglion role list"
      actions={gives && <NewGrant />}
      empty={
        <Empty title="No role is granted">
          <p>Grant one to a user or a group: `viewer` sees, `submitter` has work done.</p>
        </Empty>
      }
      panel={chosen && <GrantPanel row={chosen} close={() => set({ at: undefined })} />}
    />
  );
}

export function grantLine(subject: string, role: string, queue: string, days: string, dormant: boolean): string {
  const parts = ["ganglion role grant", word(subject || "USER"), role];
  if (queue.trim()) parts.push(`-q ${word(queue.trim())}`);
  if (days) parts.push(`--for ${days}d`);
  if (dormant) parts.push("--break-glass");
  return parts.join(" ");
}

/** The queue on which a user grants, where it does so on one alone; empty = the whole fleet, or several. */
export function ownQueue(me: WhoAmI): string {
  const grants = me.grants.filter((each) => !each.break_glass && (each.role === "owner" || each.role === "admin"));
  const queues = [...new Set(grants.map((each) => each.queue))];
  return me.owner || queues.length !== 1 ? "" : (queues[0] ?? "");
}

/** A grant as it can be given again. */
export function againOf({ subject, role, queue, until, break_glass }: GrantView): Record<string, unknown> {
  return { subject, role, queue, until, break_glass };
}

async function presentOf(of: GrantView): Promise<string> {
  const row = (await get("/roles")).items.find((each) => key(each) === key(of));
  if (!row) return "";
  return `granted by ${row.by}, ${row.until ? `until ${new Date(row.until).toISOString()}` : "without an end"}${row.break_glass ? ", for emergencies" : ""}`;
}

function rememberGrant(made: GrantView, etag: string, former: GrantView | undefined): void {
  const { subject, role, queue } = made;
  const undo = former
    ? () => change("POST", "/roles:grant", againOf(former), { etag })
    : () => change("POST", "/roles:revoke", { subject, role, queue }, { etag });
  remember({ said: `${subject} has ${role} on ${where(made)}.`, undo, present: () => presentOf(made), reads: ["access"] });
}

function NewGrant() {
  const [subject, setSubject] = useState("");
  const [role, setRole] = useState<string>("viewer");
  const { me } = useVisitor();
  const [queue, setQueue] = useState(ownQueue(me));
  const [days, setDays] = useState("");
  const [dormant, setDormant] = useState(false);
  const name = subject.trim();
  const known = useQuery(roles);
  const grant = async () => {
    const which = { subject: name.includes(":") ? name : `user:${name}`, role, queue: queue.trim() };
    const until = days ? Math.round(serverNow() + Number(days) * DAY) : null;
    const former = known.data?.items.find((each) => key(each) === key(which));
    const made = await changed<GrantView>("POST", "/roles:grant", { ...which, until, break_glass: dormant });
    rememberGrant(made.found, made.etag, former);
  };
  return (
    <Confirm
      label="Grant a role"
      title="Grant a role"
      line={grantLine(name, role, queue, days, dormant)}
      incomplete={!name || !/^\d{0,4}$/.test(days)}
      act={grant}
    >
      <Fields>
        <Field name="subject" label="User, or group:NAME" value={subject} set={setSubject} />
        <Select label="Role" value={role} set={setRole} options={ROLES.map((each) => [each, each] as const)} />
        <Field name="queue" label="On queue" value={queue} set={setQueue} placeholder="the whole fleet" />
        <Field name="until" label="For days" type="number" value={days} set={setDays} placeholder="until revoked" />
      </Fields>
      {may(me, "tokens") && (
        <label className="check">
          <input type="checkbox" checked={dormant} onChange={(event) => setDormant(event.target.checked)} />
          For emergencies: it counts only once its holder breaks the glass
        </label>
      )}
    </Confirm>
  );
}

function GrantPanel({ row, close }: { row: GrantView; close(): void }) {
  const { me } = useVisitor();
  const undoable = !row.broken.length;
  const body = { subject: row.subject, role: row.role, queue: row.queue };
  const line = `ganglion role revoke ${word(row.subject)} ${row.role}${row.queue ? ` -q ${word(row.queue)}` : ""}`;
  return (
    <Side label="Grant" title={<Name text={row.subject} most={60} />} close={close}>
      <Facts
        rows={[
          ["role", <Badge key="role" text={row.role} tone="busy" />],
          ["on", <Name key="on" text={where(row)} most={80} />],
          ["granted", row.at ? <Time key="at" at={row.at} exact /> : null],
          ["by", <Name key="by" text={row.by || "the server; it cannot be revoked"} most={80} />],
          ["until", row.until ? <Time key="until" at={row.until} exact /> : "it is revoked"],
        ]}
      />
      {row.broken.map((each) => (
        <p key={each.user} className="notice warn">
          <Name text={each.user} most={60} /> broke the glass <Time at={each.since} />, until <Time at={each.until} exact />:{" "}
          {harmless(each.reason, 300)}
        </p>
      ))}
      {row.by && holds(me, "owner", "admin") && (
        <div className="buttons">
          <Confirm
            danger
            label="Revoke"
            title={`Take ${row.role} from ${harmless(row.subject, 60)}?`}
            line={line}
            act={async () => {
              await change("POST", "/roles:revoke", body);
              if (undoable)
                remember({
                  said: `${row.role} was taken from ${row.subject}.`,
                  undo: () => change("POST", "/roles:grant", againOf(row), { fresh: true }),
                  present: () => presentOf(row),
                  reads: ["access"],
                });
              close();
            }}
          >
            {!undoable && <p>The glass of it is broken: that cannot be undone, it is mended by this.</p>}
            {row.subject === `user:${me.user}` && <p className="notice warn">It is your own: you may not be able to grant it again.</p>}
          </Confirm>
        </div>
      )}
      <Command
        line={`ganglion whocan submit workload${row.queue ? ` -q ${word(row.queue)}` : ""}`}
        label="Who may submit there, on the command line"
      />
    </Side>
  );
}
