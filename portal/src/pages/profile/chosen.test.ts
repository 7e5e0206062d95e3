import { expect, it } from "vitest";
import { Problem } from "../../api/client";
import { itemsOf, lineOf, refusedIn, rowsOf, wrongWith } from "./chosen";

const MAIL = { to: " ada@example.org ", on: ["failure", "end"], signingKey: "" };
const HOOK = { to: "secret:SLACK HOOK", on: ["start"], signingKey: "secret:KEY" };

it("sends mail and webhooks apart, and leaves rows without a recipient out", () => {
  expect(itemsOf([MAIL, HOOK, { to: " ", on: [], signingKey: "" }])).toEqual([
    { on: ["failure", "end"], mail: ["ada@example.org"] },
    { on: ["start"], webhook: ["secret:SLACK HOOK"], signing_key: "secret:KEY" },
  ]);
  const kept = { on: ["end"], mail: ["a@b"], webhook: ["https://u@x"], signing_key: "secret:K", waiting: "" };
  expect(rowsOf([kept]).map((each) => [each.to, each.signingKey])).toEqual([
    ["a@b", ""],
    ["https://u@x", "secret:K"],
  ]);
});

it("names the command, and what is missing", () => {
  expect(lineOf([MAIL, HOOK])).toBe(
    "ganglion notify set ada@example.org=failure,end 'secret:SLACK HOOK=start' --signing-key secret:KEY",
  );
  const late = { ...MAIL, on: ["end", "waiting"], waiting: "30m " };
  expect(itemsOf([late, { ...late, waiting: "" }]).map((each) => each.waiting)).toEqual(["30m", undefined]);
  expect(lineOf([late])).toBe("ganglion notify set ada@example.org=end,waiting:30m");
  expect(itemsOf([{ ...late, on: ["end"] }])[0]).not.toHaveProperty("waiting");
  expect(lineOf([])).toBe("ganglion notify off");
  expect(wrongWith([MAIL, { ...HOOK, on: [] }])).toContain("secret:SLACK HOOK");
  expect(wrongWith([MAIL, { to: "", on: [], signingKey: "" }])).toBe("");
});

it("says what is wrong at the recipient, although empty rows are not sent", () => {
  const trouble = { key: "items[1].mail[0]", detail: "no mail address", hint: "as ada@example.org", line: 0 };
  const problem = new Problem(422, "input.field", "", "", [trouble, { ...trouble, key: "items[9].on" }]);
  const rows = [MAIL, { to: "", on: [], signingKey: "" }, HOOK];
  expect([...refusedIn(problem, rows)]).toEqual([[2, "no mail address: as ada@example.org"]]);
  expect(refusedIn(new Error("gone"), rows).size).toBe(0);
});
