import { afterEach, expect, it, vi } from "vitest";
import { send, serverNow, skew } from "../api/client";
import { markOf } from "./mark";

afterEach(() => vi.unstubAllGlobals());

it("is live only while the stream runs and the page is of the server's build", () => {
  expect(markOf({ state: "live", outdated: false }).text).toBe("Live");
  expect(markOf({ state: "live", outdated: true })).toEqual({ text: "Old page", className: "gone" });
  expect(markOf({ state: "gone", outdated: true }).text).toBe("Not live");
});

it("follows the clock of the server, and takes whole seconds of its header for no difference", async () => {
  const answer = (ahead: number) => {
    const date = new Date(Date.now() + ahead).toUTCString();
    vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { headers: { date } })));
    return send("/portal.json");
  };
  await answer(3_600_000);
  expect(Math.abs(skew() - 3_600_000)).toBeLessThan(3_000);
  expect(Math.abs(serverNow() - Date.now() - 3_600_000)).toBeLessThan(3_000);
  await answer(0);
  expect(skew()).toBe(0);
});
