import { expect, it } from "vitest";
import { amountOf, commandOf, formOf, microOf, wishOf } from "./wish";

it("reads money exactly, and nothing else as money", () => {
  expect(["2500", "2,500.50", "0.000001", "999999999.999999"].map(microOf)).toEqual([
    2_500_000_000, 2_500_500_000, 1, 999_999_999_999_999,
  ]);
  for (const each of ["", "-1", "1e3", "1.0000001", "EUR 5", ".5"]) expect(microOf(each)).toBeNull();
  expect(amountOf(2_500_500_000)).toBe("2500.5");
});

it("sends a form as the command line would", () => {
  const form = { ...formOf(undefined), amount: "8000", carry: true, warn: "80, 90", graceMin: "60" };
  expect(wishOf(form)).toEqual({
    micro: 8_000_000_000,
    zone: "UTC",
    carry_over: true,
    warn: [80, 90],
    grace_ms: 3_600_000,
  });
  expect(commandOf("vision; rm -rf", form)).toBe(
    "ganglion budget set 'vision; rm -rf' 8000 --carry-over --warn 80,90 --grace 60m",
  );
});

it("says what is wrong with a form", () => {
  const form = { ...formOf(undefined), amount: "10" };
  expect(wishOf({ ...form, amount: "ten" })).toMatch(/amount/);
  expect(wishOf({ ...form, warn: "100" })).toMatch(/percentages/);
  expect(wishOf({ ...form, graceMin: "" })).toMatch(/minutes/);
});
