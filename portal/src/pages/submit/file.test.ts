import { expect, it } from "vitest";
import { fieldOf, parsed, withField } from "./file";

const TEXT = "# mine\nname: train # short\nresources: {gpus: 1}\n";

it("changes one field, and leaves comments and all else", () => {
  const changed = withField(TEXT, ["name"], "other");
  expect(changed).toContain("# mine");
  expect(changed).toContain("name: other # short");
  expect(fieldOf(parsed(withField(TEXT, ["resources", "gpus"], "8")), ["resources", "gpus"])).toBe("8");
});

it("takes a field out, with what was around it alone", () => {
  expect(parsed(withField(TEXT, ["resources", "gpus"], "")).body).toEqual({ name: "train" });
});

it("adds fields to nothing", () => {
  expect(parsed(withField("", ["resources", "gpus"], "H100:8")).body).toEqual({ resources: { gpus: "H100:8" } });
});

it("leaves a file with an error as it is, and says what is wrong", () => {
  expect(withField("a: [", ["name"], "x")).toBe("a: [");
  expect(parsed("a: [").trouble).not.toBe("");
  expect(parsed("- a").body).toBeNull();
});

it("does not blow up over aliases of aliases", () => {
  const lines = Array.from({ length: 30 }, (_, n) => `k${n}: &a${n} [${n ? `*a${n - 1},*a${n - 1}` : "x"}]`);
  expect(parsed(lines.join("\n")).trouble).toMatch(/alias/i);
});
