/** What a node is, in one word. */
import type { NodeView } from "../../api/schema";

/** A quarantine is a cordon that the server made. */
export function stateOf(node: NodeView): string {
  return node.state === "cordoned" && node.reason.startsWith("quarantined") ? "quarantined" : node.state;
}
