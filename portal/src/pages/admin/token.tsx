/** Make a personal token; it is shown once. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Button } from "react-aria-components";
import { change } from "../../api/client";
import type { NewToken as Made, Role } from "../../api/schema";
import { Confirm } from "../../ui/confirm";
import { Field, Fields, Select } from "../../ui/fields";
import { Command } from "../../ui/parts";
import { word } from "../../ui/text";

export const ROLES: readonly Role[] = [
  ...(["viewer", "submitter", "maintainer", "owner"] as const),
  ...(["operator", "auditor", "admin", "reporter"] as const),
];

export function tokenLine(user: string, role: string, queue: string, label: string, days: string): string {
  const parts = ["ganglion token create", word(user || "USER"), role];
  if (queue.trim()) parts.push(`-q ${word(queue.trim())}`);
  if (label.trim()) parts.push(`--label ${word(label.trim())}`);
  if (days !== "90") parts.push(`--days ${word(days)}`);
  return parts.join(" ");
}

/** For one user, or for any where none is named. */
export function NewToken({ user }: { user?: string }) {
  const [whose, setWhose] = useState(user ?? "");
  const [role, setRole] = useState<string>("viewer");
  const [queue, setQueue] = useState("");
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("90");
  const [made, setMade] = useState<Made | null>(null);
  const queries = useQueryClient();
  const good = /^\d{1,3}$/.test(days) && Number(days) >= 1 && Number(days) <= 366;
  const make = async () => {
    const body = { user: whose.trim(), role, queue: queue.trim(), label: label.trim(), days: Number(days), groups: [] };
    setMade(await change<Made>("POST", "/tokens", body));
    void queries.invalidateQueries({ queryKey: ["access"] });
  };
  return (
    <>
      <Confirm
        label="New token"
        title="Make a token"
        line={tokenLine(whose, role, queue, label, days)}
        incomplete={!whose.trim() || !good}
        act={make}
      >
        <Fields>
          {user === undefined && <Field name="user" label="User" value={whose} set={setWhose} />}
          <Select label="Limited to role" value={role} set={setRole} options={ROLES.map((each) => [each, each] as const)} />
          <Field name="queue" label="on queue" value={queue} set={setQueue} placeholder="the whole fleet" />
          <Field name="label" label="What it is for" value={label} set={setLabel} />
          <Field name="days" label="Days" value={days} set={setDays} type="number" wrong={!good} />
        </Fields>
      </Confirm>
      {made && (
        <div className="notice good" role="status">
          <strong>This is shown once. Copy it now.</strong>
          <Command line={`export GANGLION_TOKEN=${made.token}`} label="The token, for a shell" />
          <Button className="small" onPress={() => setMade(null)}>
            I have it
          </Button>
        </div>
      )}
    </>
  );
}
