/** Follows a log, and keeps the last of its lines. */
import { address, part, send } from "../../api/client";
import { logLine } from "../../ui/text";

export const MOST_LINES = 20_000;
const FIRST = 2_000;
const AGAIN_MS = 2_000;

export interface Tail {
  lines: readonly string[];
  /** Lines before them that are not kept. */
  dropped: number;
  state: "reading" | "following" | "ended" | "broken";
  trouble: string;
}

export const NOTHING: Tail = { lines: [], dropped: 0, state: "reading", trouble: "" };

/** Takes pieces of a log, and makes lines of them. */
export class Lines {
  private rest = "";
  private kept: string[] = [];
  dropped = 0;

  push(piece: string): void {
    const found = (this.rest + piece).split("\n");
    this.rest = (found.pop() ?? "").slice(-100_000); // a line without an end
    for (const each of found) this.kept.push(logLine(each));
    if (this.kept.length > MOST_LINES) {
      const gone = this.kept.length - MOST_LINES;
      this.kept.splice(0, gone);
      this.dropped += gone;
    }
  }

  get all(): string[] {
    return this.rest ? [...this.kept, logLine(this.rest)] : [...this.kept];
  }
}

export interface Wanted {
  ref: string;
  index: number;
  rank: number;
  follow: boolean;
}

/** Read a log until it ends or is not wanted any more; what came is shown four times a second. */
export async function readTail(
  wanted: Wanted,
  show: (tail: Tail) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const lines = new Lines();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const said = (state: Tail["state"], trouble = "") => {
      clearTimeout(timer);
      timer = undefined;
      show({ lines: lines.all, dropped: lines.dropped, state, trouble });
    };
    try {
      const { ref, index, rank, follow } = wanted;
      const query = { index, rank, tail: FIRST, follow };
      const response = await send(address(`/workloads/${part(ref)}/logs`, query), { signal });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      said("following");
      for (;;) {
        const piece = await reader?.read();
        if (!piece || piece.done) break;
        lines.push(piece.value);
        timer ??= setTimeout(() => said("following"), 250);
      }
      said("ended");
      return;
    } catch (error) {
      clearTimeout(timer);
      if (signal.aborted) return;
      said("broken", error instanceof Error ? error.message : String(error));
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}
