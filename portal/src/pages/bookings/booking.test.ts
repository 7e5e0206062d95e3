import { expect, it } from "vitest";
import { drainLine } from "../nodes/drain";
import { stateOf } from "../nodes/state";
import { idleRule } from "../workspaces/workspaces";
import { modelOf } from "../services/services";
import { bodyOf, instant, lineOf, EMPTY } from "./booking";
import { found } from "../../ui/listing";
import type { NodeView } from "../../api/schema";

it("books what the command books", () => {
  const form = { ...EMPTY, name: "cooling", nodes: "n1, n2", begin: "2099-01-01T08:00", reason: "it's wet" };
  const at = instant(form.begin);
  expect(bodyOf(form)).toEqual({ begin: at, length: "4h", nodes: ["n1", "n2"], reason: "it's wet" });
  expect(lineOf(form)).toBe(`ganglion booking add cooling --node n1 --node n2 --from ${at} --for 4h --reason 'it'\\''s wet'`);
  expect(instant("soon")).toBe("");
});

it("drains by the same words", () => {
  expect(drainLine("rack=r1", "0", "fan")).toBe("ganglion drain rack=r1 --by now --reason fan");
  expect(drainLine("n1", "4", "new fan")).toBe("ganglion drain n1 --by +4h --reason 'new fan'");
});

it("tells a quarantine from a cordon of a person", () => {
  const node = (state: string, reason: string) => ({ state, reason }) as NodeView;
  expect(stateOf(node("cordoned", "quarantined, as its GPUs fall sick"))).toBe("quarantined");
  expect(stateOf(node("cordoned", "new fan"))).toBe("cordoned");
});

it("reads from a file which model a service has, and when a workspace sleeps", () => {
  expect(modelOf({ image: "vllm:1", env: { MODEL_REVISION: "abc", HOME: "/" }, labels: { model: "small" } })).toEqual([
    ["image", "vllm:1"],
    ["model", "small"],
    ["MODEL_REVISION", "abc"],
  ]);
  expect(idleRule({ idle_timeout: "1h", idle: { warn: "5m", hours: null } })).toBe("suspended after 1h; warn: 5m");
});

it("finds rows by any of their words", () => {
  expect(found(["Alpha", "beta"], (row) => [row], " AL ")).toEqual(["Alpha"]);
  expect(found(["Alpha", "beta"], (row) => [row], undefined)).toHaveLength(2);
});
