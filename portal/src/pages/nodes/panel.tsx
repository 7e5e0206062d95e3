/** One node: its health, why it is closed, who is on it; close, drain and open it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { serverNow } from "../../api/client";
import { node as readNode } from "../../api/reads";
import type { NodeDetail, Occupant } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Field, Fields } from "../../ui/fields";
import { may } from "../../ui/may";
import { gpus, memory, plural, ranges } from "../../ui/numbers";
import { Badge, Command, Failure, Loading, Name, Time } from "../../ui/parts";
import { Facts, Side } from "../../ui/side";
import { harmless, word } from "../../ui/text";
import { Drain } from "./drain";
import { stateOf } from "./state";
import { cordon, uncordon, undrain } from "./undo";

export function NodePanel({ name, close }: { name: string; close(): void }) {
  const found = useQuery(readNode(name));
  return (
    <Side label="Node" title={<Name text={name} most={60} />} close={close}>
      {found.error && <Failure error={found.error} />}
      {!found.data && !found.error && <Loading what="the node" />}
      {found.data && <About about={found.data} />}
      <Command line={`ganglion describe node ${word(name)}`} />
    </Side>
  );
}

function About({ about }: { about: NodeDetail }) {
  const { me } = useVisitor();
  const { node } = about;
  const state = stateOf(node);
  const sick = node.devices.filter((each) => !each.healthy);
  return (
    <>
      <p>
        <Badge text={state} /> {state !== "quarantined" && harmless(node.reason, 600)}
      </p>
      {state === "quarantined" && (
        <section className="notice bad" aria-label="Quarantine">
          <strong>The server closed it.</strong>
          <p>{harmless(node.reason, 1000)}</p>
          <p>
            <Link to="/timeline" search={{ node: node.name }}>
              What ran on it
            </Link>
            {may(me, "audit") && (
              <>
                {", "}
                <Link to="/audit" search={{ node: node.name, since: "all" }}>
                  the events that led to it
                </Link>
              </>
            )}
          </p>
          <p>Uncordon it once it is repaired: that vouches for it, and its failures count no more.</p>
        </section>
      )}
      {sick.length > 0 && (
        <section aria-label="Sick GPUs">
          <h3>{plural(sick.length, "sick GPU")}</h3>
          <ul className="lines">
            {sick.map((each) => (
              <li key={each.index}>
                GPU {each.index}, {harmless(each.type, 40)}
                {each.uuid && <span className="quiet"> {harmless(each.uuid, 60)}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Facts
        rows={[
          ["new work", state === "ready" ? null : "none starts here, so nothing counts as free"],
          ["GPUs free", `${gpus(node.gpu_free_milli)} of ${gpus(node.gpu_total_milli)} ${harmless(node.flavor, 40)}`],
          ["cores free", `${gpus(node.cpu_free_milli)} of ${gpus(node.cpu_total_milli)}`],
          ["memory free", `${memory(node.memory_free_mib)} of ${memory(node.memory_total_mib)}`],
          ["to be empty", node.deadline ? <Time at={node.deadline} exact /> : null],
          ["lies in", named(node.domains)],
          ["labels", named(node.labels)],
        ]}
      />
      <h3>On it</h3>
      <Occupants items={about.occupants} nothing="Nothing." />
      {about.awaiting.length > 0 && (
        <>
          <h3>Starts there once others have left</h3>
          <Occupants items={about.awaiting} nothing="" />
        </>
      )}
      {about.bookings.length > 0 && (
        <>
          <h3>Booked</h3>
          <ul className="lines">
            {about.bookings.map((each) => (
              <li key={each.name}>
                <Link to="/bookings" search={{ at: each.name }}>
                  <Name text={each.name} most={60} />
                </Link>{" "}
                from <Time at={each.begin} exact />
              </li>
            ))}
          </ul>
        </>
      )}
      {state !== "quarantined" && may(me, "audit") && (
        <p>
          <Link to="/audit" search={{ node: node.name, since: "7d" }}>
            Its events in the audit trail
          </Link>
        </p>
      )}
      <Actions about={about} />
    </>
  );
}

function named(found: Record<string, string>): string {
  return Object.entries(found)
    .map(([key, value]) => `${harmless(key, 60)}=${harmless(value, 60)}`)
    .join(", ");
}

function Actions({ about }: { about: NodeDetail }) {
  const { me } = useVisitor();
  const [reason, setReason] = useState("from the portal");
  const { node, opens } = about;
  const name = node.name;
  const drained = opens.startsWith("ganglion undrain ") ? opens.slice("ganglion undrain ".length) : "";
  if (!may(me, "fleet")) return null;
  return (
    <div className="buttons">
      {node.state === "ready" && (
        <Confirm
          label="Cordon"
          title={`Start nothing new on ${harmless(name, 60)}?`}
          line={`ganglion cordon ${word(name)} --reason ${word(reason)}`}
          incomplete={!reason.trim()}
          act={() => cordon(name, reason)}
        >
          <p>What runs there runs on: {plural(about.occupants.length, "gang")}.</p>
          <Fields>
            <Field name="reason" label="Why" value={reason} set={setReason} />
          </Fields>
        </Confirm>
      )}
      {node.state === "cordoned" && (
        <Confirm
          label="Uncordon"
          title={`Let ${harmless(name, 60)} take work again?`}
          line={`ganglion uncordon ${word(name)}`}
          act={() => uncordon(name, stateOf(node) === "quarantined" ? "" : node.reason)}
        >
          {stateOf(node) === "quarantined" && <p>This cannot be undone: you vouch for it, and its failures count no more.</p>}
        </Confirm>
      )}
      {drained ? (
        <Confirm
          label="Undrain"
          title={`Let ${harmless(drained, 60)} take work again?`}
          line={`ganglion undrain ${word(drained)}`}
          act={() => undrain(drained, node.deadline ?? 0, node.reason.replace(/^draining: /, ""))}
        >
          {(node.deadline ?? 0) <= serverNow() && <p>Its deadline has passed: this cannot be undone, drain it anew instead.</p>}
        </Confirm>
      ) : (
        <Drain node={node} />
      )}
    </div>
  );
}

export function Occupants({ items, nothing }: { items: readonly Occupant[]; nothing: string }) {
  if (!items.length) return <p className="quiet">{nothing}</p>;
  return (
    <ul className="lines">
      {items.map((each) => (
        <li key={each.gang}>
          <Link to="/workloads/$ref" params={{ ref: each.gang.replace(/\/\d+$/, "") }}>
            <Name text={each.gang} most={60} />
          </Link>{" "}
          of <Name text={each.user} most={40} />
          {each.devices.length > 0 && `, ${each.devices.length === 1 ? "GPU" : "GPUs"} ${ranges(each.devices)}`}, placed{" "}
          <Time at={each.since} />
        </li>
      ))}
    </ul>
  );
}
