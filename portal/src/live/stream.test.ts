import { expect, it } from "vitest";
import { EventStream, delay } from "./stream";
import { Frames } from "./frames";
import { topicsOf, workloadOf } from "./topics";

function body(...pieces: string[]): Response {
  const encoder = new TextEncoder();
  const stream = new ReadableStream({
    start(controller) {
      for (const each of pieces) controller.enqueue(encoder.encode(each));
      controller.close();
    },
  });
  return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
}

/** Runs a stream over given answers, until there is none left. */
async function heard(answers: (Response | Error)[]): Promise<{ urls: string[]; said: string[] }> {
  const urls: string[] = [];
  const said: string[] = [];
  let stream: EventStream;
  const request = (async (url: string) => {
    urls.push(url.replace("/api/v1/events?", ""));
    const next = answers.shift();
    if (!next) {
      stream.stop();
      throw new Error("no more");
    }
    if (next instanceof Error) throw next;
    return next;
  }) as typeof fetch;
  stream = new EventStream(
    {
      opened: (gap) => said.push(gap ? "gap" : "resumed"),
      event: (event) => said.push(event.type),
      broken: () => said.push("broken"),
      refused: () => said.push("refused"),
    },
    request,
    () => Promise.resolve(),
  );
  await stream.run();
  return { urls, said };
}

const problem = (status: number, code: string) =>
  new Response(JSON.stringify({ code, detail: "" }), { status });

it("takes events apart wherever their pieces end", () => {
  const frames = new Frames();
  const pieces = [": alive\n\nid: 7\nda", 'ta: {"type":"a"}\n', "\nevent: end\ndata: {}\n\n"];
  expect(pieces.flatMap((each) => frames.push(each))).toEqual([
    { id: "7", event: "message", data: '{"type":"a"}' },
    { id: "", event: "end", data: "{}" },
  ]);
});

it("goes on behind the last event after a break", async () => {
  const { urls, said } = await heard([
    body('id: 7\ndata: {"type":"first"}\n\n'),
    new TypeError("network"),
    body('id: 8\ndata: {"type":"second"}\n\n'),
  ]);
  expect(urls).toEqual(["now=true", "after=7", "after=7", "after=8"]);
  expect(said.filter((each) => each !== "broken")).toEqual(["gap", "first", "resumed", "second"]);
});

it("says that there is a gap where events have left the ledger, or were too many", async () => {
  const left = await heard([body('id: 7\ndata: {"type":"first"}\n\n'), problem(409, "state.conflict"), body()]);
  expect(left.urls.slice(0, 3)).toEqual(["now=true", "after=7", "now=true"]);
  expect(left.said.filter((each) => each === "gap")).toHaveLength(2);
  const slow = await heard([
    body('id: 7\ndata: {"type":"first"}\n\nevent: end\ndata: {"code":"slow_consumer"}\n\n'),
    body(),
  ]);
  expect(slow.urls[1]).toBe("now=true");
});

it("stops where the session has ended", async () => {
  expect((await heard([problem(401, "auth")])).said).toEqual(["refused"]);
});

it("waits longer after each failure, but never long", () => {
  expect([1, 2, 3, 20].map(delay)).toEqual([500, 1000, 2000, 8000]);
});

it("knows what an event makes out of date", () => {
  expect(topicsOf({ type: "gang_started", at: 0 })).toContain("order");
  expect(topicsOf({ type: "node_lost", at: 0 })).toContain("nodes");
  expect(topicsOf({ type: "access_denied", at: 0 })).toEqual(["audit"]);
  expect(workloadOf({ type: "gang_submitted", at: 0, gang: { id: "sweep-3/12" } })).toBe("sweep-3");
});
