/** Cordons and drains, and their ways back. */
import { change, changed, get, part, serverNow } from "../../api/client";
import { remember } from "../../ui/undo";

const READS = ["nodes", "drains", "bookings"];
const path = (node: string) => `/nodes/${part(node)}`;

async function presentOf(name: string): Promise<string> {
  const { node } = await get("/nodes/{name}", { name });
  return `${node.state}${node.reason && `, ${node.reason}`}`;
}

export async function cordon(name: string, reason: string): Promise<void> {
  const { etag } = await changed("POST", `${path(name)}/cordon`, { reason }, { fresh: true });
  remember({
    said: `${name} was cordoned.`,
    undo: () => change("POST", `${path(name)}/uncordon`, undefined, { etag }),
    present: () => presentOf(name),
    reads: READS,
  });
}

/** With an empty reason there is no way back: only the server closes a node for its failures. */
export async function uncordon(name: string, reason: string): Promise<void> {
  await change("POST", `${path(name)}/uncordon`);
  if (!reason) return;
  remember({
    said: `${name} was uncordoned.`,
    undo: () => change("POST", `${path(name)}/cordon`, { reason }, { fresh: true }),
    present: () => presentOf(name),
    reads: READS,
  });
}

/** `back`: nothing else had closed its nodes before, so that to open them again is the way back. */
export async function drain(what: string, by: number, reason: string, back: boolean): Promise<void> {
  const { etag } = await changed("PUT", `/drains/${part(what)}`, { by, reason });
  if (back)
    remember({
      said: `${what} drains.`,
      undo: () => change("DELETE", `/drains/${part(what)}`, undefined, { etag }),
      reads: READS,
    });
}

/** Once its deadline has passed, to drain it again would stop at once what has started since: no way back. */
export async function undrain(what: string, by: number, reason: string): Promise<void> {
  await change("DELETE", `/drains/${part(what)}`);
  if (by > serverNow())
    remember({
      said: `${what} takes work again.`,
      undo: () => change("PUT", `/drains/${part(what)}`, { by, reason }, { fresh: true }),
      reads: READS,
    });
}
