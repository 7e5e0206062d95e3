/** What was saved of a queue, and the way back. */
import { change, get } from "../../api/client";
import { remember } from "../../ui/undo";
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

/** How a queue is now; empty = it is gone. */
async function presentOf(name: string): Promise<string> {
  const found = (await get("/queues")).items.find((each) => each.name === name);
  return found ? JSON.stringify(found.document) : "";
}

export function rememberQueue(saved: Saved): void {
  const { name, said } = saved;
  remember({ said: `The queue ${name} ${said}.`, undo: () => putBack(saved), present: () => presentOf(name), reads: ["queues"] });
}
