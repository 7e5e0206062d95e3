/**
 * What was done and can be taken back, the newest first, in one line of every page; Ctrl+Z takes it back.
 * Nothing that was done ends by time: it stays until it is undone, closed, or the page is left. What is only
 * about to be sent is sent after a while, unless the user has it wait.
 */
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { Button } from "react-aria-components";
import { Gone, Problem } from "../api/client";
import { Failure } from "./parts";
import { harmless } from "./text";

export interface Doing {
  /** What was done, or is about to be, as a sentence. */
  said: string;
  /** Take it back; where another changed it meanwhile, the server refuses. */
  undo(): Promise<unknown>;
  /** What is read again then. */
  reads: readonly string[];
  /** How it is now, where another changed it; empty = it is gone. */
  present?(): Promise<string>;
  /** It is not sent yet: send it now. `leaving`: the page is being left. */
  send?(leaving: boolean): Promise<unknown>;
}

/** What waits is sent after this time, unless it is told to wait on. */
export const SENT_MS = 20_000;
const CHANGED = 412;

export interface Undoing {
  doings: readonly Doing[];
  /** What was taken back last; empty = nothing. */
  back: string;
  error: Error | null;
  busy: boolean;
}

/** Most that is kept. */
const MOST = 20;
const NOTHING: Undoing = { doings: [], back: "", error: null, busy: false };

let present = NOTHING;
const listeners = new Set<() => void>();

function become(more: Partial<Undoing>): void {
  present = { ...present, ...more };
  for (const each of listeners) each();
}

export const undoing = (): Undoing => present;

/** It can be taken back from now on. What was not sent before it is sent now. */
export function remember(doing: Doing): void {
  sendAll(false);
  become({ doings: [doing, ...present.doings].slice(0, MOST), back: "", error: null });
}

/** Send what waits: that cannot be taken back any more. */
export function sendAll(leaving: boolean): void {
  const waiting = present.doings.filter((each) => each.send);
  if (!waiting.length) return;
  become({ doings: present.doings.filter((each) => !each.send) });
  for (const each of waiting) each.send?.(leaving).catch((error: unknown) => become({ error: error as Error }));
}

/** What to say of a refusal: how it is now, where another changed it. */
async function refusal(doing: Doing, found: Error): Promise<Error> {
  if (!(found instanceof Problem) || found.status !== CHANGED || !doing.present) return found;
  try {
    const now = await doing.present();
    const said = now ? `It is now: ${now}` : "It is gone.";
    return new Problem(found.status, found.code, `${found.message}. ${said}`, "It was left as it is; change it as it is now.");
  } catch {
    return found; // what the server said counts
  }
}

/** Take the newest back; returns what is to be read again. */
export async function undoLast(): Promise<readonly string[]> {
  const [doing, ...others] = present.doings;
  if (!doing || present.busy) return [];
  become({ busy: true, error: null });
  try {
    await doing.undo();
    become({ doings: others, back: doing.said, busy: false });
  } catch (found) {
    // What another changed is no more as it was left: to try again changes nothing.
    const over = !(found instanceof Gone) && !(found instanceof Problem && found.status >= 500);
    const error = await refusal(doing, found as Error);
    become({ doings: over ? others : present.doings, error, back: "", busy: false });
  }
  return doing.reads;
}

/** Send what waits, and show nothing any more. */
export function forget(): void {
  sendAll(false);
  become(NOTHING);
}

async function undo(queries: QueryClient): Promise<void> {
  const reads = await undoLast();
  await Promise.all(reads.map((each) => queries.invalidateQueries({ queryKey: [each] })));
}

const TYPED = "input, textarea, select, [contenteditable], [role=dialog] *";

/** Whether a key takes the last change back; in a field it is the text's own. */
export function isUndo(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey">, inField: boolean): boolean {
  return event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && !inField;
}

export function UndoLine() {
  const queries = useQueryClient();
  const { doings, back, error, busy } = useSyncExternalStore(
    (changed) => (listeners.add(changed), () => listeners.delete(changed)),
    undoing,
  );
  const [doing] = doings;
  const [stays, setStays] = useState<Doing | null>(null);
  const waits = Boolean(doing?.send);
  useEffect(() => {
    if (!waits || stays === doing) return;
    const timer = setTimeout(() => sendAll(false), SENT_MS);
    return () => clearTimeout(timer);
  }, [doing, waits, stays]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const inField = event.target instanceof Element && (event.target.closest(TYPED) !== null || document.querySelector("[role=dialog]") !== null);
      if (!isUndo(event, inField) || !undoing().doings.length) return;
      event.preventDefault();
      void undo(queries);
    };
    const left = () => sendAll(true);
    window.addEventListener("keydown", pressed);
    window.addEventListener("pagehide", left);
    return () => {
      window.removeEventListener("keydown", pressed);
      window.removeEventListener("pagehide", left);
    };
  }, [queries]);
  return (
    <div className="undo">
      {/* The live region is there before it says something, else nothing is read out. */}
      <div role="status" className={doing || back ? "notice saved" : ""}>
        {back && <span>Taken back: {harmless(back, 300)} </span>}
        {doing && (
          <span>
            {back && "Before that: "}
            {harmless(doing.said, 300)}
            {waits && (stays === doing ? " once you say so." : ` in ${SENT_MS / 1_000} s.`)}{" "}
            <span className="quiet">Ctrl+Z takes it back.</span>{" "}
          </span>
        )}
        {doing && (
          <Button className="small" isDisabled={busy} onPress={() => void undo(queries)}>
            Undo
          </Button>
        )}
        {waits && doing && stays !== doing && (
          <Button className="small plain" onPress={() => setStays(doing)}>
            Wait
          </Button>
        )}
        {(doing || back) && (
          <Button className="small plain" onPress={() => (waits ? sendAll(false) : forget())}>
            {waits ? "Now" : "Close"}
          </Button>
        )}
      </div>
      {error && (
        <>
          <Failure error={error} />
          <Button className="small plain" onPress={() => become({ error: null })}>
            Close
          </Button>
        </>
      )}
    </div>
  );
}
