import { expect, it } from "vitest";
import { itemsOf, lineOf, rowsOf, wrongWith } from "./chosen";

const MAIL = { to: " ada@example.org ", on: ["failure", "end"], signingKey: "" };
const HOOK = { to: "secret:SLACK HOOK", on: ["start"], signingKey: "secret:KEY" };

it("sends mail and webhooks apart, and leaves rows without a recipient out", () => {
  expect(itemsOf([MAIL, HOOK, { to: " ", on: [], signingKey: "" }])).toEqual([
    { on: ["failure", "end"], mail: ["ada@example.org"] },
    { on: ["start"], webhook: ["secret:SLACK HOOK"], signing_key: "secret:KEY" },
  ]);
  const kept = { on: ["end"], mail: ["a@b"], webhook: ["https://u@x"], signing_key: "secret:K" };
  expect(rowsOf([kept]).map((each) => [each.to, each.signingKey])).toEqual([
    ["a@b", ""],
    ["https://u@x", "secret:K"],
  ]);
});

it("names the command, and what is missing", () => {
  expect(lineOf([MAIL, HOOK])).toBe(
    "ganglion notify set ada@example.org=failure,end 'secret:SLACK HOOK=start' --signing-key secret:KEY",
  );
  expect(lineOf([])).toBe("ganglion notify off");
  expect(wrongWith([MAIL, { ...HOOK, on: [] }])).toContain("secret:SLACK HOOK");
  expect(wrongWith([MAIL, { to: "", on: [], signingKey: "" }])).toBe("");
});
