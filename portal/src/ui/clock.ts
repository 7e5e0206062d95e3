/** One clock for all relative times of a page. */
import { useSyncExternalStore } from "react";
import { serverNow } from "../api/client";

const listeners = new Set<() => void>();
let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

/** Further than that from the time of the server, the timer has not run, or how far clocks differ was not known. */
const OFF_MS = 1_500;

function read(): number {
  const at = serverNow();
  if (Math.abs(at - now) > OFF_MS) now = at;
  return now;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = serverNow();
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (!listeners.size) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time of the server in ms, to the second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, read, read);
}
