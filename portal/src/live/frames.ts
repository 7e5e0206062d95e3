/** Takes server-sent events apart, as they come in pieces. */
export interface Frame {
  id: string;
  event: string;
  data: string;
}

export class Frames {
  private rest = "";

  /** The events that are complete with this piece. */
  push(piece: string): Frame[] {
    this.rest += piece;
    const blocks = this.rest.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(frameOf).filter((each) => each.data !== "");
  }
}

function frameOf(block: string): Frame {
  const found: Frame = { id: "", event: "message", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // comments begin with a colon
    const value = line.slice(colon + 1).replace(/^ /, "");
    const key = line.slice(0, colon);
    if (key === "id") found.id = value;
    else if (key === "event") found.event = value;
    else if (key === "data") found.data += (found.data ? "\n" : "") + value;
  }
  return found;
}
