/** Finds out who looks, and shows nothing of the fleet before it is known. */
import { useQueryClient } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createContext, useCallback, useContext, useEffect, useRef, useState, type FormEvent } from "react";
import { Button } from "react-aria-components";
import { about, enter, Gone, Problem, whoAmI, type About } from "./api/client";
import type { WhoAmI } from "./api/schema";
import { LiveProvider } from "./live/live";
import { router } from "./routes";
import { Command, Failure } from "./ui/parts";

export interface Visitor {
  me: WhoAmI;
  about: About;
  leave(): void;
}

const VisitorContext = createContext<Visitor | null>(null);

export function useVisitor(): Visitor {
  const found = useContext(VisitorContext);
  if (!found) throw new Error("only pages behind the entrance know who looks");
  return found;
}

type Seen =
  | { step: "looking" }
  | { step: "out"; about: About; error?: Error }
  | { step: "gone" }
  | { step: "in"; about: About; me: WhoAmI };

const AGAIN_MS = 2_000;

/** The code of a link, `http://127.0.0.1:7077/#code=…`, or the code alone. */
export function codeOf(text: string): string {
  const found = /#code=([A-Za-z0-9_-]+)/.exec(text)?.[1] ?? text.trim();
  return /^[A-Za-z0-9_-]{20,200}$/.test(found) ? found : "";
}

export function Entrance() {
  const [seen, setSeen] = useState<Seen>({ step: "looking" });
  const [ended, setEnded] = useState(false);
  const queries = useQueryClient();
  const begun = useRef(false);

  const look = useCallback(async (code: string) => {
    let known: About | null = null;
    let refused: Error | undefined;
    try {
      known = await about();
      if (code)
        await enter(code).catch((error: Error) => {
          if (error instanceof Gone) throw error;
          refused = error;
        });
      const me = await whoAmI();
      setSeen({ step: "in", about: known, me });
      setEnded(false);
      return true;
    } catch (error) {
      if (known && error instanceof Problem) {
        const shown = refused ?? (error.status === 401 ? undefined : error);
        setSeen({ step: "out", about: known, ...(shown ? { error: shown } : {}) });
      } else setSeen({ step: "gone" });
      return false;
    }
  }, []);

  useEffect(() => {
    if (begun.current) return; // a code counts once
    begun.current = true;
    const code = codeOf(location.hash.startsWith("#code=") ? location.hash : "");
    if (code) history.replaceState(null, "", location.pathname + location.search);
    void look(code);
  }, [look]);

  useEffect(() => {
    if (seen.step !== "gone") return;
    const timer = setInterval(() => void look(""), AGAIN_MS);
    return () => clearInterval(timer);
  }, [seen.step, look]);

  const over = useCallback(() => setEnded(true), []);
  const again = async (code: string) => {
    if (await look(code)) void queries.invalidateQueries();
  };

  if (seen.step === "looking") return <p className="loading">Ganglion …</p>;
  if (seen.step === "gone")
    return (
      <main className="door">
        <h1>Ganglion</h1>
        <div className="notice bad" role="alert">
          <strong>No server answers at {location.host}.</strong>
          <p>This page tries again by itself. On the machine of the server:</p>
        </div>
        <Command line="ganglion up" label="Start the server" />
      </main>
    );
  if (seen.step === "out") return <Door about={seen.about} error={seen.error} enter={again} />;
  const visitor = { me: seen.me, about: seen.about, leave: () => location.assign("/") };
  return (
    <VisitorContext.Provider value={visitor}>
      {ended && (
        <div className="over">
          <Door about={seen.about} enter={again} again />
        </div>
      )}
      <div inert={ended}>
        <LiveProvider active={!ended} build={seen.about.build} ended={over}>
          <RouterProvider router={router} />
        </LiveProvider>
      </div>
    </VisitorContext.Provider>
  );
}

function Door(props: {
  about: About;
  error?: Error | undefined;
  again?: boolean;
  enter(code: string): Promise<void>;
}) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const code = codeOf(text);
    setWrong(!code);
    if (code) void props.enter(code);
  };
  const next = encodeURIComponent(location.pathname + location.search);
  return (
    <main className="door">
      <h1>{props.again ? "Your session has ended" : "Ganglion"}</h1>
      {props.error && <Failure error={props.error} />}
      {props.about.sign_in === "pages" ? (
        <>
          <p>{props.again ? "Sign in again; you come back to this page." : "Sign in to see this fleet."}</p>
          <p>
            <a className="button primary" href={`/login?next=${next}`}>
              Sign in
            </a>
          </p>
        </>
      ) : (
        <>
          <p>
            This portal opens with a link that counts once. The owner of the server makes one on the
            machine of the server:
          </p>
          <Command line="ganglion portal" label="Make a link" />
          <form onSubmit={submit} className="stack">
            <label htmlFor="link">Paste the link here, or open it</label>
            <input
              id="link"
              autoComplete="off"
              spellCheck={false}
              value={text}
              aria-invalid={wrong}
              aria-describedby={wrong ? "link-wrong" : undefined}
              onChange={(event) => setText(event.target.value)}
            />
            {wrong && (
              <p id="link-wrong" className="error">
                This is no link of `ganglion portal`.
              </p>
            )}
            <Button type="submit" className="primary">
              Open
            </Button>
          </form>
        </>
      )}
      <p className="quiet">Ganglion {props.about.version}</p>
    </main>
  );
}
