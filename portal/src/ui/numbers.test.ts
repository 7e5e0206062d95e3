import { expect, it } from "vitest";
import { absolute, aheadOf, duration, gpuHours, hours, isZone, money, ranges, relative, span } from "./numbers";

it("says durations in their two largest units", () => {
  expect([0, 999, 61_000, 3_600_000, 90_061_000].map(duration)).toEqual([
    "0 s",
    "1 s",
    "1 min 1 s",
    "1 h",
    "1 d 1 h",
  ]);
});

it("says moments before and after now", () => {
  const minute = 60_000;
  const far = [0.5, 1.4, 59.6, 74, 461, 3_180, 129_550, 37_917_000].map((each) => each * minute);
  expect(far.map((each) => relative(0, each))).toEqual(
    ["30 s", "1 min", "1 h", "1 h 14 min", "8 h", "2 d 5 h", "90 d", "72 y"].map((each) => `${each} ago`),
  );
  expect(relative(90_000, 0)).toBe("in 2 min");
  expect(relative(900, 0)).toBe("now");
});

it("says from when to when, and once what is the same", () => {
  const minute = 60_000;
  expect(span(5 * minute, 90 * minute)).toBe("5 min – 1 h 30 min");
  expect(span(-minute, 2 * minute)).toBe("now – 2 min");
  expect([span(minute, minute + 200), span(-2, 0)]).toEqual(["1 min", "now"]);
});

it("says the date where it is another day, and always the zone", () => {
  const noon = Date.UTC(2026, 10, 28, 12);
  expect(absolute(noon, noon + 1, "utc")).toBe("12:00:00 UTC");
  expect(absolute(noon, noon + 1, "utc", true)).toBe("12:00 UTC");
  expect(absolute(noon - 86_400_000, noon, "utc")).toBe("2026-11-27 12:00 UTC");
  const local = Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(noon);
  const zone = local.find((each) => each.type === "timeZoneName")?.value.replace("GMT", "UTC") ?? "";
  expect(absolute(noon, noon, "local").endsWith(`:00:00 ${zone}`)).toBe(true);
});

it("knows zones by their names, with the offset that they have at a moment", () => {
  const [winter, summer] = [Date.UTC(2026, 0, 15, 23, 30), Date.UTC(2026, 6, 15, 23, 30)];
  expect([winter, summer].map((at) => aheadOf(at, "Europe/Berlin") / 3_600_000)).toEqual([1, 2]);
  expect(["utc", "Asia/Kolkata", "America/New_York"].map((zone) => aheadOf(winter + 1, zone) / 3_600_000)).toEqual([0, 5.5, -5]);
  expect(absolute(winter, winter, "Asia/Kolkata")).toBe("05:00:00 UTC+5:30");
  expect(["local", "utc", "Europe/Berlin", "Nowhere/City", "<img>"].map(isZone)).toEqual([true, true, true, false, false]);
});

it("says GPU-hours with two decimals, and never that a little is nothing", () => {
  expect([0, 0.001, 0.1, 0.114, 1234.5].map(hours)).toEqual(["0.00", "< 0.01", "0.10", "0.11", "1,234.50"]);
});

it("says which GPUs in few words", () => {
  expect([[], [3], [1, 0], [0, 1, 2, 3, 6]].map(ranges)).toEqual(["", "3", "0, 1", "0–3, 6"]);
});

it("says money although the currency is none", () => {
  expect(money(2_500_000, "EUR")).toBe("€2.50");
  expect(money(2_500_000, "")).toBe("2.5");
});

it("says what was metered in GPU-hours", () => {
  expect([0, 3_600_000_000, 54_000_000].map(gpuHours)).toEqual([0, 1, 0.015]);
});
