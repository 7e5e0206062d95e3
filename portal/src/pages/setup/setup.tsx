/** What a new home needs: who uses it, what it has, first queues, a first job. Each step may be left out. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactNode } from "react";
import { Button } from "react-aria-components";
import { change } from "../../api/client";
import { nodes, ownFlavors, queues } from "../../api/reads";
import { useVisitor } from "../../entrance";
import { gpus as gpusOf, plural } from "../../ui/numbers";
import { Command, Failure, Name } from "../../ui/parts";
import { harmless } from "../../ui/text";
import { TEMPLATES } from "../submit/templates";
import { lineOf, namesIn, partsOf } from "./teams";

const WHO = [
  { id: "me", title: "Only me" },
  { id: "host", title: "People with an account on this machine" },
  { id: "platform", title: "People on other machines" },
] as const;
type Who = (typeof WHO)[number]["id"];

export default function FirstSteps({ end }: { end(): void }) {
  const { about } = useVisitor();
  const [who, setWho] = useState<Who>(about.sign_in === "pages" ? "platform" : "me");
  return (
    <section className="first-steps" aria-labelledby="first-steps">
      <div className="side-head">
        <h2 id="first-steps">First steps</h2>
        <Button className="small plain" onPress={end}>
          Skip all
        </Button>
      </div>
      <p className="quiet">Nothing was submitted here yet. Take what you need of these; they are gone once a workload was submitted.</p>
      <ol>
        <Step title="Who uses it?">
          <div className="radios" role="radiogroup" aria-label="Who uses it?">
            {WHO.map((each) => (
              <label key={each.id} className="check">
                <input type="radio" name="who" checked={who === each.id} onChange={() => setWho(each.id)} />
                {each.title}
              </label>
            ))}
          </div>
          <Reach who={who} />
        </Step>
        <Step title="What it has">
          <Found />
        </Step>
        {who !== "me" && (
          <Step title="A queue for each team">
            <Teams />
          </Step>
        )}
        <Step title="A first job">
          <FirstJob end={end} />
        </Step>
      </ol>
    </section>
  );
}

function Step({ title, children }: { title: string; children: ReactNode }) {
  return (
    <li>
      <h3>{title}</h3>
      {children}
    </li>
  );
}

/** What has to be so for them to reach the server; modes differ by how it is started. */
function Reach({ who }: { who: Who }) {
  const { about } = useVisitor();
  if (who === "me") return <p>Nothing to do: programs run as you, and no other account reaches this server.</p>;
  const people = (
    <p>
      Then <Link to="/admin" search={{ tab: "roles" }}>grant each a role</Link>, on the whole fleet or on a queue.
    </p>
  );
  if (who === "host")
    return (
      <>
        <p>
          For programs of each to run as their own account, the file <code>accounts.yaml</code> of the server says who has
          which, and root starts a helper. Without it only you and admins run programs.
        </p>
        <Command line="ganglion helper" label="Start the helper, as root" />
        {people}
      </>
    );
  if (about.sign_in === "pages")
    return (
      <>
        <p>
          They sign in here. Those who have no provider get a name and a password under{" "}
          <Link to="/admin" search={{ tab: "users" }}>
            Users
          </Link>
          .
        </p>
        {people}
      </>
    );
  return (
    <>
      <p>
        Now only this machine reaches the server. A file <code>login.yaml</code> in its home says how they sign in: by a
        provider, or with names and passwords (<code>local_users: true</code>). Then it is started with an address and TLS;
        programs that run go on, and it prints a link for the first admin.
      </p>
      <Command line="ganglion down && ganglion up --host ADDRESS --tls self" label="Start it for other machines" />
      {people}
    </>
  );
}

