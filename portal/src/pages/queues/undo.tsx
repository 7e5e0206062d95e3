/** What was saved of a queue, and the way back. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "react-aria-components";
import { change } from "../../api/client";
import { Failure, Name } from "../../ui/parts";
import type { Rules } from "./may";

export interface Saved {
  name: string;
  said: "was changed" | "was added" | "was removed";
  /** Its rules before; null = there was no such queue. */
  document: Rules | null;
  /** Of its rules as they are now; empty = it is gone. */
  etag: string;
}

/** Put back what was before, unless another user has changed it since. */
export function putBack({ name, document, etag }: Saved): Promise<unknown> {
  const path = `/queues/${encodeURIComponent(name)}`;
  if (!document) return change("DELETE", path, undefined, { etag });
  return change("PUT", path, document, etag ? { etag } : { fresh: true });
}

export function Undo({ saved, close }: { saved: Saved; close(): void }) {
  const [busy, setBusy] = useState(false);
  const [back, setBack] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const queries = useQueryClient();
  const undo = async () => {
    setBusy(true);
    setError(null);
    try {
      await putBack(saved);
      setBack(true);
      await queries.invalidateQueries({ queryKey: ["queues"] });
    } catch (found) {
      setError(found as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <div className="notice saved" role="status">
        <span>
          The queue <Name text={saved.name} most={60} /> {back ? "is as it was before." : `${saved.said}.`}
        </span>
        {!back && (
          <Button className="small" isDisabled={busy} onPress={() => void undo()}>
            Undo
          </Button>
        )}
        <Button className="small plain" onPress={close}>
          Close
        </Button>
      </div>
      {error && <Failure error={error} />}
    </>
  );
}
