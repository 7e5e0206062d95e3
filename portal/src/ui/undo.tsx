/** What can be taken back for some seconds: it is sent when they are over, or when the page is left. */
import { useEffect, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { Failure } from "./parts";

export const UNDO_MS = 8_000;

export interface Later {
  /** Send it in some seconds. */
  begin(act: () => Promise<unknown>): void;
  /** The line that takes it back; null = nothing is about to be sent. */
  shown: React.ReactNode;
  waits: boolean;
}

export function useLater(said: string): Later {
  const [left, setLeft] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const due = useRef<(() => Promise<unknown>) | null>(null);
  const send = () => {
    const act = due.current;
    due.current = null;
    setLeft(null);
    act?.().catch((found: unknown) => setError(found as Error));
  };
  const waits = left !== null;
  useEffect(() => {
    if (left === null) return;
    const timer = setTimeout(() => (left > 1 ? setLeft(left - 1) : send()), 1_000);
    return () => clearTimeout(timer);
  }, [left]);
  useEffect(() => {
    const leave = () => void due.current?.();
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      const act = due.current;
      due.current = null;
      act?.().catch(() => undefined); // its page is gone; the list shows what became of it
    };
  }, []);
  const shown = error ? (
    <Failure error={error} />
  ) : waits ? (
    <div className="notice" role="status">
      {said} <span aria-hidden="true">in {left} s </span>
      <Button
        autoFocus
        className="small"
        onPress={() => {
          due.current = null;
          setLeft(null);
        }}
      >
        Undo
      </Button>{" "}
      <Button className="small plain" onPress={send}>
        Now
      </Button>
    </div>
  ) : null;
  const begin = (act: () => Promise<unknown>) => {
    setError(null);
    due.current = act;
    setLeft(UNDO_MS / 1_000);
  };
  return { begin, shown, waits };
}