function Found() {
  const listed = useQuery(nodes);
  const kinds = useQuery(ownFlavors);
  if (listed.error) return <Failure error={listed.error} />;
  if (!listed.data || !kinds.data) return <p className="quiet">Looking …</p>;
  const gpus = kinds.data.items.filter((each) => each.gpu_total_milli);
  const count = listed.data.items.filter((each) => !each.cluster).length;
  return (
    <>
      <p>
        <Link to="/nodes">{plural(count, "node")}</Link>
        {gpus.length > 0 && " with "}
        {gpus.map((each, n) => (
          <span key={each.flavor}>
            {n > 0 && ", "}
            {gpusOf(each.gpu_total_milli)} <Name text={each.flavor} most={40} /> {each.gpu_total_milli === 1000 ? "GPU" : "GPUs"}
          </span>
        ))}
        .{!gpus.length && " No GPU was found: work runs on CPUs. What was looked for:"}
      </p>
      {!gpus.length && <Command line="ganglion doctor" label="Say what was looked for" />}
    </>
  );
}

function Teams() {
  const listed = useQuery(queues);
  const kinds = useQuery(ownFlavors);
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const [equal, setEqual] = useState(true);
  const [failed, setFailed] = useState<readonly (readonly [string, Error])[]>([]);
  const [busy, setBusy] = useState(false);
  const names = namesIn(text);
  const quota = equal ? partsOf(kinds.data?.items ?? [], listed.data?.items ?? [], names.length) : {};
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const refused: [string, Error][] = [];
    for (const name of names)
      await change("PUT", `/queues/${encodeURIComponent(name)}`, { quota }, { fresh: true }).catch((error: Error) => {
        refused.push([name, error]);
      });
    setFailed(refused);
    setText(refused.map(([name]) => name).join(" "));
    await queries.invalidateQueries({ queryKey: ["queues"] });
    setBusy(false);
  };
  const there = listed.data?.items.filter((each) => each.name !== "default") ?? [];
  return (
    <form className="fields" onSubmit={(event) => void add(event)}>
      {there.length > 0 && (
        <p role="status">
          There {there.length === 1 ? "is" : "are"}{" "}
          {there.slice(0, 20).map((each, n) => (
            <span key={each.name}>
              {n > 0 && ", "}
              <Link to="/queues" search={{ queue: each.name }}>
                <Name text={each.name} most={40} />
              </Link>
            </span>
          ))}
          {there.length > 20 && ` and ${there.length - 20} more`}.
        </p>
      )}
      <label>
        Names of teams
        <input
          value={text}
          placeholder="vision nlp"
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          aria-invalid={failed.length > 0}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label className="check">
        <input type="checkbox" checked={equal} onChange={(event) => setEqual(event.target.checked)} />
        Guarantee each an equal part of the GPUs that none has yet; what one leaves idle, others borrow
      </label>
      {failed.map(([name, error]) => (
        <div key={name}>
          <p>
            <Name text={name} most={60} /> was not made:
          </p>
          <Failure error={error} />
        </div>
      ))}
      <div className="buttons">
        <Button type="submit" isDisabled={busy || !names.length}>
          {names.length > 1 ? `Add ${names.length} queues` : "Add a queue"}
        </Button>
      </div>
      <Command line={names.length ? names.slice(0, 20).map((each) => lineOf(harmless(each, 100), quota)).join(" && ") : lineOf("NAME", quota)} />
    </form>
  );
}

/** Kinds of work that this fleet can start: without GPUs, those that need none. */
function FirstJob({ end }: { end(): void }) {
  const kinds = useQuery(ownFlavors);
  const gpus = kinds.data?.items.some((each) => each.gpu_total_milli) ?? true;
  const fitting = TEMPLATES.filter((each) => gpus || !/gpus:/.test(each.text));
  return (
    <>
      <p>Begin with a template; before it is submitted you see where it would start.</p>
      <div className="buttons" role="group" aria-label="Templates">
        {fitting.map((each) => (
          <Link key={each.id} to="/submit" search={{ template: each.id }} className="button small" onClick={end}>
            {each.title}
          </Link>
        ))}
      </div>
    </>
  );
}
