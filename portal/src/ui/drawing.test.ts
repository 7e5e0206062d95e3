import { expect, it } from "vitest";
import { ends, fitted } from "./drawing";

it("leaves out the middle of a name, where names of a fleet are the same", () => {
  expect([10, 9, 5, 2, 1].map((most) => ends("east:gpu-0", most))).toEqual(["east:gpu-0", "east…pu-0", "ea…-0", "e…", "…"]);
});

it("takes as much of a name as there is room for, and never nothing", () => {
  const context = { font: "f", measureText: (text: string) => ({ width: 10 * text.length }) } as CanvasRenderingContext2D;
  expect([100, 70, 5].map((width) => fitted(context, "east:gpu-0", width))).toEqual(["east:gpu-0", "eas…u-0", "…"]);
});
