/** Sessions of browsers that count. */
import { useQuery } from "@tanstack/react-query";
import { change, part } from "../../api/client";
import { sessions } from "../../api/reads";
import type { BrowserSession } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Listing } from "../../ui/listing";
import { Badge, Empty, Name, Time } from "../../ui/parts";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import type { TabProps } from "./admin";

const iso = (at: number) => new Date(at).toISOString();

const COLUMNS: readonly Column<BrowserSession>[] = [
  { key: "id", title: "Session", width: "8.5rem", wide: true, value: (row) => row.id, cell: (row) => <code>{harmless(row.id, 24)}</code> },
  {
    key: "user",
    title: "User",
    width: "minmax(10rem, 1.5fr)",
    value: (row) => row.user,
    cell: (row) => (
      <>
        <Name text={row.user} most={40} /> {row.own && <Badge text="this browser" tone="good" />}
      </>
    ),
  },
  { key: "groups", title: "Groups", width: "minmax(6rem, 1.5fr)", roomy: true, value: (row) => row.groups.join(" "), cell: (row) => harmless(row.groups.join(", ") || "–", 120) },
  { key: "at", title: "Began", width: "7rem", wide: true, value: (row) => iso(row.at), cell: (row) => <Time at={row.at} /> },
  { key: "used", title: "Used", width: "7rem", value: (row) => iso(row.used), cell: (row) => <Time at={row.used} /> },
  { key: "until", title: "Ends", width: "7rem", wide: true, value: (row) => iso(row.until), cell: (row) => <Time at={row.until} /> },
  {
    key: "end",
    title: "",
    width: "5.5rem",
    value: () => null,
    cell: (row) => (
      <Confirm
        small
        danger
        label="End"
        title={`End the session of ${harmless(row.user, 60)}?`}
        line={`ganglion session end ${word(row.id)}`}
        act={() => change("DELETE", `/sessions/${part(row.id)}`)}
      >
        <p>It has to sign in again. {row.own && "It is the one of this browser: you are signed out."}</p>
      </Confirm>
    ),
  },
];

export default function Sessions({ search, set }: TabProps) {
  const found = useQuery(sessions);
  return (
    <Listing
      nested
      title="Sessions"
      lead="Browsers that are signed in: your own, and those of others where you may see them."
      file="sessions"
      rows={found.data?.items}
      error={found.error}
      columns={COLUMNS}
      id={(row) => row.id}
      words={(row) => [row.id, row.user, ...row.groups]}
      search={search}
      set={set}
      line="ganglion session list"
      empty={
        <Empty title="No browser is signed in">
          <p>Sessions begin with a sign-in or with a link of `ganglion portal`.</p>
        </Empty>
      }
    />
  );
}
