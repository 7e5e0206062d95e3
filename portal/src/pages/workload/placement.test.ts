import { expect, it } from "vitest";
import { within } from "./placement";

it("names a domain from its narrowest level", () => {
  expect(within("rack", "block=b0/rack=r1")).toBe("rack r1 of block b0");
  expect(within("node", "node-0")).toBe("node node-0");
  expect(within("", "")).toBe("the fleet");
});
