/** Local users, who sign in with a name and a password. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { change, part } from "../../api/client";
import { roles, users } from "../../api/reads";
import type { UserView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Field, Fields } from "../../ui/fields";
import { Listing } from "../../ui/listing";
import { may } from "../../ui/may";
import { Badge, Command, Empty, Name, Time } from "../../ui/parts";
import { Facts, Side } from "../../ui/side";
import type { Column } from "../../ui/table";
import { harmless, word } from "../../ui/text";
import type { TabProps } from "./admin";

const stateOf = (row: UserView) => (row.disabled ? "disabled" : "active");

const COLUMNS: readonly Column<UserView>[] = [
  { key: "user", title: "User", width: "minmax(8rem, 2fr)", value: (row) => row.user, cell: (row) => <Name text={row.user} most={60} /> },
  {
    key: "state",
    title: "State",
    width: "7rem",
    value: stateOf,
    cell: (row) => <Badge text={stateOf(row)} tone={row.disabled ? "bad" : "good"} />,
  },
  { key: "at", title: "Added", width: "9rem", wide: true, value: (row) => new Date(row.at).toISOString(), cell: (row) => <Time at={row.at} /> },
  { key: "by", title: "by", width: "minmax(5rem, 1fr)", wide: true, value: (row) => row.by, cell: (row) => <Name text={row.by} most={40} /> },
  {
    key: "changed",
    title: "Password changed",
    width: "10rem",
    wide: true,
    value: (row) => (row.changed ? new Date(row.changed).toISOString() : null),
    cell: (row) => <Time at={row.changed} />,
  },
];

export default function Users({ search, set }: TabProps) {
  const { me } = useVisitor();
  const found = useQuery(users);
  const chosen = found.data?.items.find((each) => each.user === search.at);
  return (
    <Listing
      nested
      title="Users"
      lead="People who have a password here. Those of a provider or of this machine are not listed; they have roles all the same."
      file="users"
      rows={found.data?.items}
      error={found.error}
      columns={COLUMNS}
      id={(row) => row.user}
      words={(row) => [row.user, row.by]}
      state={stateOf}
      search={search}
      set={set}
      line="ganglion user list"
      actions={found.data?.items.length && may(me, "tokens") ? <NewUser /> : null}
      empty={
        <Empty title="No user has a password here">
          <p>Users are needed only where people sign in without a provider.</p>
          {may(me, "tokens") ? <NewUser /> : <p className="quiet">An admin of the whole fleet adds users.</p>}
        </Empty>
      }
      panel={chosen && <UserPanel row={chosen} close={() => set({ at: undefined })} />}
    />
  );
}

function NewUser() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  return (
    <Confirm
      label="Add a user"
      title="Add a user"
      line={`ganglion user add ${word(name || "NAME")}`}
      incomplete={!/^[A-Za-z0-9._@+-]+$/.test(name) || password.length < 15}
      act={() =>
        change("POST", "/users", { user: name, password }).then(() => {
          setName("");
          setPassword("");
        })
      }
    >
      <Fields>
        <Field name="user" label="Name" value={name} set={setName} hint="letters, digits and . _ @ + -" />
        <Field name="password" label="Password" type="password" value={password} set={setPassword} hint="15 characters or more" />
      </Fields>
      <p className="quiet">A new user has no role: grant one under Roles and groups.</p>
    </Confirm>
  );
}

function UserPanel({ row, close }: { row: UserView; close(): void }) {
  const { me } = useVisitor();
  const granted = useQuery(roles);
  const own = granted.data?.items.filter((each) => each.subject === `user:${row.user}`) ?? [];
  const path = `/users/${part(row.user)}`;
  const [password, setPassword] = useState("");
  const name = word(row.user);
  return (
    <Side label="User" title={<Name text={row.user} most={60} />} close={close}>
      <Facts
        rows={[
          ["state", <Badge key="state" text={stateOf(row)} tone={row.disabled ? "bad" : "good"} />],
          ["added", <Time key="at" at={row.at} exact />],
          ["by", <Name key="by" text={row.by || "the server"} most={60} />],
          ["roles", own.map((each) => `${each.role} on ${each.queue || "the whole fleet"}`).join(", ") || "none"],
        ]}
      />
      {may(me, "tokens") && (<div className="buttons">
        {row.disabled ? (
          <Confirm
            label="Enable"
            title={`Let ${harmless(row.user, 60)} in again?`}
            line={`ganglion user enable ${name}`}
            act={() => change("POST", `${path}/enable`)}
          />
        ) : (
          <Confirm
            danger
            label="Disable"
            title={`Let ${harmless(row.user, 60)} in no more?`}
            line={`ganglion user disable ${name}`}
            act={() => change("POST", `${path}/disable`)}
          >
            <p>Its sessions end, and neither password nor tokens count. Its work goes on. Enable it to let it in again; its sessions stay ended.</p>
            {row.user === me.user && <p className="notice warn">That is you: another admin has to let you in again.</p>}
          </Confirm>
        )}
        <Confirm
          label="Password"
          title={`A new password for ${harmless(row.user, 60)}`}
          line={`ganglion user password ${name}`}
          incomplete={password.length < 15}
          act={() => change("PUT", `${path}/password`, { password, current: "" }).then(() => setPassword(""))}
        >
          <Fields>
            <Field name="password" label="Password" type="password" value={password} set={setPassword} hint="15 characters or more" />
          </Fields>
        </Confirm>
        <Confirm
          danger
          label="Remove"
          title={`Remove ${harmless(row.user, 60)}?`}
          line={`ganglion user remove ${name}`}
          act={() => change("DELETE", path).then(close)}
        >
          <p>Its grants, tokens and sessions go with it. This cannot be undone.</p>
          {row.user === me.user && <p className="notice warn">That is you.</p>}
        </Confirm>
      </div>)}
      <Command line={`ganglion role list`} label="Every grant, on the command line" />
    </Side>
  );
}
