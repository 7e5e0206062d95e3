/** What a user is here, and its own tokens and sessions; theme and time zone. */
import { useQuery } from "@tanstack/react-query";
import { change, part } from "../../api/client";
import { sessions, tokens } from "../../api/reads";
import type { GrantView } from "../../api/schema";
import { useVisitor } from "../../entrance";
import { Confirm } from "../../ui/confirm";
import { Select, Fields } from "../../ui/fields";
import { may } from "../../ui/may";
import { Command, Empty, Failure, Loading, Name, Time, Badge } from "../../ui/parts";
import { useSettings, type Theme } from "../../ui/settings";
import { Facts } from "../../ui/side";
import { harmless, word } from "../../ui/text";
import { NewToken } from "../admin/token";
import { Notices } from "./notices";

export function ProfilePage() {
  const { me, about } = useVisitor();
  return (
    <>
      <h1>Profile</h1>
      <section aria-label="You">
        <Facts
          rows={[
            ["user", <Name key="user" text={me.user} most={80} />],
            ["groups", harmless(me.groups.join(", "), 400)],
            ["limited to", harmless(me.limit, 200)],
            ["session until", me.until ? <Time key="until" at={me.until} exact /> : null],
            ["server", `Ganglion ${about.version}`],
          ]}
        />
        <Grants grants={me.grants} />
        <Command line="ganglion whoami" />
      </section>
      <Looks />
      <Notices />
      <Tokens />
      <Sessions />
    </>
  );
}

function Grants({ grants }: { grants: readonly GrantView[] }) {
  if (!grants.length) return <p>You have no role yet: an admin grants one with `ganglion role grant`.</p>;
  return (
    <ul className="lines" aria-label="Roles">
      {grants.map((each) => (
        <li key={`${each.subject} ${each.role} ${each.queue}`}>
          <Badge text={each.role} tone={each.break_glass && !each.broken.length ? "wait" : "busy"} /> on{" "}
          {each.queue ? <Name text={each.queue} most={60} /> : "the whole fleet"}
          {each.subject.startsWith("group:") && (
            <>
              {" "}
              by <Name text={each.subject} most={60} />
            </>
          )}
          {each.until && (
            <>
              {" "}
              until <Time at={each.until} exact />
            </>
          )}
          {each.break_glass && (each.broken.length ? ", the glass is broken" : ", once you break the glass: ganglion break-glass")}
        </li>
      ))}
    </ul>
  );
}

function Looks() {
  const { theme, zone, setTheme, setZone } = useSettings();
  return (
    <section aria-label="Appearance" className="narrow">
      <h2>Appearance</h2>
      <Fields>
        <Select
          label="Theme"
          value={theme}
          set={(each) => setTheme(each as Theme)}
          options={[
            ["system", "as the system"],
            ["light", "light"],
            ["dark", "dark"],
          ]}
        />
        <Select
          label="Times"
          value={zone}
          set={setZone}
          options={[
            ["local", `of this machine (${Intl.DateTimeFormat().resolvedOptions().timeZone})`],
            ["utc", "UTC"],
            ...Intl.supportedValuesOf("timeZone").map((each) => [each, each] as const),
          ]}
        />
      </Fields>
      <p className="quiet">Kept in this browser.</p>
    </section>
  );
}

function Tokens() {
  const { me } = useVisitor();
  const found = useQuery(tokens);
  const own = found.data?.items.filter((each) => each.user === me.user);
  return (
    <section aria-label="Your tokens">
      <h2>Your tokens</h2>
      <p className="lead">Programs send one in place of a sign-in. A token gives at most what its user was granted.</p>
      {found.error && <Failure error={found.error} />}
      {!found.data && !found.error && <Loading what="your tokens" />}
      {own?.length === 0 && (
        <Empty title="No token yet">
          <p>
            {may(me, "tokens")
              ? "Make one for a script or for continuous integration."
              : "An admin of the whole fleet makes one for you, for a script or for continuous integration:"}
          </p>
          {!may(me, "tokens") && <Command line={`ganglion token create ${word(me.user)} viewer`} label="What an admin does" />}
        </Empty>
      )}
      <ul className="lines">
        {own?.map((each) => (
          <li key={each.id} className="line-with-button">
            <span>
              <code>{harmless(each.id, 40)}</code> {harmless(each.label, 100)} <Badge text={each.role} /> on{" "}
              {each.queue ? <Name text={each.queue} most={40} /> : "the whole fleet"}, ends <Time at={each.until} />
            </span>
            <Confirm
              small
              danger
              label="Revoke"
              title={`Let token ${harmless(each.id, 40)} count no more?`}
              line={`ganglion token revoke ${word(each.id)}`}
              act={() => change("DELETE", `/tokens/${part(each.id)}`)}
            >
              <p>What sends it is refused at once. This cannot be undone: a new token is another one.</p>
            </Confirm>
          </li>
        ))}
      </ul>
      {may(me, "tokens") && (
        <div className="buttons">
          <NewToken user={me.user} />
        </div>
      )}
      <Command line="ganglion token list" />
    </section>
  );
}

function Sessions() {
  const { me } = useVisitor();
  const found = useQuery(sessions);
  const own = found.data?.items.filter((each) => each.user === me.user);
  return (
    <section aria-label="Your sessions">
      <h2>Your sessions</h2>
      <p className="lead">Browsers in which you are signed in. End those that you do not know.</p>
      {found.error && <Failure error={found.error} />}
      {!found.data && !found.error && <Loading what="your sessions" />}
      <ul className="lines">
        {own?.map((each) => (
          <li key={each.id} className="line-with-button">
            <span>
              <code>{harmless(each.id, 40)}</code> {each.own && <Badge text="this browser" tone="good" />} began{" "}
              <Time at={each.at} />, used <Time at={each.used} />, ends <Time at={each.until} />
            </span>
            {!each.own && (
              <Confirm
                small
                danger
                label="End"
                title="End this session?"
                line={`ganglion session end ${word(each.id)}`}
                act={() => change("DELETE", `/sessions/${part(each.id)}`)}
              />
            )}
          </li>
        ))}
      </ul>
      <Command line="ganglion session list" />
    </section>
  );
}
