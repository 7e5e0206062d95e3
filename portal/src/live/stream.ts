/** The stream of events: goes on after a break where it ended, or says that there is a gap. */
import { Gone, Problem, address, problemOf } from "../api/client";
import { Frames } from "./frames";

export interface LedgerEvent {
  type: string;
  at: number;
  gang?: string | { id: string };
  [key: string]: unknown;
}

/** What a reader of the stream learns. */
export interface Listener {
  /** It is connected; `gap` = events may be missing, so that everything is read again. */
  opened(gap: boolean): void;
  event(event: LedgerEvent): void;
  /** It broke off, and is tried again. */
  broken(why: string): void;
  /** The session has ended. */
  refused(): void;
}

/** The server shows every 15 s that it lives. */
const SILENT_MS = 40_000;
const SOONEST_MS = 500;
const LATEST_MS = 8_000;

export class EventStream {
  private last = "";
  private stopped = new AbortController();
  private failures = 0;

  constructor(
    private readonly listener: Listener,
    private readonly request: typeof fetch = (...given) => fetch(...given),
    private readonly pause: (ms: number, signal: AbortSignal) => Promise<void> = wait,
  ) {}

  /** Read until it is stopped. */
  async run(): Promise<void> {
    const stopped = this.stopped.signal;
    while (!stopped.aborted) {
      try {
        await this.once(stopped);
        this.failures = 0;
      } catch (error) {
        if (stopped.aborted) return;
        if (error instanceof Problem && error.status === 401) {
          this.listener.refused();
          return;
        }
        if (error instanceof Problem && error.status === 409) this.last = ""; // events have left
        else this.failures += 1;
        if (this.failures) this.listener.broken(error instanceof Error ? error.message : "");
      }
      await this.pause(delay(this.failures), stopped);
    }
  }

  stop(): void {
    this.stopped.abort();
  }

  private async once(stopped: AbortSignal): Promise<void> {
    const cut = new AbortController();
    const end = () => cut.abort();
    stopped.addEventListener("abort", end);
    let timer = setTimeout(end, SILENT_MS);
    try {
      const resumed = this.last !== "";
      const url = address("/events", resumed ? { after: this.last } : { now: true });
      const response = await this.request(url, {
        credentials: "same-origin",
        cache: "no-store",
        signal: cut.signal,
      });
      if (!response.ok) throw await problemOf(response);
      if (!response.body) throw new Gone("the answer has no body");
      this.failures = 0;
      this.listener.opened(!resumed);
      const frames = new Frames();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Gone("the stream ended");
        clearTimeout(timer);
        timer = setTimeout(end, SILENT_MS);
        for (const frame of frames.push(value)) this.take(frame.event, frame.id, frame.data);
      }
    } finally {
      clearTimeout(timer);
      stopped.removeEventListener("abort", end);
      cut.abort();
    }
  }

  private take(kind: string, id: string, data: string): void {
    if (kind === "end") {
      // Thousands of events behind: reading what they led to is less than reading them.
      if (JSON.parse(data).code === "slow_consumer") this.last = "";
      return;
    }
    if (id) this.last = id;
    this.listener.event(JSON.parse(data) as LedgerEvent);
  }
}

export function delay(failures: number): number {
  return Math.min(LATEST_MS, SOONEST_MS * 2 ** Math.max(0, failures - 1));
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()));
  });
}
