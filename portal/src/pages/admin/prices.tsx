/** Prices of GPU-hours: those that hold, those to come, and every one that was ever set. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { change, changed, get, part } from "../../api/client";
import { prices } from "../../api/reads";
import type { PriceView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Field, Fields, Select } from "../../ui/fields";
import { Listing } from "../../ui/listing";
import { may } from "../../ui/may";
import { money } from "../../ui/numbers";
import { Badge, Empty, Name, Time } from "../../ui/parts";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import { useNow } from "../../ui/clock";
import { remember } from "../../ui/undo";
import type { TabProps } from "./admin";
import { standingOf } from "./standing";

const KINDS = ["", "train", "service", "workspace", "sweep", "batch"] as const;

const columns = (currency: string, standing: ReadonlyMap<number, string>): readonly Column<PriceView>[] => [
  {
    key: "flavor",
    title: "Flavor",
    width: "minmax(6rem, 1.5fr)",
    value: (row) => row.flavor,
    cell: (row) => (
      <>
        <Name text={row.flavor} most={40} /> {!row.known && <Badge text="no such node" tone="wait" />}
      </>
    ),
  },
  {
    key: "micro",
    title: "A GPU-hour",
    width: "8rem",
    align: "end",
    value: (row) => (row.micro === null ? null : row.micro / 1_000_000),
    cell: (row) => (row.micro === null ? "no price" : money(row.micro, currency)),
  },
  { key: "state", title: "Now", width: "7rem", value: (row) => standing.get(row.number) ?? "", cell: (row) => <Badge text={standing.get(row.number) ?? ""} tone={TONE[standing.get(row.number) ?? ""] ?? "calm"} /> },
  { key: "kind", title: "For", width: "minmax(6.5rem, 1fr)", wide: true, value: (row) => row.kind || "all others", cell: (row) => harmless(row.kind || "all others", 30) },
  { key: "hours", title: "Hours", width: "8rem", wide: true, value: (row) => row.hours, cell: (row) => harmless(row.hours || "all day", 30) },
  { key: "since", title: "Since", width: "9rem", wide: true, value: (row) => new Date(row.since).toISOString(), cell: (row) => <Time at={row.since} /> },
  { key: "by", title: "Set by", width: "minmax(5rem, 1fr)", wide: true, value: (row) => row.by, cell: (row) => <Name text={row.by || "–"} most={40} /> },
];

const TONE: Record<string, string> = { holds: "good", planned: "wait", past: "calm" };

export default function Prices({ search, set }: TabProps) {
  const { me } = useVisitor();
  const found = useQuery(prices);
  const now = useNow();
  const page = found.data;
  const standing = page ? standingOf(page.items, now) : new Map<number, string>();
  return (
    <Listing
      nested
      title="Prices"
      lead="What a GPU-hour costs, by flavor, kind of work and hours. No price is ever changed: a later one takes its place, one in the past corrects what was charged."
      file="prices"
      rows={page && [...page.items].reverse()}
      error={found.error}
      columns={columns(page?.currency ?? "", standing)}
      id={(row) => String(row.number)}
      words={(row) => [row.flavor, row.kind, row.by]}
      state={(row) => standing.get(row.number) ?? ""}
      search={search}
      set={set}
      line="ganglion price history"
      actions={page?.items.length && may(me, "prices") ? <NewPrice currency={page.currency} /> : null}
      empty={
        <Empty title="No price is set">
          <p>With prices, usage has a cost, and queues can have budgets.</p>
          {may(me, "prices") ? <NewPrice currency="" /> : <p className="quiet">An admin of the whole fleet sets prices.</p>}
        </Empty>
      }
    />
  );
}

export function priceLine(flavor: string, amount: string, kind: string, hours: string, currency: string): string {
  const parts = ["ganglion price set", word(flavor || "FLAVOR"), word(amount || "AMOUNT")];
  if (kind) parts.push(`--kind ${kind}`);
  if (hours.trim()) parts.push(`--hours ${word(hours.trim())}`);
  if (currency) parts.push(`--currency ${word(currency)}`);
  return parts.join(" ");
}

/** Of the same flavor, kind and hours the one that held at a time; null = none did. */
export function heldBefore(items: readonly PriceView[], of: PriceView): number | null {
  let held: PriceView | undefined;
  for (const each of items) {
    const same = each.flavor === of.flavor && each.kind === of.kind && each.hours === of.hours && each.number !== of.number;
    if (same && each.since <= of.since && (!held || each.since >= held.since)) held = each;
  }
  return held?.micro ?? null;
}

/** A price stays in the history; the one before is set again from the same moment on, which corrects what was charged. */
async function rememberPrice(made: PriceView, etag: string): Promise<void> {
  const history = await get("/prices:history");
  const micro = heldBefore(history.items, made);
  const { flavor, kind, hours, since } = made;
  remember({
    said: `The price of ${flavor} was set.`,
    undo: () => change("PUT", `/prices/${part(flavor)}`, { micro, since, kind, hours, zone: history.zone }, { etag }),
    present: async () => {
      const items = (await get("/prices:history")).items;
      const newest = items.findLast((each) => each.flavor === flavor && each.kind === kind && each.hours === hours);
      return newest?.micro ? `${money(newest.micro, history.currency)}, set by ${newest.by || "another"}` : "no price";
    },
    reads: ["prices", "usage", "budgets"],
  });
}

function NewPrice({ currency }: { currency: string }) {
  const [flavor, setFlavor] = useState("");
  const [amount, setAmount] = useState("");
  const [kind, setKind] = useState("");
  const [hours, setHours] = useState("");
  const [first, setFirst] = useState("");
  const good = /^\d{1,9}(\.\d{1,6})?$/.test(amount.trim());
  const wished = currency ? "" : first.trim().toUpperCase();
  return (
    <Confirm
      label="Set a price"
      title="Set the price of a GPU-hour from now on"
      line={priceLine(flavor, amount, kind, hours, wished)}
      incomplete={!flavor.trim() || !good || (!currency && !/^[A-Z]{3}$/.test(wished))}
      act={async () => {
        const made = await changed<PriceView>("PUT", `/prices/${part(flavor.trim())}`, {
          micro: Math.round(Number(amount) * 1_000_000),
          kind,
          hours: hours.trim(),
          currency: wished,
        });
        await rememberPrice(made.found, made.etag);
      }}
    >
      <p>It stays in the history. An undo sets the price before again, from the same moment on, so that nothing is charged by this one.</p>
      <Fields>
        <Field name="flavor" label="Flavor" value={flavor} set={setFlavor} placeholder="H100" />
        <Field label={`Price${currency ? ` in ${currency}` : ""}`} value={amount} set={setAmount} placeholder="2.50" wrong={amount !== "" && !good} />
        {!currency && <Field name="currency" label="Currency" value={first} set={setFirst} placeholder="EUR" hint="of all prices" />}
        <Select label="For" value={kind} set={setKind} options={KINDS.map((each) => [each, each || "all other kinds"] as const)} />
        <Field name="hours" label="Hours" value={hours} set={setHours} placeholder="20:00-08:00" hint="empty = the whole day" />
      </Fields>
    </Confirm>
  );
}
